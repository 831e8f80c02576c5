"""A picture that shapes of the plane are painted on, with smooth edges, by NumPy alone."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Lengths = NDArray[np.floating[Any]]  # in pixels
Color = tuple[int, int, int]
Point = tuple[float, float]

SMALLEST = 1.6  # pixels: no half size of a shape is drawn smaller
THINNEST = 1.0  # pixels: nor is a line


class Canvas:
    """A picture (height, width) that shows all of a rectangle of the world, y up.

    A pixel takes as much of a shape's color as its middle lies inside of it: all from half a pixel
    inside the edge on, none from half a pixel outside.

    Attributes:
        pixels: uint8 (height, width, 3).

    Args:
        size: (height, width), pixels.
        low: lower left corner of the rectangle.
        high: upper right corner.
        color: of everything, at first.
    """

    def __init__(self, size: tuple[int, int], low: Point, high: Point, color: Color) -> None:
        height, width = size
        self._scale = min(width / (high[0] - low[0]), height / (high[1] - low[1]))
        self._left = width / 2 - self._scale * (low[0] + high[0]) / 2
        self._bottom = height / 2 + self._scale * (low[1] + high[1]) / 2
        self.pixels: Pixels = np.empty((height, width, 3), np.uint8)
        self.pixels[:] = color

    def copy(self) -> Self:
        """Return a canvas with the same picture, to paint on apart."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.pixels = self.pixels.copy()
        return other

    def shows(self, length: float) -> bool:
        """Whether a shape of that half size is large enough to be drawn true to scale."""
        return self._scale * length >= SMALLEST / 2

    def disc(
        self, middle: Point, radius: float, color: Color, opacity: float = 1.0, line: float = 0.0
    ) -> None:
        """Paint a disc, or with ``line``, a width in the world, its edge."""
        size = self._half(radius)
        x, y = self._to_pixels(middle)
        part, dx, dy = self._around(x, y, size + self._width(line), size + self._width(line))
        self._paint(part, self._edge(np.hypot(dx, dy) - size, line), color, opacity)

    def box(
        self, middle: Point, half: Point, color: Color, opacity: float = 1.0, line: float = 0.0
    ) -> None:
        """Paint a box of half its width and height, or with ``line`` its edge."""
        across, up = self._half(half[0]), self._half(half[1])
        x, y = self._to_pixels(middle)
        margin = self._width(line)
        part, dx, dy = self._around(x, y, across + margin, up + margin)
        outside = np.maximum(np.abs(dx) - across, np.abs(dy) - up)
        self._paint(part, self._edge(outside, line), color, opacity)

    def segment(
        self, start: Point, end: Point, line: float, color: Color, opacity: float = 1.0
    ) -> None:
        """Paint a straight line of width ``line`` with round ends."""
        (x0, y0), (x1, y1) = self._to_pixels(start), self._to_pixels(end)
        half = self._width(line) / 2
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        part, dx, dy = self._around(x, y, abs(x1 - x0) / 2 + half, abs(y1 - y0) / 2 + half)
        u, v = (x1 - x0) / 2, (y1 - y0) / 2
        square = u * u + v * v
        along = np.clip((dx * u + dy * v) / square, -1.0, 1.0) if square > 0 else 0.0
        distance = np.hypot(dx - along * u, dy - along * v) - half
        self._paint(part, distance, color, opacity)

    def _to_pixels(self, point: Point) -> Point:
        return self._left + self._scale * point[0], self._bottom - self._scale * point[1]

    def _half(self, length: float) -> float:
        return max(self._scale * length, SMALLEST)

    def _width(self, line: float) -> float:
        return max(self._scale * line, THINNEST)

    def _edge(self, outside: Lengths, line: float) -> Lengths:
        return np.abs(outside) - self._width(line) / 2 if line else outside

    def _around(
        self, x: float, y: float, across: float, up: float
    ) -> tuple[Pixels, Lengths, Lengths]:
        """Return the pixels within reach of (x, y), and how far right and down each lies of it."""
        height, width, _ = self.pixels.shape
        left, right = (math.floor(x + side * (across + 1)) for side in (-1, 1))
        top, bottom = (math.floor(y + side * (up + 1)) for side in (-1, 1))
        columns = np.arange(max(left, 0), min(right + 1, width), dtype=np.float32)
        rows = np.arange(max(top, 0), min(bottom + 1, height), dtype=np.float32)
        part = self.pixels[max(top, 0) : bottom + 1, max(left, 0) : right + 1]
        if not (len(rows) and len(columns)):
            part = self.pixels[:0, :0]
        return part, columns[None] + np.float32(0.5 - x), rows[:, None] + np.float32(0.5 - y)

    @staticmethod
    def _paint(part: Pixels, outside: Lengths, color: Color, opacity: float) -> None:
        """Paint where ``outside``, the distance from the shape in pixels, is below 1/2."""
        share = np.minimum(np.maximum(0.5 - outside, 0.0), 1.0)[..., None] * np.float32(opacity)
        if share.size:
            part[:] = part + share * (np.array(color, np.float32) - part) + np.float32(0.5)
