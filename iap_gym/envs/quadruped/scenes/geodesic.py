"""Shortest paths on a grid of free cells, in 16 directions, in numpy alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]
Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Cell = tuple[int, int]

# (rows, columns) of each move, and the cells beside the way that have to be free with its end.
_STRAIGHT = {(0, 1): (), (0, -1): (), (1, 0): (), (-1, 0): ()}
_DIAGONAL = {(r, c): ((r, 0), (0, c)) for r in (-1, 1) for c in (-1, 1)}
_KNIGHT = {(r, 2 * c): ((0, c), (r, c)) for r in (-1, 1) for c in (-1, 1)} | {
    (2 * r, c): ((r, 0), (r, c)) for r in (-1, 1) for c in (-1, 1)
}
_MOVES: dict[Cell, tuple[Cell, ...]] = {**_STRAIGHT, **_DIAGONAL, **_KNIGHT}
_MARGIN = 2  # blocked cells around the grid: no move leaves it
_LISTS = 4  # the longest move, sqrt(5), ends at most three levels on

STRETCH = 1.0 / math.cos(math.atan(0.5) / 2.0)
"""Longest a path of these moves is on an empty grid, over the straight line: 1.028."""


class MoveGraph:
    r"""The moves between the free cells of a grid.

    A path is a chain of moves to the 16 cells that a king or a knight of chess reaches, past free
    cells only. On an empty grid it is at most ``STRETCH`` times as long as the straight line,
    :math:`1 / \cos(\arctan(1/2) / 2)`, reached half-way between two directions of moves.

    Args:
        free: (rows, columns) bool.
    """

    def __init__(self, free: Flags) -> None:
        padded = np.pad(free, _MARGIN)
        self._shape = padded.shape
        self._inside = tuple(slice(_MARGIN, size - _MARGIN) for size in padded.shape)
        self._offsets = np.array([r * padded.shape[1] + c for r, c in _MOVES], np.int64)
        self._lengths = np.array([math.hypot(r, c) for r, c in _MOVES])
        self._allowed = np.zeros((padded.size, len(_MOVES)), np.bool_)
        allowed = self._allowed.reshape(*padded.shape, len(_MOVES))
        for index, (move, beside) in enumerate(_MOVES.items()):
            ways = free.copy()
            for row, column in (move, *beside):
                low, left = _MARGIN + row, _MARGIN + column
                ways &= padded[low : low + free.shape[0], left : left + free.shape[1]]
            allowed[*self._inside, index] = ways

    def distances(self, source: Cell, limit: float = math.inf) -> Array:
        """Return the length of the shortest path from ``source`` to each cell, in cells.

        No move is shorter than 1, so that all cells whose distance lies in [k, k + 1) are settled
        together once those below k are (Dial's algorithm).

        Args:
            source: (row, column) of a free cell.
            limit: longer paths need not be found.

        Returns:
            (rows, columns), inf where no path leads.
        """
        start = self._index(source)
        distance = np.full(len(self._allowed), np.inf)
        distance[start] = 0.0
        lists: list[list[Indices]] = [[] for _ in range(_LISTS)]
        lists[0].append(np.array([start]))
        level = 0
        while any(lists) and level <= limit:
            current = lists[level % _LISTS]
            if current:
                cells = np.unique(np.concatenate(current))
                current.clear()
                cells = cells[distance[cells] >= level]  # others were settled at a lower level
                ends, levels = self._relax(cells, distance)
                for ahead in range(1, _LISTS):
                    chosen = ends[levels == level + ahead]
                    if len(chosen):
                        lists[(level + ahead) % _LISTS].append(chosen)
            level += 1
        return distance.reshape(self._shape)[self._inside].copy()

    def _relax(self, cells: Indices, distance: Array) -> tuple[Indices, Array]:
        """Shorten distances by one move from ``cells``; return the ends reached and their level."""
        ends = cells[:, None] + self._offsets
        reached = distance[cells][:, None] + self._lengths
        shorter = self._allowed[cells] & (reached < distance[ends])
        ends = ends[shorter]
        np.minimum.at(distance, ends, reached[shorter])
        return ends, np.floor(distance[ends])

    def path(self, distances: Array, start: Cell, longest: float = math.inf) -> list[Cell]:
        """Return the cells of a shortest path from ``start`` to the source of ``distances``.

        Args:
            distances: what ``distances`` returned.
            start: (row, column) with a finite distance.
            longest: the path may end after so many cells' lengths.
        """
        padded = np.pad(distances, _MARGIN, constant_values=np.inf).ravel()
        index = self._index(start)
        indices = [index]
        end = max(float(padded[index]) - longest, 0.0)
        while padded[index] > end:
            total = padded[index + self._offsets] + self._lengths
            total[~self._allowed[index]] = np.inf
            index += int(self._offsets[np.argmin(total)])
            indices.append(index)
        rows, columns = np.divmod(np.array(indices), self._shape[1])
        return list(zip((rows - _MARGIN).tolist(), (columns - _MARGIN).tolist(), strict=True))

    def _index(self, cell: Cell) -> int:
        return (cell[0] + _MARGIN) * self._shape[1] + cell[1] + _MARGIN


def extended(distances: Array, free: Flags, open_: Flags, num_steps: int) -> Array:
    """Spread distances from free cells over open cells beside them, not through blocked ones.

    Args:
        distances: (rows, columns) in cells.
        free: where they are final.
        open_: where a path may lead outside of ``free``.
        num_steps: cells that are bridged at most.

    Returns:
        (rows, columns), as ``distances`` in ``free``, inf where nothing was spread.
    """
    result = np.where(free, distances, np.inf)
    fixed = free | ~open_
    for _ in range(num_steps):
        padded = np.pad(result, 1, constant_values=np.inf)
        best = result.copy()
        for row, column in (*_STRAIGHT, *_DIAGONAL):
            shifted = padded[
                1 + row : 1 + row + result.shape[0], 1 + column : 1 + column + result.shape[1]
            ]
            np.minimum(best, shifted + math.hypot(row, column), out=best)
        best[fixed] = result[fixed]
        if np.array_equal(best, result):
            break
        result = best
    return result


def largest_component(free: Flags) -> Flags:
    """Return the cells of the largest part of ``free`` that moves connect; ties to the first.

    Parts are found from runs of free cells in rows, joined where runs of neighbouring rows touch.
    """
    padded = np.pad(free, ((0, 0), (1, 1))).astype(np.int8)
    edges = np.diff(padded, axis=1)
    rows, starts = np.nonzero(edges == 1)
    stops = np.nonzero(edges == -1)[1]
    parent = np.arange(len(rows))

    def root(run: int) -> int:
        while parent[run] != run:
            parent[run] = parent[parent[run]]
            run = int(parent[run])
        return run

    first = np.searchsorted(rows, np.arange(free.shape[0] + 1))
    for row in range(1, free.shape[0]):
        above, here = int(first[row - 1]), int(first[row])
        while above < first[row] and here < first[row + 1]:
            if starts[above] < stops[here] and starts[here] < stops[above]:
                one, other = root(above), root(here)
                parent[max(one, other)] = min(one, other)
            if stops[above] < stops[here]:
                above += 1
            else:
                here += 1
    result = np.zeros_like(free)
    if len(rows) == 0:
        return result
    roots = np.array([root(run) for run in range(len(rows))])
    sizes = np.bincount(roots, weights=stops - starts)
    for run in np.flatnonzero(roots == np.argmax(sizes)):
        result[rows[run], starts[run] : stops[run]] = True
    return result
