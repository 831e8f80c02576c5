"""Rectangles along the axes of the floor."""

from __future__ import annotations

import math
from typing import NamedTuple


class Rectangle(NamedTuple):
    """Corners of a rectangle whose sides are along x and y, m."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def center(self) -> tuple[float, float]:
        """The middle (x, y), m."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    @property
    def size(self) -> tuple[float, float]:
        """Extents along x and y, m."""
        return self.right - self.left, self.top - self.bottom

    def grown(self, margin: float) -> Rectangle:
        """Return the rectangle moved outward by a margin on all sides."""
        return Rectangle(
            self.left - margin, self.bottom - margin, self.right + margin, self.top + margin
        )

    def distance(self, other: Rectangle) -> float:
        """Return the shortest distance between two rectangles, m; 0 where they touch."""
        dx = max(other.left - self.right, self.left - other.right, 0.0)
        dy = max(other.bottom - self.top, self.bottom - other.top, 0.0)
        return math.hypot(dx, dy)

    def contains(self, x: float, y: float) -> bool:
        """Return whether a point lies inside or on the edge."""
        return self.left <= x <= self.right and self.bottom <= y <= self.top
