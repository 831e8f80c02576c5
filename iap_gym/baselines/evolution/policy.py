"""Policies whose every number lies in one vector: attention over an image, then a controller.

Letters: B batch, M features, n numbers.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import save_file

from iap_gym import _checks
from iap_gym._files import replacing
from iap_gym.baselines.evolution.action_heads import make_head
from iap_gym.baselines.evolution.controllers import Controller
from iap_gym.baselines.evolution.features import (
    DEFAULT_SELECTOR,
    VELOCITIES,
    Features,
    ImageFeatures,
    VectorFeatures,
    has_image,
)
from iap_gym.baselines.evolution.observations import rows

State = tuple[NDArray[Any], ...]


class NonFiniteOutputError(FloatingPointError):
    """A policy gave NaN or infinity, from its weights or from the observation."""


class EvolutionPolicy(ABC):
    """A deterministic policy that is a function of one vector, the observation and a state.

    An image (Box (H, W, C), uint8 or float in [0, 1], alone or in a Dict) is read through a
    ``PatchSelector``: the controller gets the places of the selected patches, their change since
    the last frame, and the other entries of the Dict (see ``ImageFeatures``). A Box without image,
    or a Dict of such, goes to the controller as it is; ``velocity`` and ``velocity_gain`` are then
    without effect.

    The vector holds the numbers of the selector (in its own order), then those of the controller
    (layer by layer: the matrix (out, in) row by row, the bias).

    Args:
        observation_space: Box, another space that Gymnasium flattens, or a Dict of such.
        action_space: Box, Discrete, MultiDiscrete or MultiBinary (see ``action_heads``).
        selector: arguments of ``PatchSelector`` without the image's shape, over the defaults
            ``patch_size=4, num_selected=10, d_qk=4, kernel="relu", pixel_offset=0.5``.
        image_key: which image of a Dict; None where there is one only.
        velocity: "previous" adds the change of the selected places, None does not.
        velocity_gain: factor on that change.
        selector_seed: seed of the selector's first weights and random features where
            ``selector`` has none.

    Raises:
        ValueError: spaces or arguments outside what is said above.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        selector: Mapping[str, Any] | None = None,
        image_key: str | None = None,
        velocity: str | None = None,
        velocity_gain: float = 5.0,
        selector_seed: int = 0,
    ) -> None:
        if selector is not None and not isinstance(selector, Mapping):
            raise _checks.refuse("selector", "a dict of arguments of PatchSelector", selector)
        _checks.one_of("velocity", velocity, VELOCITIES)
        _checks.real("velocity_gain", velocity_gain)
        self.observation_space = observation_space
        self.action_space = action_space
        self._image: ImageFeatures | None = None
        if has_image(observation_space):
            arguments = {"seed": selector_seed, **DEFAULT_SELECTOR, **(selector or {})}
            self._image = ImageFeatures(
                observation_space, image_key, arguments, velocity, velocity_gain
            )
        elif selector is not None or image_key is not None:
            raise _checks.refuse(
                "selector" if image_key is None else "image_key",
                "an observation with an image: Box (H, W, C), uint8 or float in [0, 1]",
                observation_space,
            )
        self._features: Features = self._image or VectorFeatures(observation_space)
        self._head = make_head(action_space)
        self._controller = self._make_controller(self._features.size, self._head.size)
        self._attention_parameters = 0
        if self._image is not None:
            self._attention_parameters = int(self._image.selector.num_parameters)
        self.num_parameters = self._attention_parameters + self._controller.num_parameters
        self._feature_states = len(self._features.initial_state(1))
        self._vector = np.concatenate(
            [self._attention_vector(), np.zeros(self._controller.num_parameters, np.float32)]
        )

    @abstractmethod
    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        """Return the network from features to logits."""

    @property
    def selector(self) -> Any:
        """The ``PatchSelector``, or None without an image."""
        return None if self._image is None else self._image.selector

    @property
    def last_indices(self) -> NDArray[np.int64] | None:
        """The patches selected in the last ``act``, (B, l), best first; None without an image."""
        return None if self._image is None else self._image.last_indices

    def images(self, observations: Any) -> NDArray[Any] | None:
        """Return the images that attention reads in a batch, (B, H, W, C); None without one."""
        return None if self._image is None else self._image.images(observations)

    def get_vector(self) -> NDArray[np.float32]:
        """Return all numbers, (n,) float32, a copy."""
        return self._vector.copy()

    def set_vector(self, vector: ArrayLike) -> None:
        """Take all numbers from a vector.

        Raises:
            ValueError: not (n,).
        """
        numbers = np.array(vector, dtype=np.float32)
        if numbers.shape != (self.num_parameters,):
            raise _checks.refuse("vector", f"shape ({self.num_parameters},)", numbers.shape)
        self._vector = numbers
        if self._image is not None:
            self._image.selector.set_vector(numbers[: self._attention_parameters].copy())
        self._controller.set_vector(numbers[self._attention_parameters :])

    def parameter_scale(self) -> NDArray[np.float32]:
        """Return for every number 1/sqrt(numbers its unit adds up), (n,): the unit of search."""
        attention = np.empty(0, np.float32)
        if self._image is not None:
            selector = self._image.selector
            attention = np.full(self._attention_parameters, selector.patch_dim**-0.5, np.float32)
            if selector.r is not None:  # weights of the queries, 1 from the start
                attention[-selector.num_patches :] = 1.0
        return np.concatenate([attention, self._controller.parameter_scale()])

    def initial_vector(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw where a search starts: the selector's own first weights, a quiet controller.

        The controller is uniform in +-0.1 times its scale: small, so that tanh is not saturated,
        and not zero, where all discrete actions would tie.
        """
        scale = self._controller.parameter_scale()
        controller = 0.1 * scale * rng.uniform(-1, 1, scale.size)
        return np.concatenate([self._attention_vector(), controller.astype(np.float32)])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays: the vector by parts, and the selector's random features.

        Names are ``selector.W_q`` and so on, ``controller.0.weight``, ``controller.0.bias``, ...
        """
        arrays: dict[str, NDArray[Any]] = {}
        if self._image is not None:
            for name, tensor in self._image.selector.state_dict().items():
                arrays[f"selector.{name}"] = tensor.detach().cpu().numpy().copy()
        for i, (weight, bias) in enumerate(self._controller.layers):
            arrays[f"controller.{i}.weight"] = weight.copy()
            arrays[f"controller.{i}.bias"] = bias.copy()
        return arrays

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take what ``state_dict`` gave.

        Raises:
            ValueError: other names or shapes.
        """
        current = self.state_dict()
        wanted = {name: array.shape for name, array in current.items()}
        got = {name: array.shape for name, array in arrays.items()}
        if wanted != got:
            raise _checks.refuse("arrays", f"names and shapes {wanted}", got)
        if self._image is not None:
            import torch

            prefix = "selector."
            tensors = {
                name.removeprefix(prefix): torch.from_numpy(array.copy())
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            self._image.selector.load_state_dict(tensors)
        controller = [arrays[name].ravel() for name in current if name.startswith("controller.")]
        self.set_vector(np.concatenate([self._attention_vector(), *controller]))

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write ``state_dict()`` as a safetensors file."""
        with replacing(path) as temporary:
            save_file(self.state_dict(), temporary)

    def initial_state(self, batch: int) -> State:
        """Return the state at the start of an episode for ``batch`` rows: zeros (batch, ...)."""
        return self._features.initial_state(batch) + self._controller.initial_state(batch)

    def act(
        self,
        observations: Any,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], State]:
        """Choose an action for every row of a batch.

        Args:
            observations: (B, *shape), or a dict of such.
            state: what the last call returned; None for the start of an episode.
            episode_start: (B,) bool, rows whose state is forgotten first; None for none.

        Returns:
            Actions (B, *shape of the action) and the next state, arrays with first axis B.

        Raises:
            NonFiniteOutputError: NaN or infinity came out.
        """
        if state is None:
            state = self.initial_state(rows(observations))
        elif episode_start is not None and np.any(episode_start):
            forget = np.asarray(episode_start, dtype=bool)
            state = tuple(np.where(_column(forget, part), 0, part) for part in state)
        remembered, hidden = state[: self._feature_states], state[self._feature_states :]
        features, remembered = self._features.read(observations, remembered)
        with np.errstate(over="ignore", invalid="ignore"):
            logits, hidden = self._controller.step(features, hidden)
        if not np.isfinite(logits).all():
            raise NonFiniteOutputError(
                "the policy's output is not finite: "
                f"features within [{features.min()}, {features.max()}], "
                f"weights within [{self._vector.min()}, {self._vector.max()}]"
            )
        return self._head(logits), remembered + hidden

    def _attention_vector(self) -> NDArray[np.float32]:
        if self._image is None:
            return np.empty(0, np.float32)
        return np.asarray(self._image.selector.get_vector(), np.float32)


def _column(mask: NDArray[np.bool_], like: NDArray[Any]) -> NDArray[np.bool_]:
    return mask.reshape(-1, *[1] * (like.ndim - 1))
