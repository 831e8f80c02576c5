"""What stands around the robot: static boxes, a ground plane, a mesh."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from iap_gym import _checks

Vector = tuple[float, float, float]

UP_AXES = ("z", "y")
# iGibson's: the floors of scans are bumpy, a plane just above them is what the robot walks on.
FLOOR_CLEARANCE = 0.02


@dataclass(frozen=True)
class Block:
    """A static box.

    Attributes:
        center: m, world.
        half_extents: m, each positive, along the box's own axes.
        quaternion: (x, y, z, w) from the box's axes to the world's.
    """

    center: Vector
    half_extents: Vector
    quaternion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)

    @classmethod
    def of(cls, name: str, box: Any) -> Block:
        """Take a block, or anything with ``center``, ``half_extents`` and, if turned, ``rotation``.

        Args:
            name: of the argument, for errors.
            box: its ``rotation`` is None, a yaw in rad, or a rotation matrix (3, 3).

        Raises:
            ValueError: a part is absent, misshapen, not finite, or a half extent not positive.
        """
        if isinstance(box, Block):
            quaternion = box.quaternion
        elif hasattr(box, "center") and hasattr(box, "half_extents"):
            quaternion = _quaternion(f"{name}.rotation", getattr(box, "rotation", None))
        else:
            raise _checks.refuse(name, "a box with center and half_extents", box)
        extents = vector(f"{name}.half_extents", box.half_extents)
        if min(extents) <= 0.0:
            raise _checks.refuse(f"{name}.half_extents", "positive lengths", extents)
        return cls(vector(f"{name}.center", box.center), extents, quaternion)


@dataclass(frozen=True)
class World:
    """Everything that the robot can touch; nothing in it moves.

    Two worlds that are equal are the same to the simulation, which may keep what it has built.

    Attributes:
        boxes: blocks, or boxes of the ray caster; kept as blocks.
        ground_height: z of an infinite ground plane, m; None for no ground.
        mesh: path of a triangle mesh (.obj, or another form that PyBullet reads), taken as it is:
            concave. The ground plane, if there is one, then lies 0.02 m above ``ground_height``,
            since floors of scans are bumpy (as iGibson does). PyBullet keeps what it has read of
            a file as long as the process runs.
        mesh_up: axis of the file that points up, "z" or "y".
        mesh_scale: factor from the file's lengths to metres.
        mesh_position: m, where the file's origin lies.
    """

    boxes: Sequence[Any] = ()
    ground_height: float | None = 0.0
    mesh: str | os.PathLike[str] | None = None
    mesh_up: str = "z"
    mesh_scale: float = 1.0
    mesh_position: Vector = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        """Check and normalise the fields.

        Raises:
            ValueError: a field is not what it should be.
            FileNotFoundError: there is no file ``mesh``.
        """
        if not isinstance(self.boxes, Sequence):
            raise _checks.refuse("boxes", "a sequence of boxes", self.boxes)
        blocks = tuple(Block.of(f"boxes[{i}]", box) for i, box in enumerate(self.boxes))
        object.__setattr__(self, "boxes", blocks)
        if self.ground_height is not None:
            height = _checks.real("ground_height", self.ground_height)
            object.__setattr__(self, "ground_height", height)
        if self.mesh is not None:
            object.__setattr__(self, "mesh", os.fspath(self.mesh))
            if not Path(self.mesh).is_file():
                raise FileNotFoundError(f"mesh: there is no file {self.mesh}")
        _checks.one_of("mesh_up", self.mesh_up, UP_AXES)
        scale = _checks.real("mesh_scale", self.mesh_scale, 0.0, exclusive=True)
        object.__setattr__(self, "mesh_scale", scale)
        object.__setattr__(self, "mesh_position", vector("mesh_position", self.mesh_position))

    @property
    def plane_height(self) -> float | None:
        """Z of the plane that the robot can stand on, m, or None."""
        if self.ground_height is None or self.mesh is None:
            return self.ground_height
        return self.ground_height + FLOOR_CLEARANCE


def vector(name: str, value: Any) -> Vector:
    """Return three finite numbers as a tuple of floats.

    Raises:
        ValueError: something else.
    """
    numbers = _checks.array(name, value, (3,))
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _quaternion(name: str, rotation: Any) -> tuple[float, float, float, float]:
    if rotation is None:
        return 0.0, 0.0, 0.0, 1.0
    if np.ndim(rotation) == 0:
        half = 0.5 * _checks.real(name, rotation)
        return 0.0, 0.0, float(np.sin(half)), float(np.cos(half))
    matrix = _checks.array(name, rotation, (3, 3))
    if not np.allclose(matrix @ matrix.T, np.eye(3), atol=1e-4) or np.linalg.det(matrix) < 0.0:
        raise _checks.refuse(name, "a rotation matrix", rotation)
    # The eigenvector of the largest eigenvalue has no special cases (Bar-Itzhack, 2000).
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix
    symmetric = np.array(
        [
            [xx - yy - zz, 0.0, 0.0, 0.0],
            [yx + xy, yy - xx - zz, 0.0, 0.0],
            [zx + xz, zy + yz, zz - xx - yy, 0.0],
            [zy - yz, xz - zx, yx - xy, xx + yy + zz],
        ]
    )
    x, y, z, w = (float(number) for number in np.linalg.eigh(symmetric, "L")[1][:, -1])
    return x, y, z, w
