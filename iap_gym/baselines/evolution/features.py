"""From batches of observations to the flat features that a controller reads.

Letters: B batch, H, W, C image, l selected patches, M features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution.observations import rows
from iap_gym.baselines.evolution.policy import Arrays
from iap_gym.wrappers._spaces import (
    checked_images,
    find_image,
    flat_box,
    flatten_batch,
    is_image,
    is_unit,
)

if TYPE_CHECKING:
    from iap_gym.attention import PatchSelector

Array = NDArray[np.float32]
State = tuple[Array, ...]


class Features(ABC):
    """What turns observations into features; by default without numbers of its own."""

    size: int  # M
    num_parameters: int = 0  # numbers of its own, first in the vector of a policy
    selector: PatchSelector | None = None
    last_indices: NDArray[np.int64] | None = None  # (B, l), of the newest batch

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that say what the numbers mean where their shapes do not, by name."""
        return {}

    @abstractmethod
    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Map a batch of observations and a state to features (B, M) and the next state."""

    def initial_state(self, batch: int) -> State:
        """Return what is remembered at the start of an episode, zeros."""
        del batch
        return ()

    def images(self, observations: Any) -> NDArray[Any] | None:
        """Return the images that are read in a batch, (B, H, W, C); None without one."""
        del observations
        return None

    def get_vector(self) -> Array:
        """Return the own numbers, (num_parameters,), a copy."""
        return np.empty(0, np.float32)

    def set_vector(self, vector: Array) -> None:
        """Take the own numbers."""
        del vector

    def parameter_scale(self) -> Array:
        """Return 1/sqrt(numbers its unit adds up) for every number of its own."""
        return np.empty(0, np.float32)

    def initial_vector(self, rng: np.random.Generator) -> Array:
        """Return the numbers to start from, by default those there are."""
        del rng
        return self.get_vector()

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays, the untrained ones too."""
        return {}

    def load_state_dict(self, arrays: Arrays) -> None:
        """Take, out of the arrays of a policy, those that ``state_dict`` named."""
        del arrays


class VectorFeatures(Features):
    """The numbers of a space, or of the parts of a Dict in key order, as Gymnasium flattens them.

    Args:
        space: Box, Discrete and so on, or a Dict of such, whose images are left out.
        scale: factors on the numbers, one for each or one for all; None leaves them as they are.

    Raises:
        ValueError: a space that Gymnasium does not flatten to a Box, one with spaces inside (a
            Tuple, or a Dict in a Dict), frames in a Box of more than three axes, or another number
            of factors.
    """

    def __init__(
        self, space: spaces.Space[Any], scale: float | Sequence[float] | None = None
    ) -> None:
        self._is_dict = isinstance(space, spaces.Dict)
        parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        self._parts = {key: part for key, part in parts.items() if not is_image(part)}
        for key, part in self._parts.items():
            _check_part(f"observation {key!r}" if self._is_dict else "observation", part)
        self.size = sum(flat_box(key, part).shape[0] for key, part in self._parts.items())
        self._scale = None if scale is None else _scale(scale, self.size)

    @property
    def settings(self) -> dict[str, Any]:
        """The factors, and which entries of a Dict they are of."""
        scale = np.ones(self.size, np.float32) if self._scale is None else self._scale
        return {"vector_scale": scale.tolist(), "observations": list(self._parts)}

    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Return the numbers, (B, M) float32."""
        batch = rows(observations)
        flat = [
            flatten_batch(key, part, observations[key] if self._is_dict else observations, batch)
            for key, part in self._parts.items()
        ]
        numbers = np.concatenate(flat, axis=1, dtype=np.float32)
        return numbers if self._scale is None else numbers * self._scale, state


class ImageReader:
    """The image of an observation, and the other entries of a Dict beside it.

    Args:
        space: Box (H, W, C) or gray (H, W), uint8 or float in [0, 1], or a Dict with such an
            image; a second image is not looked at.
        image_key: the image of the Dict; None where there is one only.
        vector_scale: factors on the other entries, see ``VectorFeatures``.

    Attributes:
        shape: (H, W, C).
        num_beside: how many numbers ``beside`` gives.

    Raises:
        ValueError: an unknown key, no image, or more than one, factors on nothing, or what
            ``VectorFeatures`` refuses of the other entries.
    """

    def __init__(
        self,
        space: spaces.Space[Any],
        image_key: str | None,
        vector_scale: float | Sequence[float] | None = None,
    ) -> None:
        self._key, self.space = find_image(space, image_key)
        self.shape = (*self.space.shape, 1)[:3]
        self._vectors = None
        if isinstance(space, spaces.Dict):
            beside = {key: part for key, part in space.items() if key != self._key}
            self._vectors = VectorFeatures(spaces.Dict(beside), vector_scale)
        self.num_beside = 0 if self._vectors is None else self._vectors.size
        if vector_scale is not None and not self.num_beside:
            wanted = "None where there is nothing beside the image"
            raise _checks.refuse("vector_scale", wanted, vector_scale)

    @property
    def settings(self) -> dict[str, Any]:
        """What there is beside the image."""
        return self._vectors.settings if self._vectors is not None and self.num_beside else {}

    def images(self, observations: Any) -> NDArray[Any]:
        """Return the images of a batch, contiguous (B, H, W, C), uint8 or float in [0, 1].

        Raises:
            ValueError: images of another shape, type or range than the space says.
        """
        name, images = "observation", observations
        if self._key is not None:
            name, images = f"observation {self._key!r}", observations[self._key]
        images = checked_images(name, images, self.space, rows(observations))
        # Renderers hand out images with negative strides, which torch refuses.
        return np.ascontiguousarray(images).reshape(-1, *self.shape)

    def join(self, features: list[Array], observations: Any) -> Array:
        """Put features (B, ...) and the other entries of the observations side by side."""
        if self._vectors is not None and self.num_beside:
            features = [*features, self._vectors.read(observations, ())[0]]
        return np.concatenate(features, axis=1)


def _scale(value: float | Sequence[float], size: int) -> Array:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _checks.array("vector_scale", value, (size,), np.float32)
    return np.full(size, _checks.real("vector_scale", value), np.float32)


def _check_part(name: str, space: spaces.Space[Any]) -> None:
    if isinstance(space, spaces.Tuple | spaces.Dict | spaces.OneOf):
        wanted = "no spaces inside (gymnasium.wrappers.FlattenObservation makes one Box of them)"
        raise _checks.refuse(name, wanted, space)
    pixels = isinstance(space, spaces.Box) and (space.dtype == np.uint8 or is_unit(space))
    if pixels and len(space.shape or ()) > 3:
        wanted = "at most three axes: one image (H, W, C), the frames of a stack in its channels"
        raise _checks.refuse(name, wanted, space)


def has_image(space: spaces.Space[Any]) -> bool:
    """Say whether a space is an image, or a Dict with one."""
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    return any(is_image(part) for part in parts)


def is_table(space: spaces.Space[Any]) -> bool:
    """Say whether a space is floats (H, W) in [0, 1], an image where the user says so."""
    return isinstance(space, spaces.Box) and len(space.shape) == 2 and is_unit(space)
