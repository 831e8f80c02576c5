"""A pinhole camera without distortion: where its pixels look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.raycast.geometry import LARGEST, Matrix, is_rotation

LARGEST_SIDE = 8192  # pixels of a picture's width or height
MESH, NOTHING, GROUND = -3, -2, -1  # ids


class Frame(NamedTuple):
    """What a camera of (H, W) pixels sees.

    Attributes:
        rgb: uint8 (H, W, 3).
        depth: float32 (H, W), m along the optical axis; ``far`` where nothing is hit.
        ids: int32 (H, W), the index of the box, -1 for the ground, -2 for nothing, -3 for a mesh.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    ids: NDArray[np.int32]


class Rays(NamedTuple):
    """The directions of pixels: ``forward + left[column] * left + up[row] * up``.

    They look through the middles of pixels and are 1 long along the optical axis, so that their
    multiples are depths.
    """

    left: NDArray[np.float64]  # (W,)
    up: NDArray[np.float64]  # (H,)
    half_width: float  # of the picture at a depth of 1
    half_height: float
    near: float
    far: float


@dataclass(frozen=True)
class Camera:
    """A picture's size, the angle it spans and the distances that are seen.

    Attributes:
        width: pixels, at most ``LARGEST_SIDE``.
        height: likewise.
        fov: vertical field of view, degrees in (0, 180).
        near: m along the optical axis, above 0; what is nearer is not seen.
        far: likewise; what is farther is not seen.

    Raises:
        ValueError: a number outside its range, or ``near`` not below ``far``.
    """

    width: int
    height: int
    fov: float
    near: float
    far: float

    def __post_init__(self) -> None:
        set_to = object.__setattr__
        set_to(self, "width", _checks.integer("width", self.width, 1, LARGEST_SIDE))
        set_to(self, "height", _checks.integer("height", self.height, 1, LARGEST_SIDE))
        fov = _checks.real("fov", self.fov, 0, exclusive=True)
        if fov >= 180:
            raise _checks.refuse("fov", "an angle below 180 degrees", self.fov)
        set_to(self, "fov", fov)
        set_to(self, "near", _checks.real("near", self.near, 0, exclusive=True))
        set_to(self, "far", _checks.real("far", self.far, 0, exclusive=True))
        if self.near >= self.far:
            raise _checks.refuse("near", f"less than far ({self.far:g})", self.near)

    @property
    def rays(self) -> Rays:
        """Where its pixels look."""
        half_height = math.tan(math.radians(self.fov) / 2)
        half_width = half_height * self.width / self.height
        return Rays(
            left=_across(self.width, half_width),
            up=_across(self.height, half_height),
            half_width=half_width,
            half_height=half_height,
            near=self.near,
            far=self.far,
        )


def _across(pixels: int, half: float) -> NDArray[np.float64]:
    """Return the middles of pixels from ``half`` to ``-half``."""
    return half * (1 - (2 * np.arange(pixels, dtype=np.float64) + 1) / pixels)


def as_pose(position: ArrayLike, rotation: ArrayLike) -> tuple[NDArray[np.float64], Matrix]:
    """Return a pose as contiguous float64 (3,) and (3, 3); of the numbers nothing is checked.

    Raises:
        ValueError: another shape, or what is no number.
    """
    return _floats("position", position, (3,)), _floats("rotation", rotation, (3, 3))


def _floats(name: str, value: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    numbers = _checks.array(name, value, shape, finite=False)
    return np.array(numbers, order="C")  # a copy can be written, as kernels expect


def pose_error(position: NDArray[np.float64], rotation: Matrix) -> ValueError:
    """Return what is wrong with the numbers of a pose."""
    if not _is_place(position):
        return _checks.refuse("position", f"finite numbers below {LARGEST:g}", position.tolist())
    wanted = "orthonormal columns forward, left, up"
    return _checks.refuse("rotation", wanted, rotation.tolist())


def checked_pose(position: Any, rotation: Any) -> tuple[NDArray[np.float64], Matrix]:
    """Return a pose as float64 (3,) and (3, 3) after all checks.

    Raises:
        ValueError: another shape, numbers that are not finite or too large, or columns that are not
            orthonormal and right-handed.
    """
    place, directions = as_pose(position, rotation)
    if not _is_place(place) or not is_rotation(directions):
        raise pose_error(place, directions)
    return place, directions


def _is_place(position: NDArray[np.float64]) -> bool:
    return bool((np.abs(position) <= LARGEST).all())
