"""Observation spaces: which part is the image, and the other parts as flat arrays.

Without torch: who only asks whether there is an image does not load it.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, iterate

from iap_gym import _checks


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
    """Whether a space is taken for an image when the user names none: (H, W, C), or gray bytes."""
    if not isinstance(space, spaces.Box):
        return False
    return len(space.shape) == 3 or (len(space.shape) == 2 and space.dtype == np.uint8)


def _check_image(name: str, space: spaces.Space) -> spaces.Box:
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        raise _checks.refuse(name, "an image, a Box of shape (H, W, C) or (H, W)", space)
    height, _, channels = (*space.shape, 1)[:3]
    if height <= 4 < channels:
        wanted = "an image with its channels last, (H, W, C)"
        raise _checks.refuse(name, wanted, f"{space.shape}, which looks like (C, H, W)")
    bounded = bool((space.low >= 0).all() and (space.high <= 1).all())
    if space.dtype != np.uint8 and not (np.issubdtype(space.dtype, np.floating) and bounded):
        raise _checks.refuse(name, "an image of uint8, or of floats bounded by [0, 1]", space)
    return space


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
