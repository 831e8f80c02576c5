"""Boxes from above, as the surrogate feels them."""

from __future__ import annotations

import math
from typing import NamedTuple

from iap_gym.envs.quadruped.world import Block


class Rectangle(NamedTuple):
    """A box from above."""

    x: float
    y: float
    cosine: float  # of its yaw
    sine: float
    half_length: float
    half_width: float

    @classmethod
    def of(cls, block: Block) -> Rectangle:
        """Return a box as it is from above."""
        x, y, z, w = block.quaternion
        yaw = math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        half_length, half_width, _ = block.half_extents
        return cls(*block.center[:2], math.cos(yaw), math.sin(yaw), half_length, half_width)

    def distance(self, x: float, y: float) -> float:
        """Return how far a point is from it, m; 0 inside."""
        dx, dy = x - self.x, y - self.y
        along = abs(self.cosine * dx + self.sine * dy) - self.half_length
        across = abs(self.cosine * dy - self.sine * dx) - self.half_width
        return math.hypot(max(along, 0.0), max(across, 0.0))

    def offset(self, x: float, y: float) -> tuple[float, float]:
        """Return the way to a point from what of it is nearest, m; (0, 0) inside."""
        dx, dy = x - self.x, y - self.y
        along = self.cosine * dx + self.sine * dy
        across = self.cosine * dy - self.sine * dx
        along -= min(max(along, -self.half_length), self.half_length)
        across -= min(max(across, -self.half_width), self.half_width)
        return self.cosine * along - self.sine * across, self.sine * along + self.cosine * across

    def depth(self, x: float, y: float) -> float:
        """Return how far a point is inside of it, m; negative outside."""
        dx, dy = x - self.x, y - self.y
        along = self.half_length - abs(self.cosine * dx + self.sine * dy)
        return min(along, self.half_width - abs(self.cosine * dy - self.sine * dx))
