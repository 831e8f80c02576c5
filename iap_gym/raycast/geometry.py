"""Rotations. Their columns are directions in the world: of a camera forward, left and up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks

Matrix = NDArray[np.float64]

LARGEST = 1e9  # m, of any coordinate; products of larger ones might overflow
LARGEST_ERROR = 1e-4  # of an element of the product of a rotation and its transpose


def about_z(angle: float) -> Matrix:
    """Return the rotation (3, 3) by an angle about z, rad, from x to y."""
    cos, sin = math.cos(angle), math.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def rotation_from_yaw_pitch(yaw: float, pitch: float = 0.0, roll: float = 0.0) -> Matrix:
    """Return the rotation of a camera that first looked along x, with z up.

        R = R_z(yaw) R_y(pitch) R_x(roll)

    Args:
        yaw: to the left, rad.
        pitch: downwards, rad.
        roll: clockwise as the camera sees it, rad; the picture turns to the other side.

    Returns:
        float64 (3, 3): its columns are forward, left and up.

    Raises:
        ValueError: an angle that is not finite.
    """
    for name, angle in (("yaw", yaw), ("pitch", pitch), ("roll", roll)):
        _checks.real(name, angle)
    cos, sin = math.cos(pitch), math.sin(pitch)
    about_y = np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
    cos, sin = math.cos(roll), math.sin(roll)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
    return about_z(yaw) @ about_y @ about_x


def look_at(position: ArrayLike, target: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0)) -> Matrix:
    """Return the rotation of a camera that has a target in the middle of its picture.

    Args:
        position: (3,) of the camera.
        target: (3,).
        up: (3,), a direction that points up in the picture.

    Returns:
        float64 (3, 3): its columns are forward, left and up.

    Raises:
        ValueError: another shape, or numbers that are not finite or above 1e9; the target is where
            the camera is, or ``up`` is along the view.
    """
    eye, aim, upward = (
        as_point(name, value)
        for name, value in (("position", position), ("target", target), ("up", up))
    )
    forward = aim - eye
    distance = np.linalg.norm(forward)
    if distance == 0:
        raise _checks.refuse("target", f"a point other than the position {eye.tolist()}", target)
    forward /= distance
    left = np.cross(upward, forward)
    length = np.linalg.norm(left)
    if length <= 1e-9:
        raise _checks.refuse("up", f"a direction other than the view {forward.tolist()}", up)
    left /= length
    return np.stack([forward, left, np.cross(forward, left)], axis=1)


def as_point(name: str, value: Any) -> Matrix:
    """Return a point or a direction as float64 (3,).

    Raises:
        ValueError: another shape, or a number that is not finite or above ``LARGEST``.
    """
    point = _checks.array(name, value, (3,))
    if np.abs(point).max() > LARGEST:
        raise _checks.refuse(name, f"finite numbers of at most {LARGEST:g}", value)
    return point


def is_rotation(matrix: Matrix) -> bool:
    """Whether the columns of (3, 3) are orthonormal and right-handed, and finite."""
    if not (np.abs(matrix) <= 2).all():  # large numbers would overflow; NaN is not <= 2
        return False
    product = matrix.T @ matrix
    return bool(np.abs(product - np.eye(3)).max() <= LARGEST_ERROR and np.linalg.det(matrix) > 0)


def as_rotation(name: str, value: Any) -> Matrix:
    """Return a rotation as float64 (3, 3).

    Raises:
        ValueError: it is none.
    """
    try:
        matrix = _checks.array(name, value, (3, 3))
    except ValueError:
        raise _checks.refuse(name, "a rotation (3, 3)", value) from None
    if not is_rotation(matrix):
        raise _checks.refuse(name, "a rotation (3, 3)", value)
    return matrix
