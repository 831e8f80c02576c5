"""Observations to features: the selected patches, then the other keys."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from iap_gym import _checks
from iap_gym.attention import PatchSelector
from iap_gym.wrappers._spaces import (
    checked_images,
    find_image,
    flat_box,
    flatten,
    flatten_batch,
)

FEATURES = ("centers", "patches", "both")
ATTENTION_KEY = "attention"


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
        self.image_key, self._image = find_image(space, image_key)
        self.selector = make_selector(selector, self._image)
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
        parts = [attention, *(flat_box(key, space) for key, space in self._others.items())]
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
            flatten_batch(key, space, self._entry(observations, key), batch)
            for key, space in self._others.items()
        )
        return np.concatenate([attention, *others], axis=1, dtype=np.float32)

    def encode_one(self, observation: Any) -> Any:
        """Encode one observation, to float32 (F,) or to a dict."""
        attention = self._attend(np.asarray(self._image_of(observation))[None], 1)[0]
        if self.keep_dict:
            return self._with_others(attention, observation)
        others = (
            flatten(key, space, self._entry(observation, key))
            for key, space in self._others.items()
        )
        return np.concatenate([attention, *others], dtype=np.float32)

    def _entry(self, observation: Any, key: str) -> Any:
        if not isinstance(observation, Mapping) or key not in observation:
            keys = list(observation) if isinstance(observation, Mapping) else type(observation)
            raise _checks.refuse("observation", f"a dict with the key {key!r}", keys)
        return observation[key]

    def _image_of(self, observation: Any) -> Any:
        return observation if self.image_key is None else self._entry(observation, self.image_key)

    def _with_others(self, attention: np.ndarray, observation: Any) -> dict[str, Any]:
        return {
            ATTENTION_KEY: attention,
            **{key: self._entry(observation, key) for key in self._others},
        }

    def _attend(self, images: Any, batch: int) -> np.ndarray:
        name = "observation" if self.image_key is None else f"observation {self.image_key!r}"
        images = checked_images(name, images, self._image, batch)
        images = images.reshape(batch, *self.selector.image_shape)
        indices = self.selector.select(images)
        self.last_indices = indices.cpu().numpy()
        parts: list[np.ndarray] = []
        if self.features != "patches":
            parts.append(self.selector.centers(indices).flatten(1).cpu().numpy())
        if self.features != "centers":
            parts.append(self.selector.patches(images, indices).flatten(1).cpu().numpy())
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
