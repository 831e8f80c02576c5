"""Angles that mean the same direction."""

from __future__ import annotations

import math


def wrapped(angle: float) -> float:
    """Return the angle in [-pi, pi) of the direction of ``angle``, rad."""
    return (angle + math.pi) % (2.0 * math.pi) - math.pi
