"""The places of what attention selects in an image, as features.

Letters: B batch, H, W, C image, l selected patches, D numbers of a patch, M features.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution.features import Array, Features, ImageReader, State
from iap_gym.baselines.evolution.policy import Arrays, with_prefix

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
# Arguments of a selector that the shapes of its arrays do not tell.
SELECTOR_SETTINGS = ("patch_size", "stride", "kernel", "input_scaling", "pixel_offset")


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
        self._kind_of_places = _checks.one_of("places", places, PLACES)
        if self._kind_of_places == "signed":
            self._centers = 2 * self._centers - 1
        self._places = 2 * int(self._chosen.num_selected)
        self.size = self._places * (2 if self._velocity else 1) + self._reader.num_beside

    @property
    def settings(self) -> dict[str, Any]:
        """What is selected, and which numbers are made of it."""
        selector = self._chosen.config
        settings = {f"selector.{name}": selector[name] for name in SELECTOR_SETTINGS}
        if self._velocity:
            settings["velocity_gain"] = float(self._gain)
        return {**self._reader.settings, **settings, "places": self._kind_of_places}

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
