"""Rooms, walls and doors of an apartment: a rectangle that is divided again and again."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iap_gym.envs.quadruped.scenes.rectangle import Rectangle

_ATTEMPTS = 200  # divisions that are drawn freely; of a size that just fits almost all fail
_CORNER = 0.2  # m of wall that is left beside a door
_ROUNDING = 1e-6  # of a room's shortest side


class Wall(NamedTuple):
    """A straight wall, by its middle line."""

    along: int  # 0: it runs along x, 1: along y
    at: float  # the coordinate across, m
    start: float  # the coordinates along, m
    stop: float
    door: float | None = None  # the middle of its door, along, m

    def strip(self, start: float, stop: float, thickness: float) -> Rectangle:
        """Return the floor that a stretch of the wall takes."""
        low, high = self.at - thickness / 2, self.at + thickness / 2
        if self.along == 0:
            return Rectangle(start, low, stop, high)
        return Rectangle(low, start, high, stop)


Division = tuple[list[Rectangle], list[Wall]]  # rooms, and the walls between them, without doors


@dataclass(frozen=True)
class FloorPlan:
    """Where rooms and walls are; the apartment's middle is (0, 0).

    Attributes:
        rooms: between the middle lines of their walls.
        walls: the four outer ones, then one with a door for each division.
    """

    rooms: tuple[Rectangle, ...]
    walls: tuple[Wall, ...]


def sample_floor_plan(
    rng: np.random.Generator,
    size: tuple[float, float],
    num_rooms: int,
    *,
    min_side: float,
    door_width: float,
) -> FloorPlan:
    """Divide a rectangle into rooms by walls, each with one door (binary space partition).

    Every wall parts one room in two, and its door joins them again: all rooms are connected. The
    largest room is parted next, anywhere; where no such division is found, walls leave as much room
    on each side as what is still to be parted there needs.

    Args:
        rng: source of randomness.
        size: of the apartment along x and y, m.
        num_rooms: how many.
        min_side: shortest side of a room, m.
        door_width: m.

    Raises:
        ValueError: so many rooms do not fit.
    """
    if num_rooms <= most_rooms(size, min_side, door_width):
        whole = Rectangle(-size[0] / 2, -size[1] / 2, size[0] / 2, size[1] / 2)
        for _ in range(_ATTEMPTS):
            division = _drawn_freely(rng, whole, num_rooms, min_side)
            plan = None if division is None else _plan(rng, whole, *division, door_width)
            if plan is not None:
                return plan
        division = _drawn_to_fit(rng, whole, num_rooms, min_side)
        plan = _plan(rng, whole, *division, door_width)
        if plan is not None:
            return plan
    raise ValueError(
        f"rooms: {num_rooms} rooms with sides of at least {min_side:g} m do not fit an apartment "
        f"of {size[0]:g} x {size[1]:g} m"
    )


def most_rooms(size: tuple[float, float], min_side: float, door_width: float) -> int:
    """Return how many rooms a rectangle can be divided into; see ``sample_floor_plan``.

    A rectangle whose shorter side is below ``min_side`` is divided along its longer side alone.
    """
    if min(size) <= door_width + 2 * _CORNER:  # no wall with a door
        return 1
    return _side_by_side(size[0], min_side) * _side_by_side(size[1], min_side)


def _side_by_side(length: float, min_side: float) -> int:
    return max(1, math.floor(length / min_side + _ROUNDING))


def _drawn_freely(
    rng: np.random.Generator, whole: Rectangle, num_rooms: int, min_side: float
) -> Division | None:
    """Divide the largest room again and again; None if it is too short before they are enough."""
    rooms = [whole]
    inner: list[Wall] = []
    while len(rooms) < num_rooms:
        largest = max(
            range(len(rooms)), key=lambda index: rooms[index].size[0] * rooms[index].size[1]
        )
        across = _longer_side(rooms[largest])
        low, high = rooms[largest][across] + min_side, rooms[largest][across + 2] - min_side
        if low > high:
            return None
        wall, parts = _divide(rooms[largest], float(rng.uniform(low, high)))
        rooms[largest : largest + 1] = parts
        inner.append(wall)
    return rooms, inner


def _drawn_to_fit(
    rng: np.random.Generator, room: Rectangle, num_rooms: int, min_side: float
) -> Division:
    """Divide a room into as many as fit at most, each part into as many as fit in it."""
    if num_rooms == 1:
        return [room], []
    across = _longer_side(room)
    columns = _side_by_side(room.size[across], min_side)
    rows = _side_by_side(room.size[1 - across], min_side)
    before = int(rng.integers(1, columns))  # so many columns are left before the wall, at least
    behind = columns - before
    few, many = max(1, num_rooms - behind * rows), min(num_rooms - 1, before * rows)
    first = int(rng.integers(few, many + 1))
    low, high = room[across] + before * min_side, room[across + 2] - behind * min_side
    wall, parts = _divide(room, float(rng.uniform(low, max(low, high))))
    rooms, inner = _drawn_to_fit(rng, parts[0], first, min_side)
    more_rooms, more_inner = _drawn_to_fit(rng, parts[1], num_rooms - first, min_side)
    return rooms + more_rooms, [wall, *inner, *more_inner]


def _plan(
    rng: np.random.Generator,
    whole: Rectangle,
    rooms: list[Rectangle],
    inner: list[Wall],
    door_width: float,
) -> FloorPlan | None:
    """Place the doors; None if there is no room for one."""
    with_doors = [_with_door(rng, wall, inner, door_width) for wall in inner]
    walls = [wall for wall in with_doors if wall is not None]
    if len(walls) < len(inner):
        return None
    outer = (
        Wall(0, whole.bottom, whole.left, whole.right),
        Wall(0, whole.top, whole.left, whole.right),
        Wall(1, whole.left, whole.bottom, whole.top),
        Wall(1, whole.right, whole.bottom, whole.top),
    )
    return FloorPlan(tuple(rooms), outer + tuple(walls))


def _longer_side(room: Rectangle) -> int:
    """Return 0 for x, 1 for y."""
    return 0 if room.size[0] >= room.size[1] else 1


def _divide(room: Rectangle, at: float) -> tuple[Wall, tuple[Rectangle, Rectangle]]:
    """Divide a room at a coordinate of its longer side."""
    across = _longer_side(room)
    start, stop = room[1 - across], room[3 - across]
    if across == 0:
        parts = room._replace(right=at), room._replace(left=at)
    else:
        parts = room._replace(top=at), room._replace(bottom=at)
    return Wall(1 - across, at, start, stop), parts


def _with_door(
    rng: np.random.Generator, wall: Wall, inner: list[Wall], door_width: float
) -> Wall | None:
    """Place the door between the walls that end on this one; None if there is no room."""
    ends = [
        other.at
        for other in inner
        if other.along != wall.along
        and wall.at in (other.start, other.stop)
        and wall.start < other.at < wall.stop
    ]
    marks = [wall.start, *sorted(ends), wall.stop]
    reach = door_width / 2 + _CORNER
    spans = [
        (low + reach, high - reach)
        for low, high in itertools.pairwise(marks)
        if high - low > 2 * reach
    ]
    if not spans:
        return None
    lengths = np.array([high - low for low, high in spans])
    low, high = spans[rng.choice(len(spans), p=lengths / lengths.sum())]
    return wall._replace(door=float(rng.uniform(low, high)))
