"""What rays tell of a mesh: at which heights it has floors, and where they can be walked on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.quadruped.scenes.traversable import ROBOT_RADIUS, TraversableMap
from iap_gym.raycast import Mesh

Array = NDArray[np.float64]

RESOLUTION = 0.05  # m, side of a cell where the mesh is not larger than MOST_CELLS allow
MOST_CELLS = 1_000_000
CLEARANCE = 0.6  # m, free height that the robot needs
STEP = 0.1  # m, bumps that are still floor
_DROP = 0.3  # m, how far below the walking plane the mesh may lie
_LEVELS = 0.1  # m between level rays
_FARTHEST = 1e6  # m
_BEHIND = 1e-3  # m
_FLOOR_RAYS = 40_000
_BAND = 0.1  # m, of heights that are one floor
_STOREY = 2.0  # m, least distance between floors
_SHARE = 0.3  # of the largest floor's area that another floor has at least
_UPWARD = 0.9  # z of the normals of floors


def floor_heights(mesh: Mesh) -> tuple[float, ...]:
    """Find the floors of a mesh: heights at which much of it is level and looks up.

    Vertical rays on a grid hit level parts as often as their area is large. Bands of heights are
    taken by area, the largest first, none nearer than 2 m to one taken before nor with less than
    0.3 of the largest's area.

    Args:
        mesh: z upward, m.

    Returns:
        ascending, m.

    Raises:
        ValueError: no part of the mesh is level.
    """
    left, bottom, right, top, roof = _bounds(mesh)
    spacing = max(math.sqrt(max((right - left) * (top - bottom), 0.0) / _FLOOR_RAYS), RESOLUTION)
    x, y = _middles(left, right, spacing), _middles(bottom, top, spacing)
    points, upward = _hits(mesh, _grid(x, y, roof + 1.0), (0.0, 0.0, -1.0))
    level = upward > _UPWARD
    if not level.any():  # wound the other way round
        level = upward < -_UPWARD
    heights = np.sort(points[level, 2])
    if len(heights) == 0:
        raise ValueError("scene: no floor found, give floor_height")
    counts = np.searchsorted(heights, heights + _BAND) - np.arange(len(heights))
    floors: list[float] = []
    for index in np.argsort(-counts, kind="stable"):
        if counts[index] < _SHARE * counts.max():
            break
        band = heights[index : index + counts[index]]
        if all(abs(float(band[0]) - floor) >= _STOREY for floor in floors):
            floors.append(float(np.median(band)))
    return tuple(sorted(floors))


def survey(
    mesh: Mesh, height: float, resolution: float | None = None, radius: float = ROBOT_RADIUS
) -> TraversableMap:
    """Find where a robot can walk on a floor of a mesh.

    A cell is open where a ray downward from ``CLEARANCE`` above the floor meets the mesh at the
    floor's height, and where no level ray along x or y meets the mesh inside the cell on its way.
    Rays downward alone miss walls, which have no width in a scan.

    Args:
        mesh: z upward, m.
        height: of the floor, m.
        resolution: side of a cell, m; None for 0.05, or what makes a million cells.
        radius: of the robot, m.

    Raises:
        ValueError: there is no place for the robot.
    """
    left, bottom, right, top, _ = _bounds(mesh)
    if resolution is None:
        resolution = max(RESOLUTION, math.sqrt((right - left) * (top - bottom) / MOST_CELLS))
    x, y = _middles(left, right, resolution), _middles(bottom, top, resolution)
    open_ = np.zeros((len(y), len(x)), np.bool_)
    origin = (left, bottom)
    down = (0.0, 0.0, -1.0)
    points, _ = _hits(mesh, _grid(x, y, height + CLEARANCE), down, first=True)
    floor = points[(points[:, 2] <= height + STEP) & (points[:, 2] >= height - _DROP)]
    open_[_cells(floor, origin, resolution, open_.shape)] = True
    for level in np.arange(height + STEP, height + CLEARANCE, _LEVELS):
        for offset in (-0.25, 0.25):  # two rays a cell: oblique walls stay closed
            shift = offset * resolution
            along_x = _grid(np.array([left - 1.0]), y + shift, level)
            along_y = _grid(x + shift, np.array([bottom - 1.0]), level)
            for rays, direction in ((along_x, (1.0, 0.0, 0.0)), (along_y, (0.0, 1.0, 0.0))):
                points, _ = _hits(mesh, rays, direction)
                open_[_cells(points, origin, resolution, open_.shape)] = False
    return TraversableMap.from_open(open_, resolution, origin, radius)


def _hits(
    mesh: Mesh, origins: Array, direction: tuple[float, float, float], *, first: bool = False
) -> tuple[Array, Array]:
    """Return where parallel rays hit the mesh, (K, 3), and z of the unit normals there, (K,)."""
    places: list[Array] = []
    upward: list[Array] = []
    ways = np.asarray(direction, np.float32)
    starts = origins.astype(np.float32)
    while len(starts):
        hits = mesh.hits(starts, np.broadcast_to(ways, starts.shape).copy(), _FARTHEST)
        met = hits.face >= 0
        starts = (starts[met] + hits.distance[met, None] * ways).astype(np.float32)
        normals = hits.normal[met]
        places.append(starts.astype(np.float64))
        lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-30)
        upward.append((normals[:, 2] / lengths).astype(np.float64))
        if first:
            break
        starts += _BEHIND * ways  # what lies behind the surface
    return np.concatenate(places), np.concatenate(upward)


def _bounds(mesh: Mesh) -> tuple[float, float, float, float, float]:
    """Return left, bottom, right and top of the mesh, and its highest point, m."""
    left, bottom, _ = mesh.vertices.min(axis=0).tolist()
    right, top, roof = mesh.vertices.max(axis=0).tolist()
    return left, bottom, right, top, roof


def _grid(x: Array, y: Array, z: float) -> Array:
    """Return the points (K, 3) of a level grid, row by row."""
    columns, rows = np.meshgrid(x, y)
    return np.stack([columns.ravel(), rows.ravel(), np.full(columns.size, z)], axis=1)


def _middles(low: float, high: float, spacing: float) -> Array:
    return low + spacing * (0.5 + np.arange(max(1, math.ceil((high - low) / spacing)), dtype=float))


def _cells(
    points: Array, origin: tuple[float, float], resolution: float, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows and the columns of the cells that points lie in."""
    columns, rows = np.floor((points[:, :2] - origin) / resolution).astype(np.int64).T
    return np.clip(rows, 0, shape[0] - 1), np.clip(columns, 0, shape[1] - 1)
