"""Observations to features: which key is the image, the selected patches, the other keys."""

from __future__ import annotations

import inspect
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space, iterate

from iap_gym import _checks
from iap_gym.attention import PatchSelector

FEATURES = ("centers", "patches", "both")
ATTENTION_KEY = "attention"


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
            images = [key for key, part in space.items() if _has_shape_of_image(part)]
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


def _has_shape_of_image(space: spaces.Space) -> bool:
    """Whether a space is taken for an image when the user names none: (H, W, C), or gray bytes."""
    if not isinstance(space, spaces.Box):
        return False
    return len(space.shape) == 3 or (len(space.shape) == 2 and space.dtype == np.uint8)


def _check_image(name: str, space: spaces.Space) -> spaces.Box:
    if not isinstance(space, spaces.Box) or len(space.shape) not in (2, 3):
        raise _checks.refuse(name, "an image, a Box of shape (H, W, C) or (H, W)", space)
    bounded = bool((space.low >= 0).all() and (space.high <= 1).all())
    if space.dtype != np.uint8 and not (np.issubdtype(space.dtype, np.floating) and bounded):
        raise _checks.refuse(name, "an image of uint8, or of floats bounded by [0, 1]", space)
    return space


def make_selector(selector: Any, space: spaces.Box) -> PatchSelector:
    """Return the selector for images of a space, built if its arguments were given.

    Raises:
        ValueError: another type, unknown arguments, or a selector for another shape.
    """
    shape = (*space.shape, 1)[:3]  # gray images have one channel
    if isinstance(selector, PatchSelector):
        if selector.image_shape != shape:
            wanted = f"a PatchSelector for images {shape}"
            raise _checks.refuse("selector", wanted, f"one for {selector.image_shape}")
        return selector
    if not isinstance(selector, dict):
        wanted = "a PatchSelector or a dict of its arguments"
        raise _checks.refuse("selector", wanted, type(selector).__name__)
    allowed = [
        name for name in inspect.signature(PatchSelector).parameters if name != "image_shape"
    ]
    unknown = [name for name in selector if name not in allowed]
    if unknown:
        raise _checks.refuse("selector", f"arguments among {allowed}", unknown)
    if "patch_size" not in selector:
        raise _checks.refuse("selector", "a dict with 'patch_size'", selector)
    return PatchSelector(shape, **selector)


class ObservationEncoder:
    """Turns batches of observations into batches of features.

    Attributes:
        selector: the ``PatchSelector``.
        space: of one encoded observation.
        last_indices: int64 (B, l), the patches selected in the last batch, or None before it.
    """

    def __init__(
        self,
        space: spaces.Space,
        selector: Any,
        image_key: str | None,
        features: str,
        keep_dict: bool,
    ) -> None:
        self.features = _checks.one_of("features", features, FEATURES)
        self.keep_dict = _checks.boolean("keep_dict", keep_dict)
        self.image_key, image = find_image(space, image_key)
        self.selector = make_selector(selector, image)
        self.last_indices: np.ndarray | None = None
        self._others: dict[str, spaces.Space] = {}
        if isinstance(space, spaces.Dict):
            self._others = {key: part for key, part in space.items() if key != self.image_key}
        per_patch = {"centers": 2, "patches": self.selector.patch_dim}
        per_patch["both"] = sum(per_patch.values())
        size = self.selector.num_selected * per_patch[features]
        attention = spaces.Box(0.0, 1.0, (size,), np.float32)
        self.space = self._dict_space(attention) if keep_dict else self._flat_space(attention)

    def _dict_space(self, attention: spaces.Box) -> spaces.Dict:
        if ATTENTION_KEY in self._others:
            wanted = f"no observation of the name {ATTENTION_KEY!r} where keep_dict is True"
            raise _checks.refuse("env", wanted, list(self._others))
        return spaces.Dict({ATTENTION_KEY: attention, **self._others})

    def _flat_space(self, attention: spaces.Box) -> spaces.Box:
        parts = [attention, *(_flat_box(key, space) for key, space in self._others.items())]
        with np.errstate(over="ignore"):  # bounds beyond float32 are infinite in it
            low = np.concatenate([part.low.astype(np.float32) for part in parts])
            high = np.concatenate([part.high.astype(np.float32) for part in parts])
        return spaces.Box(low, high, dtype=np.float32)

    def encode(self, observations: Any, batch: int) -> Any:
        """Encode a batch, as the vector environment of the observations' space makes it.

        Args:
            observations: images (B, H, W[, C]), or a dict of batches.
            batch: B.

        Returns:
            float32 (B, F), or a dict of batches with ``keep_dict``.
        """
        attention = self._attend(self._image_of(observations), batch)
        if self.keep_dict:
            return self._with_others(attention, observations)
        others = (
            _flatten_batch(space, observations[key], batch) for key, space in self._others.items()
        )
        return np.concatenate([attention, *others], axis=1, dtype=np.float32)

    def encode_one(self, observation: Any) -> Any:
        """Encode one observation, to float32 (F,) or to a dict."""
        attention = self._attend(self._image_of(observation), 1)[0]
        if self.keep_dict:
            return self._with_others(attention, observation)
        others = (_flatten(space, observation[key]) for key, space in self._others.items())
        return np.concatenate([attention, *others], dtype=np.float32)

    def _image_of(self, observation: Any) -> Any:
        return observation if self.image_key is None else observation[self.image_key]

    def _with_others(self, attention: np.ndarray, observation: Any) -> dict[str, Any]:
        return {ATTENTION_KEY: attention, **{key: observation[key] for key in self._others}}

    def _attend(self, images: Any, batch: int) -> np.ndarray:
        images = np.asarray(images).reshape(batch, *self.selector.image_shape)
        indices = self.selector.select(images)
        self.last_indices = indices.cpu().numpy()
        parts: list[np.ndarray] = []
        if self.features != "patches":
            parts.append(self.selector.centers(indices).flatten(1).cpu().numpy())
        if self.features != "centers":
            parts.append(self.selector.patches(images, indices).flatten(1).cpu().numpy())
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def _flat_box(key: str, space: spaces.Space) -> spaces.Box:
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


def _flatten(space: spaces.Space, value: Any) -> np.ndarray:
    # An array, as _flat_box has let only spaces pass that flatten to a Box.
    return np.asarray(cast("Any", spaces.flatten(space, value)))


def _flatten_batch(space: spaces.Space, values: Any, batch: int) -> np.ndarray:
    if isinstance(space, spaces.Box):
        return np.asarray(values).reshape(batch, -1)
    singles = iterate(batch_space(space, batch), values)
    return np.stack([_flatten(space, value) for value in singles])
