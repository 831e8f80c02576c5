"""Strips of gates and latent state over time, drawn by array operations: fast enough a frame.

Letters: n_L layers, H numbers of a layer, R = n_L·H.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Picture = NDArray[np.uint8]  # (height, width, 3)

STEPS = 100  # shown at a time
STEP_WIDTH = 6  # pixels at least
LAYERS_HEIGHT = 128  # pixels of all layers together, if a number gets 1 to 16 of them
MOST_ROWS = 256  # of all layers together; more are pooled
TITLE_HEIGHT, AXIS_HEIGHT, MARGIN, LAYER_GAP = 24, 24, 8, 4
BACKGROUND, FOREGROUND, FAINT = (24, 24, 28), (235, 235, 235), (150, 150, 158)
UNUSED = (40, 40, 46)  # before the episode began
BETWEEN = (78, 78, 88)  # layers
# Value: colour. Magnitude is luminance, so that both scales read in gray too; most of the states
# are small, and get the steeper part.
GATE_SCALE = {0.0: (12, 12, 16), 1.0: (255, 214, 64)}
STATE_SCALE = {
    -1.0: (175, 220, 255),
    -0.35: (45, 115, 235),
    0.0: (16, 16, 20),
    0.35: (225, 60, 50),
    1.0: (255, 205, 165),
}


@dataclass(frozen=True)
class Strip:
    """One quantity that is drawn, a row for each of its numbers.

    Raises:
        ValueError: its numbers cannot be divided among the layers.
    """

    title: str
    rows: int
    """R; the numbers of the first layer come first."""
    num_layers: int = 1
    gates: bool = False
    """Whether the numbers are gates, in [0, 1], or a state, in [-1, 1]."""

    def __post_init__(self) -> None:
        if self.rows < 1 or self.rows % self.num_layers:
            raise ValueError(f"rows: expected a multiple of {self.num_layers}, got {self.rows}")

    def colors(self, values: NDArray[np.floating]) -> Picture:
        """Colour numbers (...), those out of range as the nearest end, uint8 (..., 3)."""
        scale = GATE_SCALE if self.gates else STATE_SCALE
        stops = np.array(list(scale.values()), float)
        channels = [np.interp(values, list(scale), channel) for channel in stops.T]
        return np.rint(np.stack(channels, axis=-1)).astype(np.uint8)

    def layers(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Split numbers (R,) into layers, pooled so that at most ``MOST_ROWS`` are left.

        Of neighbours that are pooled the one of largest magnitude is left: no open gate is lost.

        Returns:
            (n_L, rows left of a layer).
        """
        layers = values.reshape(self.num_layers, -1)
        size = -(-self.rows // MOST_ROWS)
        padded = np.pad(layers, [(0, 0), (0, -layers.shape[1] % size)])
        blocks = padded.reshape(self.num_layers, -1, size)
        largest = np.abs(blocks).argmax(axis=2)[..., None]
        return np.take_along_axis(blocks, largest, axis=2)[..., 0]


class StripChart:
    """The last ``STEPS`` steps of some quantities, the present one at the right edge.

    Args:
        strips: what is drawn, from top to bottom.
        width: in pixels, of what the chart is to lie under; it may be wider itself.
    """

    def __init__(self, strips: Sequence[Strip], width: int = 0) -> None:
        self._strips = tuple(strips)
        self._step_width = max(STEP_WIDTH, (width - 2 * MARGIN) // STEPS)
        self._colors: list[Picture] = []  # (n_L, rows, STEPS, 3) a strip
        self._tops: list[int] = []
        height = 0
        for strip in self._strips:
            shape = strip.layers(np.zeros(strip.rows)).shape
            self._colors.append(np.full((*shape, STEPS, 3), UNUSED, np.uint8))
            height += TITLE_HEIGHT
            self._tops.append(height)
            height += self._strip_height(shape)
        self.width = STEPS * self._step_width + 2 * MARGIN
        self.height = height + AXIS_HEIGHT
        self._frame = self._draw_frame(height)

    def append(self, columns: Sequence[NDArray[np.floating]]) -> None:
        """Add a step.

        Args:
            columns: for each strip its numbers (R,).
        """
        for strip, colors, values in zip(self._strips, self._colors, columns, strict=True):
            colors[:, :, :-1] = colors[:, :, 1:]
            colors[:, :, -1] = strip.colors(strip.layers(values))

    def draw(self) -> Picture:
        """Return the picture, uint8 (``height``, ``width``, 3)."""
        picture = self._frame.copy()
        for colors, top in zip(self._colors, self._tops, strict=True):
            size = self._row_height(colors.shape)
            for layer in colors:
                pixels = layer.repeat(size, axis=0).repeat(self._step_width, axis=1)
                picture[top : top + len(pixels), MARGIN : self.width - MARGIN] = pixels
                top += len(pixels) + LAYER_GAP
        return picture

    @staticmethod
    def _row_height(shape: tuple[int, ...]) -> int:
        return int(np.clip(LAYERS_HEIGHT // (shape[0] * shape[1]), 1, 16))

    def _strip_height(self, shape: tuple[int, ...]) -> int:
        return shape[0] * shape[1] * self._row_height(shape) + (shape[0] - 1) * LAYER_GAP

    def _draw_frame(self, axis: int) -> Picture:
        """Draw what stays: titles, scales and the axis of time, whose height is given."""
        canvas = Image.new("RGB", (self.width, self.height), BACKGROUND)
        draw = ImageDraw.Draw(canvas)
        font, small = ImageFont.load_default(size=14), ImageFont.load_default(size=12)
        for strip, colors, top in zip(self._strips, self._colors, self._tops, strict=True):
            bottom = top + self._strip_height(colors.shape) - 1
            draw.rectangle((MARGIN, top, self.width - MARGIN - 1, bottom), fill=BETWEEN)
            line = top - TITLE_HEIGHT // 2
            draw.text((MARGIN, line), strip.title, fill=FOREGROUND, font=font, anchor="lm")
            scale = np.linspace(0.0 if strip.gates else -1.0, 1.0, 64)
            bar = np.broadcast_to(strip.colors(scale), (10, 64, 3))
            low, high = ("closed", "open") if strip.gates else ("-1", "1")
            right = self.width - MARGIN
            draw.text((right, line), high, fill=FAINT, font=small, anchor="rm")
            right -= round(draw.textlength(high, font=small)) + 6 + bar.shape[1]
            canvas.paste(Image.fromarray(np.ascontiguousarray(bar)), (right, line - 5))
            draw.text((right - 6, line), low, fill=FAINT, font=small, anchor="rm")
        for back in range(0, STEPS, 20):
            # The middle of a step's column; the present one touches the right edge.
            x = self.width - MARGIN - back * self._step_width - self._step_width // 2
            draw.line((x, axis + 2, x, axis + 5), fill=FAINT)
            text, anchor = (f"-{back}", "ms") if back else ("now", "rs")
            x = x if back else self.width - MARGIN
            draw.text((x, axis + 18), text, fill=FAINT, font=small, anchor=anchor)
        draw.text((MARGIN, axis + 18), "steps", fill=FAINT, font=small, anchor="ls")
        return np.array(canvas)
