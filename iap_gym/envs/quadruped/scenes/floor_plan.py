"""Rooms, walls and doors of an apartment: a rectangle that is divided again and again."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iap_gym.envs.quadruped.scenes.rectangle import Rectangle

_ATTEMPTS = 200  # plans that are drawn before a size counts as too small for its rooms
_CORNER = 0.2  # m of wall that is left beside a door


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

    Every wall parts one room in two, and its door joins them again: all rooms are connected.

    Args:
        rng: source of randomness.
        size: of the apartment along x and y, m.
        num_rooms: how many.
        min_side: shortest side of a room, m.
        door_width: m.

    Raises:
        ValueError: so many rooms do not fit.
    """
    for _ in range(_ATTEMPTS):
        plan = _attempt(rng, size, num_rooms, min_side, door_width)
        if plan is not None:
            return plan
    raise ValueError(
        f"rooms: {num_rooms} rooms with sides of at least {min_side:g} m do not fit an apartment "
        f"of {size[0]:g} x {size[1]:g} m"
    )


def _attempt(
    rng: np.random.Generator,
    size: tuple[float, float],
    num_rooms: int,
    min_side: float,
    door_width: float,
) -> FloorPlan | None:
    half_x, half_y = size[0] / 2, size[1] / 2
    rooms = [Rectangle(-half_x, -half_y, half_x, half_y)]
    inner: list[Wall] = []
    while len(rooms) < num_rooms:
        largest = max(
            range(len(rooms)), key=lambda index: rooms[index].size[0] * rooms[index].size[1]
        )
        division = _divide(rng, rooms[largest], min_side)
        if division is None:
            return None
        wall, parts = division
        rooms[largest : largest + 1] = parts
        inner.append(wall)
    with_doors = [_with_door(rng, wall, inner, door_width) for wall in inner]
    walls = [wall for wall in with_doors if wall is not None]
    if len(walls) < len(inner):
        return None
    outer = (
        Wall(0, -half_y, -half_x, half_x),
        Wall(0, half_y, -half_x, half_x),
        Wall(1, -half_x, -half_y, half_y),
        Wall(1, half_x, -half_y, half_y),
    )
    return FloorPlan(tuple(rooms), outer + tuple(walls))


def _divide(
    rng: np.random.Generator, room: Rectangle, min_side: float
) -> tuple[Wall, tuple[Rectangle, Rectangle]] | None:
    """Divide a room across its longer side; None if it is too short."""
    across = 0 if room.size[0] >= room.size[1] else 1
    low, high = room[across] + min_side, room[across + 2] - min_side
    if low > high:
        return None
    at = float(rng.uniform(low, high))
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
