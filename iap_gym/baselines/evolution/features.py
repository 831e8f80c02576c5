"""From batches of observations to the flat features that a controller reads.

Letters: B batch, H, W, C image, l selected patches, M features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution.observations import rows
from iap_gym.baselines.evolution.policy import Arrays, with_prefix
from iap_gym.wrappers._spaces import find_image, flat_box, flatten_batch, is_image

if TYPE_CHECKING:
    from iap_gym.attention import PatchSelector

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
PLACES = ("unit", "signed")


class Features(ABC):
    """What turns observations into features; by default without numbers of its own."""

    size: int  # M
    num_parameters: int = 0  # numbers of its own, first in the vector of a policy
    selector: PatchSelector | None = None
    last_indices: NDArray[np.int64] | None = None  # (B, l), of the newest batch

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
        ValueError: a space that Gymnasium does not flatten to a Box, or another number of factors.
    """

    def __init__(
        self, space: spaces.Space[Any], scale: float | Sequence[float] | None = None
    ) -> None:
        self._is_dict = isinstance(space, spaces.Dict)
        parts = space.spaces if isinstance(space, spaces.Dict) else {"": space}
        self._parts = {key: part for key, part in parts.items() if not is_image(part)}
        self.size = sum(flat_box(key, part).shape[0] for key, part in self._parts.items())
        self._scale = None if scale is None else _scale(scale, self.size)

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
        space: Box (H, W, C) or gray (H, W), or a Dict with such an image; a second image is not
            looked at.
        image_key: the image of the Dict; None where there is one only.
        vector_scale: factors on the other entries, see ``VectorFeatures``.

    Attributes:
        shape: (H, W, C).
        num_beside: how many numbers ``beside`` gives.

    Raises:
        ValueError: an unknown key, no image, or more than one, or factors on nothing.
    """

    def __init__(
        self,
        space: spaces.Space[Any],
        image_key: str | None,
        vector_scale: float | Sequence[float] | None = None,
    ) -> None:
        self._key, self.space = find_image(space, image_key)
        self.shape = (*self.space.shape, 1)[:3]
        self._vectors = (
            VectorFeatures(space, vector_scale) if isinstance(space, spaces.Dict) else None
        )
        self.num_beside = 0 if self._vectors is None else self._vectors.size
        if vector_scale is not None and not self.num_beside:
            wanted = "None where there is nothing beside the image"
            raise _checks.refuse("vector_scale", wanted, vector_scale)

    def images(self, observations: Any) -> NDArray[Any]:
        """Return the images of a batch, contiguous (B, H, W, C)."""
        images = observations if self._key is None else observations[self._key]
        # Renderers hand out images with negative strides, which torch refuses.
        return np.ascontiguousarray(images).reshape(-1, *self.shape)

    def join(self, features: list[Array], observations: Any) -> Array:
        """Put features (B, ...) and the other entries of the observations side by side."""
        if self._vectors is not None and self.num_beside:
            features = [*features, self._vectors.read(observations, ())[0]]
        return np.concatenate(features, axis=1)


class ImageFeatures(Features):
    """The places of the patches that attention selects, and how they moved.

    The features are the l centres, row and column from 0 to 1 ("unit") or from -1 to 1 with 0 in
    the middle of the image ("signed"), most important first; with ``velocity="previous"`` then
    their change since the last frame times ``velocity_gain``, rank by rank, zero in the first
    frame; then the vectors of a Dict in key order. State: with velocity the last centres (B, 2l)
    and whether there are any (B, 1), else none.

    Args:
        space: see ``ImageReader``.
        image_key: see there.
        selector: arguments of ``iap_gym.attention.PatchSelector`` without the shape.
        velocity: "previous" or None.
        velocity_gain: factor on the change of the centres.
        places: "unit" or "signed".
        vector_scale: see ``ImageReader``.

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
        places: str,
        vector_scale: float | Sequence[float] | None = None,
    ) -> None:
        from iap_gym.wrappers._encoding import make_selector  # torch, needed for images only

        self._reader = ImageReader(space, image_key, vector_scale)
        self._chosen = self.selector = make_selector(dict(selector), self._reader.space)
        self.num_parameters = int(self._chosen.num_parameters)
        self._velocity = _checks.one_of("velocity", velocity, VELOCITIES) is not None
        self._gain = np.float32(_checks.real("velocity_gain", velocity_gain))
        every_patch = np.arange(self._chosen.num_patches)[None]
        self._centers = np.asarray(self._chosen.centers(every_patch), np.float32)[0]
        if _checks.one_of("places", places, PLACES) == "signed":
            self._centers = 2 * self._centers - 1
        self._places = 2 * int(self._chosen.num_selected)
        self.size = self._places * (2 if self._velocity else 1) + self._reader.num_beside

    def initial_state(self, batch: int) -> State:
        """Return the state before the first frame, zeros."""
        if not self._velocity:
            return ()
        return np.zeros((batch, self._places), np.float32), np.zeros((batch, 1), np.float32)

    def images(self, observations: Any) -> NDArray[Any]:
        """Return the images of a batch as the selector takes them, (B, H, W, C)."""
        return self._reader.images(observations)

    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Return the features (B, M) and the next state."""
        images = self.images(observations)
        self.last_indices = np.asarray(self._chosen.select(images))
        places = self._centers[self.last_indices].reshape(len(images), -1)
        parts = [places]
        if self._velocity:
            previous, seen = state
            parts.append(self._gain * seen * (places - previous))
            state = (places, np.ones_like(seen))
        return self._reader.join(parts, observations), state

    def get_vector(self) -> Array:
        """Return the trained numbers of the selector."""
        return np.asarray(self._chosen.get_vector(), np.float32)

    def set_vector(self, vector: Array) -> None:
        """Give the selector its numbers."""
        self._chosen.set_vector(vector)

    def parameter_scale(self) -> Array:
        """Return 1/sqrt(D), D numbers of a patch; 1 for weights of queries, 1 from the start."""
        scale = np.full(self.num_parameters, self._chosen.patch_dim**-0.5, np.float32)
        if self._chosen.r is not None:
            scale[-self._chosen.num_patches :] = 1.0
        return scale

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return the selector's arrays, its random features among them."""
        return {
            f"selector.{name}": tensor.detach().cpu().numpy().copy()
            for name, tensor in self._chosen.state_dict().items()
        }

    def load_state_dict(self, arrays: Arrays) -> None:
        """Give the selector its arrays."""
        import torch

        own = with_prefix("selector.", arrays)
        tensors = {name: torch.from_numpy(array.copy()) for name, array in own.items()}
        self._chosen.load_state_dict(tensors)


def _scale(value: float | Sequence[float], size: int) -> Array:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _checks.array("vector_scale", value, (size,), np.float32)
    return np.full(size, _checks.real("vector_scale", value), np.float32)


def has_image(space: spaces.Space[Any]) -> bool:
    """Say whether a space is an image, or a Dict with one."""
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else [space]
    return any(is_image(part) for part in parts)
