"""Training curves: of runs one by one, or of groups of them with the spread over their seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from iap_gym._files import replacing
from iap_gym.baselines.experiments.comparison import SUCCESS, Group, is_error
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import FEWEST_SEEDS

# Ends of names of fractions, whose axis begins at 0.
RATES = ("success_rate", "gate_rate", "gate_times", "gate_dims")
GATE_COLOR = "0.45"


def label(run: Run) -> str:
    """Name a run in a legend."""
    config = run.config()
    what = config.policy if config.core is None else config.core
    name = f"{run.path.name}: {config.env.rpartition('/')[2]}, {what}, seed {config.seed}"
    # Short episodes have small returns; the reader compares them with those of an evaluation.
    cut = config.algo_kwargs.get("max_episode_steps")
    return name if cut is None else f"{name}, episodes cut at {cut} steps"


def draw_curves(runs: Sequence[Run], path: str | os.PathLike[str]) -> None:
    """Draw the mean return in training over environment steps.

    Of evolution strategies the best of the population is a thin line. Of a single run, the rate of
    open gates has an axis of its own, and what its evaluations found a panel of its own: the
    success rate, or where nobody counts successes the mean return.

    Args:
        runs: runs with metrics, drawn into one picture.
        path: of the picture; its suffix is the format (png, svg, pdf).

    Raises:
        FileNotFoundError: a run has no metrics yet.
        ValueError: no run, or a format that matplotlib does not write.
    """
    if not runs:
        raise ValueError("runs: expected at least one run, got none")
    evaluations = _evaluations(runs[0]) if len(runs) == 1 else None
    figure, axes = _figure()
    if evaluations is not None:
        _add_evaluations(figure, axes, *evaluations)
    thin = ""
    for index, run in enumerate(runs):
        metrics = run.metrics()
        color, steps = f"C{index % 10}", metrics["timesteps"]
        axes.plot(steps, metrics["mean_return"], color=color, label=label(run))
        if "best_return" in metrics:
            axes.plot(steps, metrics["best_return"], color=color, alpha=0.4, linewidth=0.8)
            thin = " (thin: best)"
        rate = metrics.get("gate_rate", np.full(1, np.nan))
        if len(runs) == 1 and np.isfinite(rate).any():
            second = axes.twinx()
            second.plot(steps, rate, color=GATE_COLOR, linestyle="--", linewidth=1)
            second.set_ylabel("rate of open gates (dashed)", color=GATE_COLOR)
            second.set_ylim(bottom=0)
    axes.set_ylabel(f"mean return{thin} in training")
    _save(figure, path)


def _evaluations(run: Run) -> tuple[str, np.ndarray, np.ndarray] | None:
    """Return what was found in evaluations in training, timesteps and values; None without such."""
    if not run.evaluations_file.is_file():
        return None
    table = run.evaluations()
    for name in (SUCCESS, "mean_return"):
        values = table.get(name, np.full(1, np.nan))
        if np.isfinite(values).any():
            return name, table["timesteps"], values
    return None


def draw_comparison(groups: Sequence[Group], metric: str, path: str | os.PathLike[str]) -> None:
    """Draw the interquartile mean of groups, its interval as a band, each run as a thin line.

    Args:
        groups: of runs, what ``compare`` returned.
        metric: the name of what is drawn.
        path: of the picture; its suffix is the format (png, svg, pdf).

    Raises:
        ValueError: a format that matplotlib does not write.
    """
    figure, axes = _figure()
    axes.set_xlabel(groups[0].curves[0].run.step_name)
    for index, group in enumerate(groups):
        color, count = f"C{index % 10}", len(group.curves)
        name = f"{group.name}, {count} run{'s' if count > 1 else ''}"
        if group.low is None or group.high is None:
            name += f" (no interval with fewer than {FEWEST_SEEDS})"
        else:
            axes.fill_between(
                group.timesteps, group.low, group.high, color=color, alpha=0.2, linewidth=0
            )
        for curve in group.curves:
            axes.plot(curve.timesteps, curve.values, color=color, alpha=0.35, linewidth=0.7)
        axes.plot(group.timesteps, group.center, color=color, linewidth=1.8, label=name)
    axes.set_ylabel(f"{metric.replace('_', ' ')} ({groups[0].curves[0].table})")
    if is_error(metric):
        axes.set_yscale("log")
    elif metric.endswith(RATES):
        axes.set_ylim(bottom=0)
    names = {
        curve.run.config().env.rpartition("/")[2] for group in groups for curve in group.curves
    }
    where = names.pop() if len(names) == 1 else "several environments"
    _save(figure, path, f"{where}. Line: interquartile mean of runs (thin); band: 95 % interval")


def _figure() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel("environment steps")
    axes.grid(alpha=0.3)
    return figure, axes


def _add_evaluations(
    figure: Figure, above: Axes, name: str, timesteps: np.ndarray, values: np.ndarray
) -> None:
    figure.set_figheight(5.6)
    both = figure.add_gridspec(2, 1, height_ratios=(5, 3))
    above.set_subplotspec(both[0])
    axes = figure.add_subplot(both[1], sharex=above)
    axes.plot(timesteps, values, color="C2", marker="o", markersize=3.5, linewidth=1.2)
    axes.set_ylabel(f"{name.replace('_', ' ')}\nin evaluations")
    if name == SUCCESS:
        axes.set_ylim(-0.04, 1.04)
    axes.grid(alpha=0.3)
    axes.set_xlabel(above.get_xlabel())
    above.set_xlabel("")
    above.tick_params(labelbottom=False)


def _save(figure: Figure, path: str | os.PathLike[str], title: str | None = None) -> None:
    figure.legend(
        loc="outside upper left",
        frameon=False,
        fontsize="small",
        title=title,
        title_fontsize="small",
        alignment="left",
    )
    write_figure(figure, path)


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure, in the format that the suffix names.

    Raises:
        ValueError: a format that matplotlib does not write.
    """
    canvas = FigureCanvasAgg(figure)
    with replacing(path) as temporary:
        canvas.print_figure(temporary, format=temporary.suffix.lstrip(".") or "png")
