"""Training curves of one run or of several, with a run's spread over its population."""

from __future__ import annotations

import os
from collections.abc import Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from iap_gym._files import replacing
from iap_gym.baselines.experiments.run import Run


def label(run: Run) -> str:
    """Name a run in a legend."""
    config = run.config()
    name = f"{run.path.name}: {config.env.rpartition('/')[2]}, {config.policy}, seed {config.seed}"
    # Short episodes have small returns; the reader compares them with those of an evaluation.
    cut = config.algo_kwargs.get("max_episode_steps")
    return name if cut is None else f"{name}, episodes cut at {cut} steps"


def draw_curves(runs: Sequence[Run], path: str | os.PathLike[str]) -> None:
    """Draw mean return of the population over environment steps, and its best as a thin line.

    Args:
        runs: runs with metrics, drawn into one picture.
        path: of the picture; its suffix is the format (png, svg, pdf).

    Raises:
        FileNotFoundError: a run has no metrics yet.
        ValueError: no run, or a format that matplotlib does not write.
    """
    if not runs:
        raise ValueError("runs: expected at least one run, got none")
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for index, run in enumerate(runs):
        metrics = run.metrics()
        color = f"C{index % 10}"
        axes.plot(metrics["timesteps"], metrics["mean_return"], color=color, label=label(run))
        axes.plot(
            metrics["timesteps"], metrics["best_return"], color=color, alpha=0.4, linewidth=0.8
        )
    axes.set_xlabel("environment steps")
    axes.set_ylabel("mean return (thin: best) in training")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside upper left", frameon=False, fontsize="small")
    with replacing(path) as temporary:
        canvas.print_figure(temporary, format=temporary.suffix.lstrip(".") or "png")
