"""The figure of a comparison: errors over epochs, and every measure of every seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from iap_gym.baselines.experiments.comparison import is_error
from iap_gym.baselines.experiments.model_curves import SETS
from iap_gym.baselines.experiments.plan_episodes import PlannedEpisodes
from iap_gym.baselines.experiments.reproduce.model_results import (
    Result,
    samples,
    summarise,
)
from iap_gym.baselines.experiments.reproduce.model_target import Arm, Measure, Operand, Target
from iap_gym.baselines.experiments.reproduce.output import COLORS, new_figure, save_figure
from iap_gym.baselines.experiments.statistics import FEWEST

COLUMNS = 3
STYLES = ("-", "--", ":", "-.")


def color(index: int) -> str:
    """Return the colour of an arm; the style of its line tells those of one colour apart."""
    return COLORS[index % len(COLORS)]


def draw(
    target: Target,
    budget: str,
    arms: Sequence[Arm],
    results: Sequence[Result],
    bound: PlannedEpisodes | None,
    path: Path,
) -> Path:
    """Draw the mean error over seeds against epochs, and the measures of the finished runs."""
    shown = [arm for arm in arms if any(result.arm == arm for result in results)]
    curves = [
        name
        for name in ("test", "gen")
        if any(f"{name}_error" in result.numbers for result in results)
    ]
    drawn = [m for m in target.measures if m.drawn]
    measures = [m for m in drawn if any(m.name in r.numbers for r in results)]
    count = len(curves) + len(measures)
    rows = -(-count // COLUMNS)
    height = max(3.2, 1.2 + 0.27 * len(shown))
    figure = new_figure(4.6 * COLUMNS, height * rows)
    panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
    for axes, name in zip(panels, curves, strict=False):
        _draw_curves(axes, name, shown, results)
    for axes, measured in zip(panels[len(curves) :], measures, strict=False):
        _draw_measure(axes, measured, shown, results, bound)
    for axes in panels[count:]:
        axes.set_axis_off()
    seeds = max(sum(result.arm == arm for result in results) for arm in shown)
    figure.suptitle(
        f"{target.title}, budget {budget}: up to {seeds} seeds an arm.\n"
        "Lines and diamonds: mean over seeds, of errors the geometric one; "
        f"bars: 95 % interval, from {FEWEST} seeds on",
        fontsize="medium",
    )
    return save_figure(figure, path)


def _draw_curves(axes: Axes, name: str, arms: Sequence[Arm], results: Sequence[Result]) -> None:
    for index, arm in enumerate(arms):
        tables = [result.run.evaluations() for result in results if result.arm == arm]
        tables = [table for table in tables if f"{name}_error" in table]
        if not tables:
            continue
        errors = np.exp(np.mean(np.log([table[f"{name}_error"] for table in tables]), axis=0))
        style = STYLES[index // len(COLORS) % len(STYLES)]
        axes.plot(tables[0]["epoch"], errors, style, color=color(index), lw=1.3, label=arm.name)
    axes.set_yscale("log")
    axes.set_xlabel("epochs")
    axes.set_title(f"{SETS[name]} error", fontsize="medium")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize="x-small", ncols=2 if len(arms) > 6 else 1)


def _draw_measure(
    axes: Axes,
    measured: Measure,
    arms: Sequence[Arm],
    results: Sequence[Result],
    bound: PlannedEpisodes | None,
) -> None:
    found = [arm for arm in arms if samples(results, Operand(arm.name, measured.name))]
    for row, arm in enumerate(found):
        values = samples(results, Operand(arm.name, measured.name))
        mean, tint = summarise(results, arm.name, measured.name), color(arms.index(arm))
        assert mean is not None, "it has values"
        axes.plot(values, [row] * len(values), "o", color=tint, alpha=0.35, ms=5)
        if mean.low is not None and mean.high is not None:
            axes.plot([mean.low, mean.high], [row, row], color=tint, lw=2)
        axes.plot(mean.mean, row, "D", color=tint, markeredgecolor="black", ms=6)
    axes.set_yticks(range(len(found)), [arm.name for arm in found], fontsize="small")
    axes.set_ylim(len(found) - 0.5, -0.5)
    if is_error(measured.name):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.ticklabel_format(axis="x", scilimits=(-3, 4))
    if measured.name == "success" and bound is not None:
        axes.axvline(bound.success.mean, color="black", ls="--", lw=1, label="true simulator")
        axes.legend(frameon=False, fontsize="x-small")
        axes.set_xlim(-0.03, 1.03)
    axes.set_title(f"{measured.title}, after training", fontsize="medium")
    axes.grid(alpha=0.25, axis="x")
