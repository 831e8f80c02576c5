"""What a camera sees: boxes, the ground, their textures and the light. Lengths are in metres."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.raycast.geometry import LARGEST, about_z, as_rotation

Pixels: TypeAlias = NDArray[np.uint8]
Color: TypeAlias = tuple[int, int, int]
Vector: TypeAlias = tuple[float, float, float]
Surface: TypeAlias = str | int | Color  # the name of a texture, or a color

GREY: Color = (160, 160, 160)


@dataclass(frozen=True, eq=False)
class Texture:
    """A picture that is repeated over a surface; its size there does not depend on the surface's.

    Attributes:
        pixels: uint8 (h, w, 3), the first row above.
        width: of the picture on the surface, m. Its height has the same scale.

    Raises:
        ValueError: pixels of another dtype or shape, or none; a width that is not positive.
    """

    pixels: Pixels
    width: float = 1.0

    def __post_init__(self) -> None:
        checked_picture("pixels", self.pixels)
        object.__setattr__(self, "width", _checks.real("width", self.width, 0, exclusive=True))

    @property
    def height(self) -> float:
        """Of the picture on the surface, m."""
        return self.width * self.pixels.shape[0] / self.pixels.shape[1]


@dataclass(frozen=True)
class Box:
    """A solid box.

    Attributes:
        center: (x, y, z) in the world, m.
        half_extents: half its lengths along its own axes, m.
        rotation: an angle about z, rad, or a matrix (3, 3) whose columns are its axes in the world.
        texture: the name of one of the scene's textures, or a color (r, g, b) of 0 to 255. A
            texture starts in the upper left corner of each face, as seen from outside (of the top
            and of the bottom: with the box's x to the right).

    Raises:
        ValueError: a number that is not finite, a half extent that is not positive, a matrix that
            is no rotation, a color outside 0 to 255.
    """

    center: Vector
    half_extents: Vector
    rotation: Any = 0.0
    texture: Surface = GREY

    def __post_init__(self) -> None:
        half_extents = vector("half_extents", self.half_extents, 0, exclusive=True)
        object.__setattr__(self, "center", vector("center", self.center))
        object.__setattr__(self, "half_extents", half_extents)
        rotation = self.rotation
        if isinstance(rotation, Real):
            rotation = _checks.real("rotation", rotation)
        elif isinstance(rotation, (np.ndarray, Sequence)):
            matrix = as_rotation("rotation", rotation)
            rotation = tuple(tuple(row) for row in matrix.tolist())
        else:
            raise _checks.refuse("rotation", "an angle, or a rotation (3, 3)", rotation)
        object.__setattr__(self, "rotation", rotation)
        object.__setattr__(self, "texture", surface("texture", self.texture))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Its axes in the world, the columns of (3, 3)."""
        if isinstance(self.rotation, float):
            return about_z(self.rotation)
        return np.array(self.rotation, np.float64)


@dataclass(frozen=True)
class Ground:
    """A horizontal plane without an end, seen from above.

    Attributes:
        height: z, m.
        texture: the name of one of the scene's textures, or a color (r, g, b) of 0 to 255. A
            texture has its lower left corner at x = y = 0, its right along x, its top along y.

    Raises:
        ValueError: a height that is not finite, a color outside 0 to 255.
    """

    height: float = 0.0
    texture: Surface = (120, 120, 120)

    def __post_init__(self) -> None:
        object.__setattr__(self, "height", _checks.real("height", self.height, -LARGEST, LARGEST))
        object.__setattr__(self, "texture", surface("texture", self.texture))


@dataclass(frozen=True, eq=False)
class Scene:
    """What is there to be seen.

    A surface with the unit normal n has its color times

        ambient + (1 - ambient) (1 + n·l) / 2

    for the unit vector l towards the light, so that faces of one box differ. No shadows are cast.

    Attributes:
        boxes: any number; of equal distances the first box is seen, and boxes before the ground.
        ground: or None.
        sky: color (r, g, b) where nothing is hit.
        textures: a :class:`Texture` for each name; pictures, uint8 (h, w, 3), become one of 1 m.
        light: direction towards the light, of any length.
        ambient: share of light that comes from everywhere, 0 to 1.

    Raises:
        ValueError: one of these is none of what is said, or a texture that is not there.
    """

    boxes: Sequence[Box] = ()
    ground: Ground | None = None
    sky: Color = (135, 170, 205)
    textures: Mapping[Any, Texture | Pixels] = field(default_factory=dict[Any, Texture | Pixels])
    light: Vector = (-0.45, 0.25, 0.85)
    ambient: float = 0.3

    def __post_init__(self) -> None:
        _checks.instance("boxes", self.boxes, Iterable, "a sequence of boxes")
        boxes = tuple(self.boxes)
        for index, box in enumerate(boxes):
            _checks.instance(f"boxes[{index}]", box, Box, "a Box")
        _checks.instance("textures", self.textures, Mapping, "a dict of textures")
        textures = {
            name: each if isinstance(each, Texture) else Texture(each)
            for name, each in self.textures.items()
        }
        for index, box in enumerate(boxes):
            _known(f"boxes[{index}].texture", box.texture, textures)
        if self.ground is not None:
            _checks.instance("ground", self.ground, Ground, "a Ground or None")
            _known("ground.texture", self.ground.texture, textures)
        light = vector("light", self.light)
        length = math.hypot(*light)
        if length == 0:
            raise _checks.refuse("light", "a direction", self.light)
        unit = tuple(each / length for each in light)
        for name, value in (
            ("boxes", boxes),
            ("sky", color("sky", self.sky)),
            ("textures", textures),
            ("light", unit),
            ("ambient", _checks.real("ambient", self.ambient, 0, 1)),
        ):
            object.__setattr__(self, name, value)

    def texture(self, name: str | int) -> Texture:
        """Return one of the textures."""
        texture = self.textures[name]
        assert isinstance(texture, Texture)
        return texture

    def brightness(self, normals: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what colors are multiplied by, (...), on surfaces with unit normals (..., 3)."""
        return self.ambient + (1 - self.ambient) * (1 + normals @ np.array(self.light)) / 2


def vector(name: str, value: Any, minimum: float = -LARGEST, *, exclusive: bool = False) -> Vector:
    """Return three finite numbers of at most ``LARGEST`` as a tuple.

    Raises:
        ValueError: something else came.
    """
    x, y, z = (
        _checks.real(f"{name}[{i}]", each, minimum, LARGEST, exclusive=exclusive)
        for i, each in enumerate(_three(name, "three numbers", value))
    )
    return x, y, z


def color(name: str, value: Any) -> Color:
    """Return a color (r, g, b).

    Raises:
        ValueError: not three integers of 0 to 255.
    """
    r, g, b = (
        _checks.integer(f"{name}[{i}]", each, 0, 255)
        for i, each in enumerate(_three(name, "a color (r, g, b)", value))
    )
    return r, g, b


def _three(name: str, wanted: str, value: Any) -> list[Any]:
    try:
        elements: list[Any] = [] if isinstance(value, str) else list(value)
    except TypeError:
        elements = []
    if len(elements) != 3:
        raise _checks.refuse(name, wanted, value)
    return elements


def surface(name: str, value: Any) -> Surface:
    """Return the name of a texture, or a color.

    Raises:
        ValueError: neither came.
    """
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return value
    if not isinstance(value, (Sequence, np.ndarray)):
        raise _checks.refuse(name, "the name of a texture or a color (r, g, b)", value)
    return color(name, value)


def checked_picture(name: str, value: Any) -> Pixels:
    """Return a picture.

    Raises:
        ValueError: not uint8 (h, w, 3) with pixels.
    """
    wanted = "uint8 (h, w, 3) with at least one pixel"
    if not isinstance(value, np.ndarray):
        raise _checks.refuse(name, wanted, value)
    picture = cast("NDArray[Any]", value)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3 or not picture.size:
        raise _checks.refuse(name, wanted, _checks.Words(f"{picture.dtype} {picture.shape}"))
    return picture


def _known(name: str, texture: Surface, textures: Mapping[str | int, Texture]) -> None:
    if not isinstance(texture, tuple) and texture not in textures:
        raise _checks.refuse(name, f"a color or one of the textures {list(textures)}", texture)
