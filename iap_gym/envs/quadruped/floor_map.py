"""An episode seen from above: what stands on the floor, the way that was gone, the goal."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.envs.quadruped.navigation import NavigationTask
from iap_gym.envs.quadruped.obstacle_course import CourseTask
from iap_gym.envs.quadruped.scenes.traversable import TraversableMap
from iap_gym.envs.quadruped.world import Block

Array = NDArray[np.float64]

HEADROOM = 0.5  # m above the floor; what begins higher, such as the top of a table, is walked under
OVERHEAD = 1.5  # m; what begins higher is not shown, such as lintels and ceilings


@dataclass(frozen=True)
class Footprint:
    """What a box takes of the floor.

    Attributes:
        corners: (4, 2) in order, m.
        low: height of its bottom above the floor, m; from ``HEADROOM`` on it is walked under.
        high: of its top; 0 for what is walked on.
    """

    corners: Array
    low: float
    high: float


@dataclass(frozen=True)
class Grid:
    """Where nothing stands, on a grid.

    Attributes:
        open: bool (rows along y, columns along x).
        extent: left, right, bottom and top of it all, m.
    """

    open: NDArray[np.bool_]
    extent: tuple[float, float, float, float]


@dataclass(frozen=True)
class FloorMap:
    """An episode from above, up to now.

    Attributes:
        path: (n, 3) x, y (m) and yaw (rad) at the start and after each control step.
        control_dt: time of a control step, s.
        footprints: of what is walked on and of what is in the way.
        grid: of a scene without boxes, else None.
        goal: (x, y) m, or None.
        shortest: (m, 2) the shortest way from the start to the goal, or None.
        finish: x (m) of the line that ends a course, or None.
    """

    path: Array
    control_dt: float
    footprints: tuple[Footprint, ...]
    grid: Grid | None = None
    goal: Array | None = None
    shortest: Array | None = None
    finish: float | None = None


def floor_map(env: QuadrupedEnv) -> FloorMap:
    """Return the map of an episode.

    Args:
        env: after its first reset, unwrapped.
    """
    place, task, path = env.place, env.task, env.path
    assert place is not None, "there is no episode before the first reset"
    floor = place.floor_height
    boxes = [Block.of("box", box) for box in place.world.boxes]
    footprints = tuple(
        each for each in (_footprint(box, floor) for box in boxes) if each.low < OVERHEAD
    )
    seen = FloorMap(path, env.mover.control_dt, footprints)
    if isinstance(task, CourseTask):
        return replace(seen, finish=task.layout.length)
    if isinstance(task, NavigationTask):
        grid = None if footprints else _grid(task.scene.traversable)
        way = task.field.path(path[0, :2])
        return replace(seen, grid=grid, goal=task.goal, shortest=way)
    return seen


def _footprint(box: Block, floor: float) -> Footprint:
    axes = _axes(box)
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    sides = signs * np.array(box.half_extents[:2])
    height, reach = box.center[2] - floor, float(np.abs(axes[2]) @ box.half_extents)
    corners = np.array(box.center[:2]) + sides @ axes[:2, :2].T
    return Footprint(corners, height - reach, height + reach)


def _axes(box: Block) -> Array:
    """Return the box's axes in the world, (3, 3), as columns."""
    x, y, z, w = box.quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _grid(traversable: TraversableMap) -> Grid:
    rows, columns = traversable.open.shape
    left, bottom = traversable.origin
    side = traversable.resolution
    return Grid(traversable.open, (left, left + columns * side, bottom, bottom + rows * side))
