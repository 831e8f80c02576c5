"""Sequences beside what a world model predicts of them, remembers, and when its gates open."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpecFromSubplotSpec, SubplotSpec
from numpy.typing import NDArray

from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.experiments.curves import write_figure
from iap_gym.baselines.experiments.model_curves import SETS
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.data import Sequences
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.baselines.world_model.sets import open_set
from iap_gym.baselines.world_model.trace import trace

Array = NDArray[np.float32]


@dataclass(frozen=True)
class View:
    """How sequences of a scenario are drawn.

    Attributes:
        axes: names of the plane's axes.
        paths: by name, the two numbers of an observation that are its place in the plane.
        events: flags that are marked where they begin.
        picks: set and number of the sequences that are drawn; those of "gen" where there are any.
        momentary: events that last for one state, and are marked at each.
    """

    axes: tuple[str, str]
    paths: dict[str, tuple[int, int]]
    events: tuple[str, ...]
    picks: tuple[tuple[str, int], ...]
    momentary: tuple[str, ...] = ()


_FETCH = View(
    ("x", "height"),
    {"gripper": (0, 2), "cube": (3, 5)},
    ("grasp", "moved", "lifted"),
    (("test", 0), ("test", 1), ("gen", 0)),
)
VIEWS = {
    "billiard": View(
        ("x", "y"),
        {"ball": (0, 1)},
        ("bounce", "pocketed"),
        (("test", 0), ("test", 7), ("test", 10)),
        ("bounce",),
    ),
    "rrc": View(
        ("x", "y"),
        {"agent": (0, 1), "robot": (2, 3)},
        ("controlled",),
        (("test", 0), ("test", 1), ("gen", 0)),
    ),
    "shepherd": View(
        ("x", "y"),
        {"agent": (0, 1), "cage": (2, 3), "sheep": (4, 5)},
        ("hidden", "gate_open", "caught"),
        (("test", 1), ("test", 2), ("test", 3)),
    ),
    "fetch": _FETCH,
    "fetch-diverse": View(
        _FETCH.axes, _FETCH.paths, _FETCH.events, (("test", 0), ("test", 1), ("test", 3))
    ),
}


def draw_scenes(run: ModelRun, path: str | os.PathLike[str]) -> None:
    """Draw sequences, a column each, from their first observations and all actions.

    From top to bottom: the real paths (grey) and the predicted ones (dots); numbers of the
    observations over time, real (lines) and predicted (dots; crosses of the second axis); the
    latent state; and of GateL0RD the gates.
    Vertical lines are the beginnings of events.

    Args:
        run: with weights.
        path: of the picture; its suffix is the format (png, svg, pdf).

    Raises:
        FileNotFoundError: it has no weights yet, or its data are not where they were.
        ValueError: other data are there, or a format that matplotlib does not write.
    """
    config = run.config()
    if not run.weights_file.is_file():
        raise FileNotFoundError(f"{run.path} has no {run.weights_file.name} yet; train it first")
    model, view = WorldModel.load(run.weights_file), VIEWS[config.scenario.name]
    picks = [pick for pick in view.picks if pick[0] in config.test_sets]
    gated = model.settings["core"] == "gatel0rd"
    size = (4.4 * len(picks), 11.0 if gated else 9.0)
    figure = Figure(figsize=size, dpi=110, layout="constrained")
    columns = figure.add_gridspec(1, len(picks))
    with one_torch_thread():
        for index, (name, row) in enumerate(picks):
            scene = open_set(config, name).only(row)
            _draw_column(figure, columns[index], model, config, view, scene, f"{SETS[name]} {row}")
    figure.suptitle(
        f"{run.path.name}: {config.env.rpartition('/')[2]}, {config.core}, seed {config.seed}. "
        "Grey and lines: real; dots: predicted",
        fontsize="medium",
    )
    write_figure(figure, path)


def _draw_column(
    figure: Figure,
    place: SubplotSpec,
    model: WorldModel,
    config: ModelConfig,
    view: View,
    scene: Sequences,
    title: str,
) -> None:
    assert config.start_steps is not None
    real, actions = scene.observations.transpose(0, 1), scene.actions.transpose(0, 1)
    found = trace(model, real[: config.start_steps], actions)
    gates = found.gates
    heights = [2.2, 1.6, 1.2] + ([1.0] if gates is not None else [])
    grid = GridSpecFromSubplotSpec(len(heights), 1, subplot_spec=place, height_ratios=heights)
    axes = [figure.add_subplot(grid[i]) for i in range(len(heights))]
    seen, predicted = real[:, 0].numpy(), found.observations[:, 0].numpy()
    _draw_paths(axes[0], view, seen, predicted)
    axes[0].set_title(title, fontsize="medium")
    _draw_numbers(axes[1], view, seen, predicted)
    _draw_states(axes[2], found.states[:, 0].numpy())
    if gates is not None:
        _draw_gates(axes[3], gates[:, 0])
    for panel in axes[1:]:
        _mark_events(panel, view, scene, label=panel is axes[1])
        panel.set_xlim(0, len(seen) - 1)
    axes[-1].set_xlabel("step")


def _draw_paths(axes: Axes, view: View, real: Array, predicted: Array) -> None:
    for index, (name, (x, y)) in enumerate(view.paths.items()):
        axes.plot(real[:, x], real[:, y], color="0.55", lw=1.2)
        axes.plot(real[0, x], real[0, y], marker="s", color=f"C{index}", ms=6)
        axes.plot(predicted[:, x], predicted[:, y], ".", color=f"C{index}", ms=4, label=name)
    axes.set_xlabel(view.axes[0])
    axes.set_ylabel(view.axes[1])
    axes.margins(0.08)
    axes.legend(frameon=False, fontsize="small", ncols=3)


def _draw_numbers(axes: Axes, view: View, real: Array, predicted: Array) -> None:
    steps = np.arange(len(real))
    for index, (name, columns) in enumerate(view.paths.items()):
        for column, axis, style, mark in zip(columns, view.axes, ("-", "--"), ".x", strict=True):
            axes.plot(
                steps,
                real[:, column],
                style,
                color=f"C{index}",
                lw=1,
                alpha=0.6,
                label=f"{name} {axis}",
            )
            axes.plot(steps[1:], predicted[:, column], mark, color=f"C{index}", ms=3, mew=0.8)
    axes.set_ylabel("observation")
    axes.legend(frameon=False, fontsize="x-small", ncols=3)


def _draw_states(axes: Axes, states: Array) -> None:
    for index, line in enumerate(states.T):
        axes.plot(line, color=f"C{index % 10}", lw=1.1)
    axes.set_ylabel("latent state")


def _draw_gates(axes: Axes, gates: torch.Tensor) -> None:
    steps, rows = gates.shape
    # the gate of step t leads to state t + 1
    extent = (0.5, steps + 0.5, rows - 0.5, -0.5)
    picture = (gates > 0).T.numpy()
    axes.imshow(picture, aspect="auto", cmap="Greys", vmin=0, vmax=1, extent=extent)
    axes.set_ylabel("gates (black: open)")


def _mark_events(axes: Axes, view: View, scene: Sequences, *, label: bool) -> None:
    for index, event in enumerate(view.events):
        flags = scene.flags(event)[0] > 0
        begins = np.flatnonzero(flags[1:] & ~flags[:-1]) + 1
        if event in view.momentary:
            begins = np.flatnonzero(flags)
        for number, step in enumerate(begins if event in view.momentary else begins[:1]):
            axes.axvline(float(step), color=f"C{index + 6}", lw=1, ls=":")
            if label and number == 0:
                axes.annotate(
                    event.replace("_", " "),
                    (float(step), 1.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, 8 * index),  # events may come close to one another
                    textcoords="offset points",
                    fontsize="x-small",
                    color=f"C{index + 6}",
                    va="bottom",
                )
