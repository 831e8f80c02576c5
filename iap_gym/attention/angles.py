"""The angle between two vectors, as accurate near 0 and pi as in between."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def angle_fraction(x: Tensor, y: Tensor) -> Tensor:
    r"""Return :math:`p = \theta/\pi` for the angle between x (..., d) and y (..., d).

    It is exactly 0 for a vector and itself and 1 for its opposite. A vector of zeros has no angle;
    as :math:`\mathrm{sgn}(0) = 1`, sign features behave as at 1/2 beside any other vector and as
    at 0 beside a second one of zeros, and these are the values returned.

    Returns:
        (...) numbers in [0, 1], with the dtype of x.
    """
    u, v = _direction(x), _direction(y)
    # Twice the arc tangent of chord over chord: an arc cosine loses half of the digits at its ends.
    return torch.atan2(length(u - v), length(u + v)) * (2 / math.pi)


def length(x: Tensor) -> Tensor:
    """Return the Euclidean lengths of x (..., d): (...)."""
    return x.square().sum(-1).sqrt()


def _direction(x: Tensor) -> Tensor:
    """Return x / |x|, and 0 where x is 0; squares of small numbers must not vanish."""
    largest = x.abs().amax(-1, keepdim=True)
    scaled = x / torch.where(largest > 0, largest, 1.0)
    return scaled / length(scaled).clamp(min=1)[..., None]
