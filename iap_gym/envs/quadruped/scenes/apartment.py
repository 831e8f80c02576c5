"""Procedural apartments: rooms, doors and furniture of boxes, drawn anew for each seed."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iap_gym import _checks
from iap_gym.envs.quadruped.scenes.floor_plan import FloorPlan, Wall, most_rooms, sample_floor_plan
from iap_gym.envs.quadruped.scenes.furniture import Piece, furnish
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.textures import NUM_VARIANTS, PALETTES, texture
from iap_gym.envs.quadruped.scenes.traversable import TraversableMap
from iap_gym.envs.quadruped.settings import misfit
from iap_gym.raycast import Box, Ground, Scene

ROBOT_HEIGHT = 0.6  # m; what hangs above it is in nobody's way
_NARROWEST_DOOR = 0.8  # m
_BESIDE = 0.6  # m of wall beside a door, at least
_LINTEL = 0.05  # m above a door, at least
_FLOORS = ("planks", "tiles")
_CEILING = (236, 234, 228)
_THIN = 0.02  # m, half of the ceiling's thickness


@dataclass(frozen=True)
class Apartment:
    """What apartments are like; ``sample`` draws one of them.

    Attributes:
        size: along x and y, m.
        rooms: how many, or the (fewest, most) between which the number is drawn.
        min_side: shortest side of a room, m.
        furniture: pieces that each square metre of floor is to have; not all find a place.
        door_width: m.
        door_height: from the floor to the lintel, m.
        wall_thickness: m.
        wall_height: m, where the ceiling is.
        textures: False for plain colours.

    Raises:
        ValueError: a number out of its range, or rooms that cannot fit.
    """

    size: tuple[float, float] = (9.0, 7.0)
    rooms: int | tuple[int, int] = (2, 6)
    min_side: float = 2.2
    furniture: float = 0.25
    door_width: float = 0.9
    door_height: float = 2.0
    wall_thickness: float = 0.1
    wall_height: float = 2.5
    textures: bool = True

    def __post_init__(self) -> None:
        _checks.instance("size", self.size, Sequence, "two lengths (x, y) in m")
        if len(self.size) != 2:
            raise _checks.refuse("size", "two lengths (x, y) in m", self.size)
        lengths = tuple(_checks.real(f"size[{i}]", self.size[i], 2.0, 50.0) for i in range(2))
        object.__setattr__(self, "size", lengths)
        few, many = _checks.pair("rooms", self.rooms)
        if few > many:
            raise _checks.refuse("rooms", "(fewest, most)", self.rooms)
        object.__setattr__(self, "rooms", (few, many))
        _checks.real("furniture", self.furniture, 0.0, 2.0)
        _checks.real("wall_thickness", self.wall_thickness, 0.02, 0.5)
        _checks.real("door_width", self.door_width, _NARROWEST_DOOR, 5.0)
        _checks.real("min_side", self.min_side, _NARROWEST_DOOR + _BESIDE, 50.0)
        if self.min_side < self.door_width + _BESIDE:
            limits = {
                "min_side": f"a number >= {self.door_width + _BESIDE:g}, door_width + {_BESIDE:g}",
                "door_width": f"a number <= {self.min_side - _BESIDE:g}, min_side - {_BESIDE:g}",
            }
            raise misfit(self, limits)
        _checks.real("door_height", self.door_height, ROBOT_HEIGHT, 10.0)
        _checks.real("wall_height", self.wall_height, ROBOT_HEIGHT + _LINTEL, 20.0)
        if self.wall_height < self.door_height + _LINTEL:
            low, high = self.door_height + _LINTEL, self.wall_height - _LINTEL
            limits = {
                "wall_height": f"a number >= {low:g}, door_height + {_LINTEL:g}",
                "door_height": f"a number <= {high:g}, wall_height - {_LINTEL:g}",
            }
            raise misfit(self, limits)
        _checks.boolean("textures", self.textures)
        fit = most_rooms((lengths[0], lengths[1]), self.min_side, self.door_width)
        if many > fit:
            limits = {
                "rooms": f"at most {fit}, which fit",
                "size": f"room for {many} squares of min_side, side by side",
                "min_side": f"a smaller number, so that {many} squares of it fit into size",
            }
            raise misfit(self, limits)

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any] | Apartment | None) -> Apartment:
        """Return the settings that a JSON value stands for; None for the defaults.

        Raises:
            ValueError: no dict, or a setting that is not there or does not fit.
        """
        if spec is None or isinstance(spec, Apartment):
            return spec or cls()
        _checks.instance("apartment", spec, Mapping, "a dict of settings, an Apartment or None")
        known = [field.name for field in dataclasses.fields(cls)]
        for setting in spec:
            _checks.one_of("apartment", setting, known)
        return cls(**spec)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, of JSON types; ``from_spec`` takes them back."""
        return dataclasses.asdict(self)

    def sample(self, rng: np.random.Generator) -> ApartmentLayout:
        """Draw the rooms, then the furniture, then the looks.

        Raises:
            ValueError: ``rng`` is no generator.
        """
        _checks.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
        few, many = self.rooms  # pyright: ignore[reportGeneralTypeIssues]
        plan = sample_floor_plan(
            rng,
            self.size,
            int(rng.integers(few, many + 1)),
            min_side=self.min_side,
            door_width=self.door_width,
        )
        doors = tuple(
            wall.strip(*_opening(wall, self.door_width), self.wall_thickness)
            for wall in plan.walls
            if wall.door is not None
        )
        pieces: list[Piece] = []
        for room in plan.rooms:
            inside = room.grown(-self.wall_thickness / 2)
            number = rng.poisson(self.furniture * inside.size[0] * inside.size[1])
            pieces.extend(furnish(rng, inside, doors, int(number)))
        floor = f"{rng.choice(_FLOORS)}/{rng.integers(NUM_VARIANTS)}"
        plaster = tuple(f"plaster/{rng.integers(NUM_VARIANTS)}" for _ in plan.walls)
        return ApartmentLayout(self, plan, doors, tuple(pieces), floor, plaster)


