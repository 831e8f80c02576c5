"""Where a robot can walk: a grid of cells, and the shortest ways on it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped.scenes.distance_field import DistanceField
from iap_gym.envs.quadruped.scenes.geodesic import Cell, MoveGraph, largest_component
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle

Flags = NDArray[np.bool_]
Array = NDArray[np.float64]

ROBOT_RADIUS = 0.3  # m, of the A1's turning circle, legs in
_BESIDE = 0.6  # m from free cells up to which ways are known where there is no obstacle


@dataclass(frozen=True, eq=False)
class TraversableMap:
    """The cells of a floor that the robot's middle may stand on, all connected.

    Cell (row, column) covers y from ``origin[1] + row * resolution`` and x from
    ``origin[0] + column * resolution``, one resolution each.

    Attributes:
        free: (rows, columns) bool, where the robot's middle may be.
        open: (rows, columns) bool, where nothing stands; wider than ``free`` by the radius.
        resolution: side of a cell, m.
        origin: (x, y) of the outer corner of cell (0, 0), m.
    """

    free: Flags
    open: Flags
    resolution: float
    origin: tuple[float, float]

    @classmethod
    def from_open(
        cls,
        open_: Flags,
        resolution: float,
        origin: tuple[float, float],
        radius: float = ROBOT_RADIUS,
    ) -> TraversableMap:
        """Erode the open cells by the robot's radius, and keep the largest connected part.

        Args:
            open_: (rows, columns) bool.
            resolution: side of a cell, m.
            origin: (x, y) of the outer corner of cell (0, 0), m.
            radius: of the robot, m.

        Raises:
            ValueError: nothing is left.
        """
        reach = math.floor(radius / resolution + 1e-9)
        padded = np.pad(open_, reach)
        free = open_.copy()
        for row in range(-reach, reach + 1):
            for column in range(-reach, reach + 1):
                if math.hypot(row, column) <= radius / resolution + 1e-9:
                    low, left = reach + row, reach + column
                    free &= padded[low : low + free.shape[0], left : left + free.shape[1]]
        return cls._connected(free, open_, resolution, origin, radius)

    @classmethod
    def from_rectangles(
        cls,
        blocked: Iterable[Rectangle],
        bounds: Rectangle,
        resolution: float = 0.05,
        radius: float = ROBOT_RADIUS,
    ) -> TraversableMap:
        """Free the cells whose middle is further than the radius from every rectangle.

        Args:
            blocked: what stands in the way.
            bounds: the whole map.
            resolution: side of a cell, m.
            radius: of the robot, m.

        Raises:
            ValueError: nothing is left.
        """
        rows = math.ceil((bounds.top - bounds.bottom) / resolution - 1e-9)
        columns = math.ceil((bounds.right - bounds.left) / resolution - 1e-9)
        x = bounds.left + (np.arange(columns) + 0.5) * resolution
        y = bounds.bottom + (np.arange(rows) + 0.5) * resolution
        free = np.ones((rows, columns), np.bool_)
        open_ = np.ones((rows, columns), np.bool_)
        for each in blocked:
            left, right = np.searchsorted(x, (each.left - radius, each.right + radius))
            low, high = np.searchsorted(y, (each.bottom - radius, each.top + radius))
            part = (slice(low, high), slice(left, right))
            dx = np.maximum(np.maximum(each.left - x[left:right], x[left:right] - each.right), 0.0)
            dy = np.maximum(np.maximum(each.bottom - y[low:high], y[low:high] - each.top), 0.0)
            squared = dx**2 + dy[:, None] ** 2
            free[part] &= squared > radius**2
            open_[part] &= squared > 0.0
        return cls._connected(free, open_, resolution, (bounds.left, bounds.bottom), radius)

    @classmethod
    def _connected(
        cls,
        free: Flags,
        open_: Flags,
        resolution: float,
        origin: tuple[float, float],
        radius: float,
    ) -> TraversableMap:
        free = largest_component(free)
        if not free.any():
            raise ValueError(
                f"scene: no place for a robot of radius {radius:g} m in {int(open_.sum())} open "
                f"cells of {resolution:g} m; for a scan, check its scale, up and floor"
            )
        return cls(free, open_, resolution, origin)

    @functools.cached_property
    def graph(self) -> MoveGraph:
        """The moves between the free cells."""
        return MoveGraph(self.free)

    @functools.cached_property
    def _cells(self) -> NDArray[np.int64]:
        return np.argwhere(self.free)

    def cell(self, xy: Iterable[float]) -> Cell:
        """Return (row, column) of the cell at a point, which may lie outside of the grid."""
        x, y = xy
        column = math.floor((x - self.origin[0]) / self.resolution)
        return math.floor((y - self.origin[1]) / self.resolution), column

    def point(self, cell: Iterable[float]) -> Array:
        """Return the middle (x, y) of a cell, float64 (2,), m."""
        row, column = cell
        corner = np.array((column + 0.5, row + 0.5))
        return np.asarray(self.origin) + corner * self.resolution

    def is_free(self, xy: Iterable[float]) -> bool:
        """Return whether the robot's middle may stand at a point (x, y), m."""
        row, column = self.cell(xy)
        rows, columns = self.free.shape
        return 0 <= row < rows and 0 <= column < columns and bool(self.free[row, column])

    def sample(self, rng: np.random.Generator, where: Flags | None = None) -> Array:
        """Draw a free point, uniformly over the area.

        Args:
            rng: source of randomness.
            where: (rows, columns) bool, cells to which the draw is restricted.

        Returns:
            (x, y) float64 (2,), m.

        Raises:
            ValueError: no free cell in ``where``.
        """
        cells = self._cells if where is None else np.argwhere(self.free & where)
        if len(cells) == 0:
            raise ValueError("where: expected at least one free cell, got none")
        cell = cells[rng.integers(len(cells))]
        return self.point(cell) + (rng.random(2) - 0.5) * self.resolution

    def inside(self, rectangle: Rectangle) -> Flags:
        """Return which cells have their middle in a rectangle, (rows, columns) bool."""
        rows, columns = self.free.shape
        x = self.origin[0] + (np.arange(columns) + 0.5) * self.resolution
        y = self.origin[1] + (np.arange(rows) + 0.5) * self.resolution
        in_x = (x >= rectangle.left) & (x <= rectangle.right)
        return in_x & ((y >= rectangle.bottom) & (y <= rectangle.top))[:, None]

    def distances_to(self, goal: Iterable[float], limit: float = math.inf) -> DistanceField:
        """Return the shortest ways to a goal from everywhere.

        Args:
            goal: (x, y) of a free point, m.
            limit: ways longer than this need not be found, m.

        Raises:
            ValueError: the goal is not free.
        """
        goal = (*goal,)
        if not self.is_free(goal):
            raise _checks.refuse("goal", "a free point of the map", goal)
        cells = self.graph.distances(self.cell(goal), limit / self.resolution)
        return DistanceField(self, cells, _BESIDE)

    def path(self, start: Iterable[float], goal: Iterable[float]) -> Array:
        """Return a shortest way between two points, float64 (K, 2), m; see ``DistanceField.path``.

        Raises:
            ValueError: the goal is not free.
        """
        return self.distances_to(goal).path(start)
