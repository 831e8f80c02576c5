"""Shortest ways to one goal from everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.quadruped.scenes.geodesic import Cell, extended

if TYPE_CHECKING:
    from iap_gym.envs.quadruped.scenes.traversable import TraversableMap

Array = NDArray[np.float64]


class DistanceField:
    """Lengths of the shortest ways to one goal, and the ways.

    A way is a chain of moves from cell to cell in 16 directions, up to 2.8 % longer than the
    shortest curve. Where the robot's middle is nearer to an obstacle than its radius, as it may
    be, the length goes on from the free cells beside, never through what stands there.

    Args:
        traversable: the map.
        cells: (rows, columns) lengths in cells, inf where no way was found.
        beside: how far from free cells ways are known, m.
    """

    def __init__(self, traversable: TraversableMap, cells: Array, beside: float) -> None:
        self.map = traversable
        self._cells = cells
        steps = math.ceil(beside / traversable.resolution)
        spread = extended(cells, traversable.free, traversable.open, steps)
        self._values = np.pad(spread, 1, constant_values=np.inf) * traversable.resolution

    @property
    def values(self) -> Array:
        """(rows, columns) in m at the middle of each cell, inf where no way was found."""
        return self._values[1:-1, 1:-1]

    def __call__(self, xy: Iterable[float]) -> float:
        """Return the length of the way from a point, m, linear between the cells; inf: none."""
        x, y = xy
        resolution, (left, bottom) = self.map.resolution, self.map.origin
        rows, columns = self._values.shape
        row, column = (y - bottom) / resolution + 0.5, (x - left) / resolution + 0.5
        if not (0.0 <= row < rows - 1 and 0.0 <= column < columns - 1):
            return math.inf
        low, first = int(row), int(column)
        corners = self._values[low : low + 2, first : first + 2]
        weights = np.outer((low + 1 - row, row - low), (first + 1 - column, column - first))
        known = np.isfinite(corners)
        total = float(weights[known].sum())
        if total < 1e-9:
            return math.inf
        return float(weights[known] @ corners[known]) / total

    def path(self, start: Iterable[float], longest: float = math.inf) -> Array:
        """Return a shortest way from a point that is free, or beside free cells.

        Args:
            start: (x, y), m.
            longest: the way may end after this length, m.

        Returns:
            float64 (K, 2), middles of cells from that of ``start`` on, m; none where no way leads.
        """
        row, column = self.map.cell(start)
        cells: list[Cell] = []
        free, values = self.map.free, self._values
        rows, columns = free.shape
        if not (
            0 <= row < rows and 0 <= column < columns and np.isfinite(self.values[row, column])
        ):
            return np.empty((0, 2))
        while not free[row, column]:  # downhill to where the robot may be
            cells.append((row, column))
            around = values[row : row + 3, column : column + 3]
            down, right = np.unravel_index(np.argmin(around), (3, 3))
            row, column = row + int(down) - 1, column + int(right) - 1
        cells += self.map.graph.path(
            self._cells, (row, column), longest / self.map.resolution - len(cells)
        )
        return np.array([self.map.point(cell) for cell in cells])
