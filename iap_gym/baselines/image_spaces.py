"""The images of an observation space, and which axis of them is that of the channels."""

from __future__ import annotations

from typing import NamedTuple

from gymnasium import spaces


class Layout(NamedTuple):
    """The sizes of an image, and whether its axes are (c, h, w) instead of (h, w, c)."""

    rows: int
    columns: int
    channels: int
    channels_first: bool


def parts_of(space: spaces.Space) -> dict[str, spaces.Space]:
    """Return the entries of a Dict; of another space itself, under the key ""."""
    return dict(space.items()) if isinstance(space, spaces.Dict) else {"": space}


def images_of(parts: dict[str, spaces.Space]) -> dict[str, spaces.Box]:
    """Return the parts that are images, those of three dimensions."""
    return {
        key: part
        for key, part in parts.items()
        if isinstance(part, spaces.Box) and len(part.shape) == 3
    }


def layout_of(image: spaces.Box) -> Layout:
    """Tell rows, columns and channels of an image apart.

    Of a square image the side that differs is that of the channels, however many they are, as of
    stacked frames. Of another one they come first where the first axis is shorter than the last.
    Stable-Baselines3 itself moves the last axis of uint8 images first unless the first is the
    shortest: of more channels than a side has pixels it sees what it gets with them last alone.

    Args:
        image: (h, w, c) or (c, h, w).
    """
    first, middle, last = image.shape
    if middle == last or (first != middle and first < last):
        return Layout(middle, last, first, channels_first=True)
    return Layout(first, middle, last, channels_first=False)
