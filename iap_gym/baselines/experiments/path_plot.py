"""The ways that a robot went, from above."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from iap_gym._files import replacing
from iap_gym.envs.quadruped.floor_map import HEADROOM, FloorMap, Footprint

PANEL_WIDTH = 9.0  # inches; of one that is about square a half of it
PANEL_TEXT, LEGEND = 0.7, 0.5  # inches of height
WIDE = 1.8  # times as wide as high: such maps stand one below the other
COLUMNS = 3  # of the others
WALL_HEIGHT = 2.0  # m, drawn darkest
PATH_COLOR, WAY_COLOR, START_COLOR, END_COLOR = "tab:blue", "tab:green", "black", "tab:red"
MARGIN = 0.2  # m around a map
OUTSIDE, FLOOR = "0.85", "0.98"


class Walk(NamedTuple):
    """An episode to be drawn."""

    floor: FloorMap
    title: str


def draw_path(walks: Sequence[Walk], path: str | os.PathLike[str]) -> None:
    """Draw episodes from above, a panel each.

    Args:
        walks: at least one.
        path: of the picture; its suffix is the format (png, svg, pdf).

    Raises:
        ValueError: no walk, or a format that matplotlib does not write.
    """
    if not walks:
        raise ValueError("walks: expected at least one, got none")
    bounds = [_bounds(walk.floor) for walk in walks]
    ratio = max((right - left) / (top - bottom) for left, right, bottom, top in bounds)
    columns = 1 if ratio > WIDE else min(COLUMNS, len(walks))
    rows = math.ceil(len(walks) / columns)
    width = PANEL_WIDTH if columns == 1 and ratio > WIDE else PANEL_WIDTH / 2
    height = max(1.4, width / ratio) + PANEL_TEXT
    figure = Figure((columns * width, rows * height + LEGEND), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, walk, (left, right, bottom, top) in zip(panels, walks, bounds, strict=False):
        _draw(axes, walk)
        axes.set_xlim(left, right)
        axes.set_ylim(bottom, top)
    for axes in panels[len(walks) :]:
        axes.set_axis_off()
    handles, labels = panels[0].get_legend_handles_labels()
    names = len(labels) if columns * width >= PANEL_WIDTH else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=names, frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _bounds(floor: FloorMap) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of all that is drawn, with a margin, m."""
    parts = [floor.path[:, :2], *(each.corners for each in floor.footprints)]
    if floor.grid is not None:
        parts.append(np.reshape(floor.grid.extent, (2, 2)).T)
    points = np.concatenate(parts)
    left, bottom = points.min(axis=0) - MARGIN
    right, top = points.max(axis=0) + MARGIN
    return float(left), float(right), float(bottom), float(top)


def _is_floor(footprint: Footprint) -> bool:
    return footprint.high < 1e-6


def _style(footprint: Footprint) -> dict[str, Any]:
    """Return how a footprint is drawn: the higher the darker, an outline if it is walked under."""
    if _is_floor(footprint):
        return {"facecolor": FLOOR}
    grey = str(round(0.75 - 0.55 * min(footprint.high / WALL_HEIGHT, 1.0), 3))
    if footprint.low >= HEADROOM:
        return {"facecolor": "none", "edgecolor": grey, "linestyle": ":"}
    return {"facecolor": grey}


def _draw(axes: Axes, walk: Walk) -> None:
    floor = walk.floor
    axes.set_aspect("equal")
    axes.set_title(walk.title, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("x [m]", fontsize=8)
    axes.set_ylabel("y [m]", fontsize=8)
    # A platform stands out from what is around it; without one all is floor.
    platform = any(_is_floor(each) for each in floor.footprints)
    axes.set_facecolor(OUTSIDE if platform else FLOOR)
    if floor.grid is not None:
        axes.imshow(
            floor.grid.open, origin="lower", extent=floor.grid.extent, cmap="gray", vmin=-0.5
        )
    for each in sorted(floor.footprints, key=lambda each: each.high):
        axes.add_patch(Polygon(each.corners, **_style(each)))
    if floor.finish is not None:
        axes.axvline(floor.finish, color=WAY_COLOR, linestyle="--", linewidth=1, label="finish")
    if floor.shortest is not None:
        axes.plot(*floor.shortest.T, "--", color=WAY_COLOR, linewidth=1, label="shortest way")
    if floor.goal is not None:
        axes.plot(*floor.goal, "*", color=WAY_COLOR, markersize=13, label="goal", linestyle="none")
    x, y, yaw = floor.path.T
    axes.plot(x, y, color=PATH_COLOR, linewidth=1.5, label="path")
    every = max(1, round(1.0 / floor.control_dt))
    axes.plot(x[::every], y[::every], "o", color=PATH_COLOR, markersize=3, label="each second")
    axes.plot(x[0], y[0], "o", color=START_COLOR, markersize=6, label="start", linestyle="none")
    axes.plot(x[-1], y[-1], "X", color=END_COLOR, markersize=8, label="end", linestyle="none")
    # Where it faces, at both ends.
    for index in (0, -1):
        ahead = (x[index] + 0.4 * np.cos(yaw[index]), y[index] + 0.4 * np.sin(yaw[index]))
        axes.annotate("", ahead, (x[index], y[index]), arrowprops={"arrowstyle": "->"})
