"""Observation spaces: which part is the image, and the other parts as flat arrays.

Without torch: who only asks whether there is an image does not load it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, iterate

from iap_gym import _checks

FEW_CHANNELS = 4  # RGB and depth
# Pixels; fewer floats in two axes may be a table of numbers, and smaller frames of more than
# ``FEW_CHANNELS`` a grid of so many rows.
LEAST_SIDE = 32


def find_image(space: spaces.Space, image_key: str | None) -> tuple[str | None, spaces.Box]:
    """Find the image of an observation space.

    Args:
        space: a Box that is an image, or a Dict that holds one.
        image_key: its key in the Dict; None finds the only image and is right for a Box.

    Returns:
        The key, None for a Box; and the image's space.

    Raises:
        ValueError: no image, several with ``image_key`` None, or an unknown key.
    """
    if isinstance(space, spaces.Dict):
        if image_key is None:
            images = [key for key, part in space.items() if is_image(part)]
            if not images:
                raise _checks.refuse("env", "an observation space with an image in it", space)
            if len(images) > 1:
                raise _checks.refuse("image_key", f"one of the images {images}", image_key)
            image_key = images[0]
        elif image_key not in space.spaces:
            raise _checks.refuse("image_key", f"one of {list(space)}", image_key)
        name = f"observation {image_key!r}"
        return image_key, _check_image(name, space[image_key])
    if image_key is not None:
        raise _checks.refuse("image_key", "None, for the observation is no Dict", image_key)
    return None, _check_image("observation", space)


def is_image(space: spaces.Space) -> bool:
    """Whether a space is taken for an image when the user names none.

    That is any Box of three axes (H, W, C), and of two (H, W) one of bytes, or of floats in [0, 1]
    whose sides are at least ``LEAST_SIDE``. Smaller ones are images where they are named.
    """
    if not isinstance(space, spaces.Box):
        return False
    if len(space.shape) == 2 and space.dtype != np.uint8:
        return is_unit(space) and min(space.shape) >= LEAST_SIDE
    return len(space.shape) in (2, 3)


def _check_image(name: str, space: spaces.Space) -> spaces.Box:
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        raise _checks.refuse(name, "an image, a Box of shape (H, W, C) or (H, W)", space)
    if space.dtype != np.uint8 and not is_unit(space):
        raise _checks.refuse(name, "an image of uint8, or of floats bounded by [0, 1]", space)
    if _channels_are_first((*space.shape, 1)[:3]):
        wanted = "an image with its channels last, (H, W, C)"
        hint = "which looks like (C, H, W); np.moveaxis(image, 0, -1) puts them last"
        raise _checks.refuse(name, wanted, f"{space.shape}, {hint}")
    return space


def _channels_are_first(shape: tuple[int, ...]) -> bool:
    """Whether a shape is plainly (C, H, W).

    It is where its last two axes are a square and its first is another number, as
    ``iap_gym.baselines.image_spaces`` has it too; else where it has hardly rows for its channels if
    it is read as (H, W, C). Grids of a few rows and many channels are left alone.
    """
    first, second, last = shape
    if last <= FEW_CHANNELS:
        return False
    if second == last:
        return first != last
    return first <= FEW_CHANNELS or (last >= LEAST_SIDE and 4 * first <= min(second, last))


def is_unit(space: spaces.Box) -> bool:
    """Whether a Box is of floats bounded by [0, 1]."""
    bounded = bool((space.low >= 0).all() and (space.high <= 1).all())
    return bool(np.issubdtype(space.dtype, np.floating)) and bounded


def flat_box(key: str, space: spaces.Space) -> spaces.Box:
    """Return the flat Box that Gymnasium makes of a space.

    Raises:
        ValueError: it makes none, such as for a Sequence or a space that is not its own.
    """
    try:
        flat = spaces.flatten_space(space)
    except NotImplementedError:
        flat = None
    if not isinstance(flat, spaces.Box):
        wanted = "a space that gymnasium can flatten to a Box (or use keep_dict)"
        raise _checks.refuse(f"observation {key!r}", wanted, space)
    return flat


def flatten(key: str, space: spaces.Space, value: Any) -> np.ndarray:
    """Return one observation of a space that ``flat_box`` has let pass, float (n,).

    Raises:
        ValueError: it is not in the space: another shape, or a number that no Discrete has.
    """
    if isinstance(space, spaces.Box):
        return checked(f"observation {key!r}", np.asarray(value)[None], space.shape, 1).reshape(-1)
    if value not in space:
        raise _checks.refuse(f"observation {key!r}", f"one of {space}", value)
    return np.asarray(cast("Any", spaces.flatten(space, value)))


def flatten_batch(key: str, space: spaces.Space, values: Any, batch: int) -> np.ndarray:
    """Return a batch of observations as ``flatten`` does, (batch, n).

    Raises:
        ValueError: as ``flatten``.
    """
    if isinstance(space, spaces.Box):
        return checked(f"observation {key!r}", values, space.shape, batch).reshape(batch, -1)
    singles = iterate(batch_space(space, batch), values)
    return np.stack([flatten(key, space, value) for value in singles])


def checked(name: str, values: Any, shape: tuple[int, ...], batch: int) -> np.ndarray:
    """Return a batch of arrays if it has the shape that its space says.

    Raises:
        ValueError: it has another.
    """
    array = np.asarray(values)
    if array.shape != (batch, *shape):
        raise _checks.refuse(name, f"shape {shape}", array.shape[1:])
    return array


def checked_images(name: str, values: Any, space: spaces.Box, batch: int) -> np.ndarray:
    """Return a batch of images if they are what their space says, (batch, *space.shape).

    Bytes run to 255 and floats to 1, so that one in the place of the other is another picture. The
    floats of a space may come in any precision.

    Raises:
        ValueError: another shape, floats for bytes or anything but floats for floats, or floats
            that are not finite or outside [0, 1].
    """
    images = checked(name, values, space.shape, batch)
    wanted = np.uint8 if space.dtype == np.uint8 else np.floating
    if not np.issubdtype(images.dtype, wanted):
        raise _checks.refuse(name, f"{space.dtype} as its space says", images.dtype)
    if wanted is np.floating:
        low, high = images.min(), images.max()
        if not _checks.within_unit(low, high):
            came = f"values from {low} to {high}"
            raise _checks.refuse(name, "finite floats in [0, 1]", came)
    return images
