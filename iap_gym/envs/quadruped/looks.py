"""What a course looks like: colours, and seeded patterns on its surfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Color = tuple[int, int, int]
Pixels = NDArray[np.uint8]

PATTERNS = ("plain", "checker", "noise", "mixed")
SIDE = 64  # pixels of a texture's side

SKY: Color = (176, 206, 232)
GROUND: Color = (74, 92, 70)
PLATFORM: Color = (186, 182, 172)
# Walls take them in turn, so that the next one stands out in the gap of the one before.
WALLS: tuple[Color, ...] = ((164, 74, 52), (58, 90, 148))
_NUM_WALL_TEXTURES = 4


@dataclass(frozen=True)
class Looks:
    """Colours or names of textures, and the textures, uint8 (h, w, 3)."""

    sky: Color = SKY
    ground: Color | str = GROUND
    platform: Color | str = PLATFORM
    walls: tuple[Color | str, ...] = WALLS
    textures: Mapping[str, Pixels] = field(default_factory=dict[str, Pixels])


def sample_looks(pattern: str, rng: np.random.Generator) -> Looks:
    """Draw the looks of a layout; ``rng`` gives one integer, whatever the pattern.

    Args:
        pattern: "plain" colours that are always the same, or "checker", "noise" or "mixed".
        rng: source of the seed.
    """
    own = np.random.default_rng(int(rng.integers(2**32)))
    if pattern == "plain":
        return Looks()
    walls = tuple(f"wall{index}" for index in range(_NUM_WALL_TEXTURES))
    return Looks(
        ground="ground",
        platform="platform",
        walls=walls,
        textures={name: sample_texture(pattern, own) for name in ("ground", "platform", *walls)},
    )


def sample_texture(pattern: str, rng: np.random.Generator) -> Pixels:
    """Draw two colours and mix them by a checkerboard or by smooth noise.

    Args:
        pattern: "checker", "noise", or "mixed" for either.
        rng: source of randomness.

    Returns:
        uint8 (64, 64, 3); opposite sides fit.
    """
    first, second = rng.integers(40, 216, (2, 3))
    squares = 2 ** int(rng.integers(1, 4))  # a side, or cells of the coarsest noise
    noise = pattern == "noise" or (pattern == "mixed" and rng.random() < 0.5)
    if noise:
        weight = _noise(squares, rng)
    else:
        cell = np.arange(SIDE) * squares // SIDE
        weight = ((cell[:, None] + cell) % 2).astype(np.float64)
    return np.round(first + weight[..., None] * (second - first)).astype(np.uint8)


def _noise(cells: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Sum noise on ever finer grids, each with half the weight, and stretch it to [0, 1]."""
    total = np.zeros((SIDE, SIDE))
    weight = 1.0
    while cells <= SIDE // 2:
        total += weight * _smooth(rng.random((cells, cells)))
        cells, weight = 2 * cells, weight / 2
    return (total - total.min()) / (total.max() - total.min())


def _smooth(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate a periodic grid to the size of a texture, row by row, then column by column."""
    position = np.arange(SIDE) * len(grid) / SIDE
    low = position.astype(np.int64)
    part = position - low
    high = (low + 1) % len(grid)
    rows = grid[low] + part[:, None] * (grid[high] - grid[low])
    return rows[:, low] + part * (rows[:, high] - rows[:, low])
