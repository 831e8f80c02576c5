"""Curves of the training of world models."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from iap_gym.baselines.experiments.comparison import (
    common_grid,
    group_runs,
    interpolate,
    read_curve,
)
from iap_gym.baselines.experiments.curves import write_figure
from iap_gym.baselines.experiments.model_run import ModelRun

SETS = {"val": "validation", "test": "test", "gen": "generalisation"}
GATES = {"rate": "open gates", "times": "steps with an open gate", "dims": "numbers ever changed"}


def draw_model_curves(runs: Sequence[ModelRun], path: str | os.PathLike[str]) -> None:
    """Draw errors of prediction over epochs, and for GateL0RD how its gates were used.

    Of one run all sets are in one panel, with the error of the training batches. Of several, each
    set has a panel: runs that differ in their seed alone have one colour, and their
    median, as far as all of them got, is thick.

    Args:
        runs: with evaluations.
        path: of the picture; its suffix is the format (png, svg, pdf).

    Raises:
        FileNotFoundError: a run has no evaluations yet.
        ValueError: no run, one seed of one setting twice, or a format that matplotlib does not
            write.
    """
    if not runs:
        raise ValueError("runs: expected at least one run, got none")
    _draw_one(runs[0], path) if len(runs) == 1 else _draw_several(runs, path)


def _draw_one(run: ModelRun, path: str | os.PathLike[str]) -> None:
    table, config = run.evaluations(), run.config()
    gated = np.isfinite(table["val_gate_rate"]).any()
    figure = Figure(figsize=(7, 5.6 if gated else 4), dpi=120, layout="constrained")
    panels = figure.subplots(2 if gated else 1, sharex=True, squeeze=False)[:, 0]
    above = panels[0]
    if run.metrics_file.is_file():
        rows = run.metrics()
        above.plot(
            rows["epoch"],
            rows["error"],
            color="0.6",
            linewidth=0.8,
            label="training batches (real inputs among theirs)",
        )
    for index, name in enumerate(_sets(table)):
        # A run that diverged may have a single point.
        style = "o" if len(table["epoch"]) == 1 else "-"
        values, color = table[f"{name}_error"], f"C{index}"
        above.plot(table["epoch"], values, style, color=color, label=SETS[name])
        copied = table[f"{name}_copy_error"][0]
        text = "if nothing changed" if index == 0 else None
        above.axhline(copied, color=f"C{index}", linestyle=":", linewidth=1, label=text)
    _errors(above)
    if gated:
        for index, (name, text) in enumerate(GATES.items()):
            color, values = f"C{index + 3}", table[f"val_gate_{name}"]
            panels[1].plot(table["epoch"], values, color=color, label=f"{text} (validation)")
        panels[1].set_ylabel("fraction")
        panels[1].set_ylim(bottom=0)
        panels[1].grid(alpha=0.3)
    panels[-1].set_xlabel("epochs")
    for panel in panels:
        panel.legend(frameon=False, fontsize="small", ncols=2)
    title = f"{run.path.name}: {config.env.rpartition('/')[2]}, {config.core}, seed {config.seed}"
    if run.diverged_file.is_file():
        title += f"; diverged: {run.diverged_file.read_text('utf-8').strip()}"
    figure.suptitle(title, fontsize="medium", wrap=True)
    write_figure(figure, path)


def _draw_several(runs: Sequence[ModelRun], path: str | os.PathLike[str]) -> None:
    groups = group_runs(runs)
    known = {run.path: _sets(run.evaluations()) for run in runs}
    names = [name for name in SETS if any(name in sets for sets in known.values())]
    figure = Figure(figsize=(3.6 * len(names), 4), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        for index, (group, members) in enumerate(groups.items()):
            curves = [
                read_curve(run, f"{name}_error") for run in members if name in known[run.path]
            ]
            if not curves:
                continue
            color, epochs = f"C{index % 10}", common_grid(curves)
            for curve in curves:
                panel.plot(curve.timesteps, curve.values, color=color, alpha=0.3, lw=0.7)
            values = [interpolate(curve, epochs) for curve in curves]
            count = f"{len(members)} run{'s' if len(members) > 1 else ''}"
            text = f"{group.replace('iap_gym/', '')}, {count}" if panel is panels[0] else None
            panel.plot(epochs, np.median(values, axis=0), color=color, lw=1.8, label=text)
        _errors(panel)
        panel.set_title(SETS[name], fontsize="medium")
        panel.set_xlabel("epochs")
        if panel is not panels[0]:
            panel.set_ylabel("")
    figure.legend(loc="outside lower center", frameon=False, fontsize="small", ncols=2)
    envs = {run.config().env.rpartition("/")[2] for run in runs}
    env = envs.pop() if len(envs) == 1 else "Several environments"
    figure.suptitle(f"{env}. Thick: median of runs (thin)", fontsize="medium")
    write_figure(figure, path)


def _sets(table: dict[str, np.ndarray]) -> list[str]:
    return [name for name in SETS if f"{name}_error" in table]


def _errors(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.set_ylabel("mean squared error")
    axes.grid(alpha=0.3)