@dataclass(frozen=True)
class ApartmentLayout:
    """One apartment as it stands, its middle at (0, 0), its floor at z = 0.

    Attributes:
        apartment: the settings that it was drawn from.
        plan: rooms and walls.
        doors: the floor that each door's opening takes.
        furniture: pieces, room by room.
        floor: name of the floor's texture.
        plaster: name of each wall's texture.
    """

    apartment: Apartment
    plan: FloorPlan
    doors: tuple[Rectangle, ...]
    furniture: tuple[Piece, ...]
    floor: str
    plaster: tuple[str, ...]

    @property
    def rooms(self) -> tuple[Rectangle, ...]:
        """Floors of the rooms, between the middle lines of their walls."""
        return self.plan.rooms

    @functools.cached_property
    def boxes(self) -> tuple[Box, ...]:
        """Walls and lintels, then furniture: what physics, camera and map are made of."""
        walls = [
            box
            for wall, name in zip(self.plan.walls, self.plaster, strict=True)
            for box in self._wall_boxes(wall, name)
        ]
        return (*walls, *(box for piece in self.furniture for box in piece.boxes))

    def scene(self, *, ceiling: bool = True) -> Scene:
        """Return what the ray caster draws.

        Args:
            ceiling: False to look in from above.
        """
        boxes = self.boxes
        if ceiling:
            height = self.apartment.wall_height
            length, width = self.apartment.size
            extents = (length / 2, width / 2, _THIN)
            boxes += (Box((0.0, 0.0, height + _THIN), extents, texture=_CEILING),)
        if not self.apartment.textures:
            plain = [dataclasses.replace(box, texture=_color(box.texture)) for box in boxes]
            return Scene(tuple(plain), ground=Ground(0.0, _color(self.floor)))
        names = {self.floor, *(box.texture for box in boxes if isinstance(box.texture, str))}
        textures = {name: texture(*_kind_and_variant(name)) for name in sorted(names)}
        return Scene(boxes, ground=Ground(0.0, self.floor), textures=textures)  # pyright: ignore[reportArgumentType]

    def traversable(self, resolution: float = 0.05) -> TraversableMap:
        """Return where the robot can walk.

        Args:
            resolution: side of a cell, m.
        """
        blocked: list[Rectangle] = []
        for box in self.boxes:
            (x, y, z), (half_x, half_y, half_z) = box.center, box.half_extents
            if z - half_z < ROBOT_HEIGHT:
                blocked.append(Rectangle(x - half_x, y - half_y, x + half_x, y + half_y))
        return TraversableMap.from_rectangles(blocked, self._bounds, resolution)

    @property
    def _bounds(self) -> Rectangle:
        half_x, half_y = (length / 2 for length in self.apartment.size)
        return Rectangle(-half_x, -half_y, half_x, half_y)

    def _wall_boxes(self, wall: Wall, name: str) -> list[Box]:
        """Return a wall as one box, or as what is beside and above its door."""
        settings = self.apartment
        half = settings.wall_thickness / 2
        # Outer walls close the corners; inner ones end at the face of the wall they meet.
        ends = (
            (wall.start - half, wall.stop + half)
            if wall.door is None
            else (
                wall.start + half,
                wall.stop - half,
            )
        )
        if wall.door is None:
            spans = [(*ends, 0.0)]
        else:
            first, last = _opening(wall, settings.door_width)
            spans = [
                (ends[0], first, 0.0),
                (last, ends[1], 0.0),
                (first, last, settings.door_height),
            ]
        boxes: list[Box] = []
        for start, stop, bottom in spans:
            floor = wall.strip(start, stop, settings.wall_thickness)
            top = settings.wall_height
            boxes.append(
                Box(
                    center=(*floor.center, (bottom + top) / 2),
                    half_extents=(floor.size[0] / 2, floor.size[1] / 2, (top - bottom) / 2),
                    texture=name,
                )
            )
        return boxes


def _opening(wall: Wall, door_width: float) -> tuple[float, float]:
    assert wall.door is not None
    return wall.door - door_width / 2, wall.door + door_width / 2


def _kind_and_variant(name: str) -> tuple[str, int]:
    kind, variant = name.split("/")
    return kind, int(variant)


def _color(surface: Any) -> Any:
    """Return the plain colour of a texture's name; colours stay."""
    if not isinstance(surface, str):
        return surface
    kind, variant = _kind_and_variant(surface)
    return PALETTES[kind][variant]
