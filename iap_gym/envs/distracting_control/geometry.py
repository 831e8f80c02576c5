"""Spherical coordinates and rotations of a camera; arrays of shape (3,) and (3, 3), float64.

A rotation's columns are the camera's right, up and backward axes in the world: MuJoCo's
``cam_xmat``. It looks along minus the third column.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs._angles import wrapped

Array = NDArray[np.float64]
_TINY = 1e-9


def to_spherical(position: Array) -> Array:
    r"""Return $(r, \varphi, \vartheta)$: radius, azimuth in $(-\pi, \pi]$, polar in $[0, \pi]$.

    .. math:: r = |p|, \quad \varphi = \mathrm{atan2}(y, x), \quad
        \vartheta = \mathrm{atan2}(\sqrt{x^2 + y^2}, z)
    """
    x, y, z = position
    return np.array([math.hypot(x, y, z), math.atan2(y, x), math.atan2(math.hypot(x, y), z)])


def to_cartesian(spherical: Array) -> Array:
    r"""Return $r\,(\sin\vartheta\cos\varphi,\ \sin\vartheta\sin\varphi,\ \cos\vartheta)$."""
    radius, azimuth, polar = spherical
    return radius * np.array(
        [
            math.sin(polar) * math.cos(azimuth),
            math.sin(polar) * math.sin(azimuth),
            math.cos(polar),
        ]
    )


def nearest(spherical: Array, reference: Array) -> Array:
    """Return the same point with the angles that lie nearest to those of ``reference``.

    Every point has the names (azimuth + 2 pi k, polar) and (azimuth + pi + 2 pi k, -polar). A walk
    over the pole, or over the seam of the azimuth, must not jump from one to the other: it would
    be clipped as if it had left its range.
    """
    radius, azimuth, polar = spherical
    names = [
        np.array([radius, reference[1] + wrapped(turned - reference[1]), signed])
        for turned, signed in ((azimuth, polar), (azimuth + math.pi, -polar))
    ]
    return min(names, key=lambda name: float(np.abs(name - reference).sum()))


def look_upright(direction: Array) -> Array:
    """Return the rotation that looks along ``direction``, not vertical, with a level horizon."""
    back = -direction / np.linalg.norm(direction)
    right = np.cross(np.array([0.0, 0.0, 1.0]), back)
    right /= np.linalg.norm(right)
    return np.column_stack([right, np.cross(back, right), back])


def rotation_between(start: Array, end: Array) -> Array:
    """Return the smallest rotation that turns the direction ``start`` into ``end``."""
    a, b = start / np.linalg.norm(start), end / np.linalg.norm(end)
    axis = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ b)
    if sine < _TINY:
        if cosine > 0:
            return np.eye(3)
        # Any axis across will do; the smallest entry of ``a`` is far from parallel to it.
        across = np.zeros(3)
        across[np.argmin(np.abs(a))] = 1.0
        axis = np.cross(a, across)
        sine, cosine = 0.0, -1.0
    return rotation_about(axis, math.atan2(sine, cosine))


def rotation_about(axis: Array, angle: float) -> Array:
    r"""Return Rodrigues' rotation by ``angle`` about ``axis``.

    .. math:: R = I + \sin\alpha\,K + (1 - \cos\alpha)\,K^2, \quad K v = \hat a \times v
    """
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * k + (1.0 - math.cos(angle)) * (k @ k)
