"""From batches of observations to the flat features that a controller reads.

Letters: B batch, H, W, C image, l selected patches, M features.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution.observations import rows
from iap_gym.wrappers._spaces import find_image, flat_box, flatten_batch, is_image

Array = NDArray[np.float32]
State = tuple[Array, ...]

# What an image gets when nothing is said. 64x64 then gives 256 patches; half the range of a pixel
# is taken off so that ReLU features see both signs.
DEFAULT_SELECTOR: Mapping[str, Any] = {
    "patch_size": 4,
    "num_selected": 10,
    "d_qk": 4,
    "kernel": "relu",
    "pixel_offset": 0.5,
}
VELOCITIES = ("previous", None)


class Features(Protocol):
    """What turns observations into features."""

    size: int  # M

    def initial_state(self, batch: int) -> State:
        """Return what is remembered at the start of an episode, zeros."""
        ...

    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Map a batch of observations and a state to features (B, M) and the next state."""
        ...


class VectorFeatures:
    """The numbers of a space, or of the parts of a Dict in key order, as Gymnasium flattens them.

    Args:
        space: Box, Discrete and so on, or a Dict of such, whose images are left out.

    Raises:
        ValueError: a space that Gymnasium does not flatten to a Box.
    """

    def __init__(self, space: spaces.Space[Any]) -> None:
        self._is_dict = isinstance(space, spaces.Dict)
        parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        self._parts = {key: part for key, part in parts.items() if not is_image(part)}
        self.size = sum(flat_box(key, part).shape[0] for key, part in self._parts.items())

    def initial_state(self, batch: int) -> State:
        """Return no state."""
        del batch
        return ()

    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Return the numbers, (B, M) float32."""
        batch = rows(observations)
        flat = [
            flatten_batch(key, part, observations[key] if self._is_dict else observations, batch)
            for key, part in self._parts.items()
        ]
        return np.concatenate(flat, axis=1, dtype=np.float32), state


class ImageFeatures:
    """The places of the patches that attention selects, and how they moved.

    The features are the l centres, row and column from 0 to 1, most important first; with
    ``velocity="previous"`` then their change since the last frame times ``velocity_gain``, rank by
    rank, zero in the first frame; then the vectors of a Dict in key order. A second image is not
    looked at. State: with velocity
    the last centres (B, 2l) and whether there are any (B, 1), else none.

    Args:
        space: Box (H, W, C) or gray (H, W), or a Dict with such an image.
        image_key: the image of the Dict; None where there is one only.
        selector: arguments of ``iap_gym.attention.PatchSelector`` without the shape.
        velocity: "previous" or None.
        velocity_gain: factor on the change of the centres.

    Raises:
        ValueError: an unknown key, no image, more than one, or an argument out of range.
    """

    def __init__(
        self,
        space: spaces.Space[Any],
        image_key: str | None,
        selector: Mapping[str, Any],
        velocity: str | None,
        velocity_gain: float,
    ) -> None:
        from iap_gym.wrappers._encoding import make_selector  # torch, needed for images only

        self._key, image = find_image(space, image_key)
        self._vectors: VectorFeatures | None = None
        if isinstance(space, spaces.Dict):
            vectors = VectorFeatures(space)
            self._vectors = vectors if vectors.size else None
        self.selector = make_selector(dict(selector), image)
        self._velocity = _checks.one_of("velocity", velocity, VELOCITIES) is not None
        self._gain = np.float32(_checks.real("velocity_gain", velocity_gain))
        every_patch = np.arange(self.selector.num_patches)[None]
        self._centers = np.asarray(self.selector.centers(every_patch), np.float32)[0]
        self._places = 2 * int(self.selector.num_selected)
        self.size = self._places * (2 if self._velocity else 1)
        if self._vectors is not None:
            self.size += self._vectors.size
        self.last_indices: NDArray[np.int64] | None = None

    def initial_state(self, batch: int) -> State:
        """Return the state before the first frame, zeros."""
        if not self._velocity:
            return ()
        return np.zeros((batch, self._places), np.float32), np.zeros((batch, 1), np.float32)

    def images(self, observations: Any) -> NDArray[Any]:
        """Return the images of a batch as the selector takes them, (B, H, W, C)."""
        images = observations if self._key is None else observations[self._key]
        # Renderers hand out images with negative strides, which torch refuses.
        return np.ascontiguousarray(images).reshape(-1, *self.selector.image_shape)

    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Return the features (B, M) and the next state."""
        images = self.images(observations)
        indices = self.selector.select(images)
        self.last_indices = np.asarray(indices)
        places = self._centers[self.last_indices].reshape(len(images), -1)
        parts = [places]
        if self._velocity:
            previous, seen = state
            parts.append(self._gain * seen * (places - previous))
            state = (places, np.ones_like(seen))
        if self._vectors is not None:
            parts.append(self._vectors.read(observations, ())[0])
        return np.concatenate(parts, axis=1), state


def has_image(space: spaces.Space[Any]) -> bool:
    """Say whether a space is an image, or a Dict with one."""
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    return any(is_image(part) for part in parts)
