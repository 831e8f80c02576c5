"""Procedural pictures of floors, walls and furniture; each covers a square metre and repeats."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Array = NDArray[np.float64]
Color = tuple[int, int, int]

SIDE = 128  # pixels of a texture's side
NUM_VARIANTS = 6  # of each kind

_WOODS: tuple[Color, ...] = (
    (176, 134, 88),
    (120, 80, 52),
    (204, 170, 120),
    (150, 104, 66),
    (92, 66, 48),
    (190, 150, 112),
)
# Colours of the variants of each kind.
PALETTES: dict[str, tuple[Color, ...]] = {
    "planks": _WOODS,
    "tiles": (
        (214, 210, 200),
        (170, 96, 70),
        (104, 112, 120),
        (196, 180, 150),
        (86, 110, 104),
        (228, 226, 222),
    ),
    "plaster": (
        (232, 224, 208),
        (176, 198, 214),
        (188, 204, 170),
        (226, 196, 140),
        (208, 160, 140),
        (206, 206, 210),
    ),
    "wood": _WOODS,
    "fabric": (
        (58, 78, 122),
        (150, 52, 50),
        (104, 116, 66),
        (190, 174, 146),
        (92, 92, 98),
        (60, 122, 124),
    ),
    "books": _WOODS,
}


def _noise(rng: np.random.Generator, along_rows: float, along_columns: float) -> Array:
    """Return noise (SIDE, SIDE) of mean 0 and deviation 1 that repeats.

    Args:
        rng: source of randomness.
        along_rows: size of its features from row to row, as a part of the side.
        along_columns: size from column to column.
    """
    spectrum = np.fft.rfft2(rng.standard_normal((SIDE, SIDE)))
    rows = np.fft.fftfreq(SIDE, 1 / SIDE)[:, None] * along_rows
    columns = np.fft.rfftfreq(SIDE, 1 / SIDE) * along_columns
    spectrum /= 1.0 + 10.0 * (rows**2 + columns**2)
    spectrum[0, 0] = 0.0
    noise = np.fft.irfft2(spectrum, (SIDE, SIDE))
    return noise / noise.std()


def _grain(rng: np.random.Generator) -> Array:
    """Return the brightness of wood whose fibres run along the rows."""
    return 1.0 + 0.06 * _noise(rng, 0.05, 1.5) + 0.03 * _noise(rng, 0.01, 0.6)


def _wood(rng: np.random.Generator, color: Array) -> Array:
    return _grain(rng)[..., None] * color


def _planks(rng: np.random.Generator, color: Array) -> Array:
    """Eight boards of 12.5 cm, each with its own tint, fibres and end joint."""
    board = SIDE // 8
    shade = np.empty((SIDE, SIDE))
    for row in range(0, SIDE, board):
        fibres = np.roll(_grain(rng)[:board], int(rng.integers(SIDE)), axis=1)
        joint = int(rng.integers(SIDE))
        fibres *= rng.uniform(0.86, 1.1)
        fibres[:, joint : joint + 2] *= 0.6
        fibres[0] *= 0.6
        shade[row : row + board] = fibres
    return shade[..., None] * color


def _tiles(rng: np.random.Generator, color: Array) -> Array:
    """Tiles of 25 or 50 cm with joints of mortar, some of them as a checkerboard."""
    count = int(rng.choice((2, 4)))
    tile = SIDE // count
    tint = rng.uniform(0.92, 1.06, (count, count))
    if rng.random() < 0.4:
        tint *= np.where(np.indices((count, count)).sum(axis=0) % 2, 1.08, 0.62)
    shade = np.kron(tint, np.ones((tile, tile))) * (1.0 + 0.025 * _noise(rng, 0.2, 0.2))
    picture = shade[..., None] * color
    joint = np.arange(SIDE) % tile < 2
    picture[joint[:, None] | joint] = 0.45 * color + 60.0
    return picture


def _plaster(rng: np.random.Generator, color: Array) -> Array:
    shade = 1.0 + 0.025 * _noise(rng, 0.5, 0.5) + 0.02 * _noise(rng, 0.03, 0.03)
    return shade[..., None] * color


def _fabric(rng: np.random.Generator, color: Array) -> Array:
    row, column = np.indices((SIDE, SIDE))
    weave = 0.07 * np.where((row // 2 + column // 2) % 2, 1.0, -1.0)
    return (1.0 + weave + 0.05 * _noise(rng, 0.3, 0.3))[..., None] * color


def _books(rng: np.random.Generator, color: Array) -> Array:
    """Three shelves of books with coloured backs."""
    picture = np.empty((SIDE, SIDE, 3))
    picture[:] = _wood(rng, color) * 0.5
    shelf = SIDE // 3
    for bottom in range(shelf, SIDE + 1, shelf):
        column = 2
        while column < SIDE - 8:
            width, height = int(rng.integers(3, 8)), int(rng.integers(shelf // 2, shelf - 6))
            back = rng.uniform(40.0, 210.0, 3)
            picture[bottom - 4 - height : bottom - 4, column : column + width - 1] = back
            column += width
        picture[bottom - 4 : bottom] = color
    return picture


_PAINTERS: dict[str, Callable[[np.random.Generator, Array], Array]] = {
    "planks": _planks,
    "tiles": _tiles,
    "plaster": _plaster,
    "wood": _wood,
    "fabric": _fabric,
    "books": _books,
}


@functools.cache
def texture(kind: str, variant: int) -> Pixels:
    """Return one of the ``NUM_VARIANTS`` pictures of a kind, uint8 (SIDE, SIDE, 3), read-only.

    A kind and a variant always stand for the same picture: apartments draw variants, so that
    nothing is painted anew at each reset.

    Args:
        kind: "planks", "tiles", "plaster", "wood", "fabric" or "books".
        variant: 0 to ``NUM_VARIANTS`` - 1.
    """
    rng = np.random.default_rng((list(_PAINTERS).index(kind), variant))
    picture = _PAINTERS[kind](rng, np.asarray(PALETTES[kind][variant], np.float64))
    pixels = np.clip(np.round(picture), 0, 255).astype(np.uint8)
    pixels.setflags(write=False)
    return pixels
