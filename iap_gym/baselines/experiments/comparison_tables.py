"""A comparison of runs as lines of text and as CSV."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence

import numpy as np

from iap_gym._files import write_text
from iap_gym.baselines.experiments.comparison import (
    SUCCESS,
    THRESHOLD,
    Group,
    is_error,
    median_steps,
    steps_to,
)
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import FEWEST_SEEDS, Mean


def _columns(names: Sequence[str]) -> int:
    return max(len("setting"), *map(len, names)) + 2


def final_table(groups: Sequence[Group], metric: str) -> str:
    """Lay out the interquartile means at the last step that all runs of a group have."""
    width = _columns([group.name for group in groups])
    step = groups[0].curves[0].run.step_name.split()[-1]
    lines = [
        f"interquartile mean of {metric} over runs, 95 % bootstrap interval over runs; from their "
        f"{groups[0].curves[0].table}",
        f"{'setting':<{width}}{step:<14}{metric:<26}runs",
    ]
    for group in groups:
        low, high = (None if end is None else float(end[-1]) for end in (group.low, group.high))
        last = str(Mean(float(group.center[-1]), low, high))
        few = "" if group.low is not None else f", no interval with fewer than {FEWEST_SEEDS}"
        lines.append(
            f"{group.name:<{width}}{group.timesteps[-1]:<14,.0f}{last:<26}{len(group.curves)}{few}"
        )
    return "\n".join(lines)


def steps_table(
    groups: Mapping[str, Sequence[Run]], threshold: float = THRESHOLD, metric: str = SUCCESS
) -> str:
    """Lay ``steps_to`` of groups of runs out; a run that never arrived makes no number smaller."""
    width = _columns(list(groups))
    side = "most" if is_error(metric) else "least"
    step = next(iter(groups.values()))[0].step_name
    lines = [
        f"{step} until {metric} is first at {side} {threshold:g}",
        f"{'setting':<{width}}{'median':<14}{'min..max':<26}runs that reached it",
    ]
    every = iter(steps_to([run for runs in groups.values() for run in runs], threshold, metric))
    for name, runs in groups.items():
        steps = [next(every) for _ in runs]
        median, reached = median_steps(steps), [value for value in steps if value is not None]
        middle = "not reached" if median is None else f"{median:,.0f}"
        spread = f"{min(reached):,.0f}..{max(reached):,.0f}" if reached else "-"
        lines.append(f"{name:<{width}}{middle:<14}{spread:<26}{len(reached)} of {len(steps)}")
    return "\n".join(lines)


def write_csv(groups: Sequence[Group], metric: str, path: str | os.PathLike[str]) -> None:
    """Write the curves: a row a group and step, the interval empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    curve = groups[0].curves[0]
    step = curve.run.step_column
    writer.writerow(("setting", step, f"{metric}_iqm", "low", "high", "runs", "table"))
    for group in groups:
        blank = np.full(len(group.timesteps), None)
        low = blank if group.low is None else group.low
        high = blank if group.high is None else group.high
        for row in zip(group.timesteps, group.center, low, high, strict=True):
            writer.writerow((group.name, *row, len(group.curves), curve.table))
    write_text(path, text.getvalue())
