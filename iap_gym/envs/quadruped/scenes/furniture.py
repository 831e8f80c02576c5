"""Furniture made of boxes, placed so that a robot can walk around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.textures import NUM_VARIANTS
from iap_gym.raycast import Box

CLEARANCE = 0.8  # m from doors and between pieces: a robot of 0.6 m passes
_ATTEMPTS = 8  # places that are tried for a piece before it is left out


class Part(NamedTuple):
    """A box of a piece that stands with its back to the wall, in the piece's own frame.

    Lengths are in m, from the middle of the back: x along the wall, y into the room, z up.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    kind: str  # of its texture


Design = Callable[[np.random.Generator], tuple[Part, ...]]


def _block(low: float, width: float, depth: float, height: float, kind: str) -> Part:
    return Part((-width / 2, 0.0, low), (width / 2, depth, height), kind)


def _bed(rng: np.random.Generator) -> tuple[Part, ...]:
    width, depth = float(rng.uniform(0.9, 1.5)), 2.0
    head = _block(0.0, width, 0.08, 0.9, "wood")
    mattress = Part((-width / 2, 0.08, 0.0), (width / 2, depth, 0.5), "fabric")
    return head, mattress


def _sofa(rng: np.random.Generator) -> tuple[Part, ...]:
    width, depth, arm = float(rng.uniform(1.4, 2.0)), 0.85, 0.18
    back = _block(0.0, width, 0.2, 0.8, "fabric")
    seat = Part((-width / 2 + arm, 0.2, 0.0), (width / 2 - arm, depth, 0.42), "fabric")
    arms = (
        Part((-width / 2, 0.2, 0.0), (-width / 2 + arm, depth, 0.6), "fabric"),
        Part((width / 2 - arm, 0.2, 0.0), (width / 2, depth, 0.6), "fabric"),
    )
    return back, seat, *arms


def _table(rng: np.random.Generator) -> tuple[Part, ...]:
    width, depth = float(rng.uniform(1.0, 1.5)), float(rng.uniform(0.6, 0.8))
    height, leg = 0.74, 0.06
    top = _block(height - 0.05, width, depth, height, "wood")
    legs = tuple(
        Part((x, y, 0.0), (x + leg, y + leg, height - 0.05), "wood")
        for x in (-width / 2, width / 2 - leg)
        for y in (0.0, depth - leg)
    )
    return top, *legs


def _cabinet(rng: np.random.Generator) -> tuple[Part, ...]:
    width, height = float(rng.uniform(0.6, 1.4)), float(rng.choice((0.8, 1.2, 1.9)))
    return (_block(0.0, width, float(rng.uniform(0.4, 0.55)), height, "wood"),)


def _bookshelf(rng: np.random.Generator) -> tuple[Part, ...]:
    return (_block(0.0, float(rng.uniform(0.8, 1.3)), 0.32, 1.98, "books"),)


def _armchair(rng: np.random.Generator) -> tuple[Part, ...]:
    width = float(rng.uniform(0.7, 0.85))
    back = _block(0.0, width, 0.2, 0.85, "fabric")
    seat = Part((-width / 2, 0.2, 0.0), (width / 2, 0.75, 0.42), "fabric")
    return back, seat


DESIGNS: dict[str, Design] = {
    "bed": _bed,
    "sofa": _sofa,
    "table": _table,
    "cabinet": _cabinet,
    "bookshelf": _bookshelf,
    "armchair": _armchair,
}


@dataclass(frozen=True)
class Piece:
    """A placed piece of furniture.

    Attributes:
        name: of its design.
        footprint: the floor below it, also where only a table's top is above.
        boxes: with textures named ``kind/variant``.
    """

    name: str
    footprint: Rectangle
    boxes: tuple[Box, ...]


def furnish(
    rng: np.random.Generator,
    room: Rectangle,
    doors: Sequence[Rectangle],
    num_pieces: int,
) -> tuple[Piece, ...]:
    """Place pieces against the walls of a room.

    Each stands with its back to a wall, at least ``CLEARANCE`` from every door, every other piece
    and the other walls, but for a wall beside it, which it may touch. So a robot can go around all
    of them. A piece that finds no such place is left out.

    Args:
        rng: source of randomness.
        room: between the faces of its walls.
        doors: openings of its walls.
        num_pieces: pieces that are tried.
    """
    pieces: list[Piece] = []
    for _ in range(num_pieces):
        name = str(rng.choice(list(DESIGNS)))
        parts = DESIGNS[name](rng)
        variants = {kind: int(rng.integers(NUM_VARIANTS)) for kind in ("wood", "fabric", "books")}
        width, depth = 2.0 * parts[0].high[0], max(part.high[1] for part in parts)
        taken = [*doors, *(piece.footprint for piece in pieces)]
        for _ in range(_ATTEMPTS):
            frame = _against_wall(room, int(rng.integers(4)), float(rng.random()), width, depth)
            if frame is None:
                continue
            footprint = frame.floor((-width / 2, 0.0), (width / 2, depth))
            if all(footprint.distance(other) >= CLEARANCE for other in taken):
                boxes = tuple(_box(frame, part, variants) for part in parts)
                pieces.append(Piece(name, footprint, boxes))
                break
    return tuple(pieces)


class _Frame(NamedTuple):
    """Where a piece stands: the middle of its back, and its x axis, along x or y of the room."""

    x: float
    y: float
    cosine: int
    sine: int

    def floor(self, low: tuple[float, ...], high: tuple[float, ...]) -> Rectangle:
        """Return the floor between two corners in the piece's frame."""
        (x0, y0), (x1, y1) = (
            (
                self.x + self.cosine * corner[0] - self.sine * corner[1],
                self.y + self.sine * corner[0] + self.cosine * corner[1],
            )
            for corner in (low, high)
        )
        return Rectangle(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def _against_wall(
    room: Rectangle, wall: int, along: float, width: float, depth: float
) -> _Frame | None:
    """Put a piece to a wall, 0 to 3 counter-clockwise from the lower; None if it does not fit."""
    length, room_depth = room.size if wall % 2 == 0 else room.size[::-1]
    if length - width < CLEARANCE or room_depth - depth < CLEARANCE:
        return None
    start = along * (length - width)
    if start < CLEARANCE:  # no gap that is too narrow to pass
        start = 0.0
    elif length - width - start < CLEARANCE:
        start = length - width
    cosine, sine = ((1, 0), (0, 1), (-1, 0), (0, -1))[wall]
    x = room.left if wall in (0, 3) else room.right
    y = room.bottom if wall in (0, 1) else room.top
    middle = start + width / 2
    return _Frame(x + middle * cosine, y + middle * sine, cosine, sine)


def _box(frame: _Frame, part: Part, variants: dict[str, int]) -> Box:
    floor = frame.floor(part.low, part.high)
    bottom, top = part.low[2], part.high[2]
    return Box(
        center=(*floor.center, (bottom + top) / 2),
        half_extents=(floor.size[0] / 2, floor.size[1] / 2, (top - bottom) / 2),
        texture=f"{part.kind}/{variants[part.kind]}",
    )
