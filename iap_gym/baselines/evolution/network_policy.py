"""Policies of two halves: features of the observation, then a controller.

Letters: B batch, n numbers.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from iap_gym.baselines.evolution.action_heads import make_head
from iap_gym.baselines.evolution.controllers import Controller
from iap_gym.baselines.evolution.features import Features
from iap_gym.baselines.evolution.observations import rows
from iap_gym.baselines.evolution.policy import (
    Arrays,
    EvolutionPolicy,
    NonFiniteOutputError,
    State,
    same_shapes,
    sized,
)

if TYPE_CHECKING:
    from iap_gym.attention import PatchSelector


class NetworkPolicy(EvolutionPolicy):
    """Features, a controller, and a head that makes actions of its outputs.

    The vector holds the numbers of the features (in their own order), then those of the controller
    (layer by layer: the matrix (out, in) row by row, the bias).

    Args:
        observation_space: what ``features`` read.
        action_space: Box, Discrete, MultiDiscrete or MultiBinary (see ``action_heads``).
        features: from observations to the inputs of the controller.
        squash: how an output becomes an action of a bounded Box, "tanh" or "clip" (see
            ``BoxHead``).

    Raises:
        ValueError: spaces or arguments outside what is said above.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        features: Features,
        *,
        squash: str = "tanh",
    ) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self._features = features
        self._head = make_head(action_space, squash)
        self._squash = squash
        self._controller = self._make_controller(features.size, self._head.size)
        self.num_parameters = features.num_parameters + self._controller.num_parameters
        self._feature_states = len(features.initial_state(1))
        self._vector = np.concatenate(
            [features.get_vector(), np.zeros(self._controller.num_parameters, np.float32)]
        )

    @abstractmethod
    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        """Return the network from features to logits."""

    @property
    def selector(self) -> PatchSelector | None:
        """What selects patches of the image; None without."""
        return self._features.selector

    @property
    def last_indices(self) -> NDArray[np.int64] | None:
        """The patches selected in the last ``act``, (B, l), best first; None without attention."""
        return self._features.last_indices

    @property
    def settings(self) -> dict[str, Any]:
        """What the numbers mean (see ``EvolutionPolicy``)."""
        settings = dict(self._features.settings)
        if isinstance(self.action_space, spaces.Box):
            settings["squash"] = self._squash
        return settings

    def images(self, observations: Any) -> NDArray[Any] | None:
        """Return the images that are read in a batch, (B, H, W, C); None without one."""
        return self._features.images(observations)

    def get_vector(self) -> NDArray[np.float32]:
        """Return all numbers, (n,) float32, a copy."""
        return self._vector.copy()

    def set_vector(self, vector: ArrayLike) -> None:
        """Take all numbers from a vector.

        Raises:
            ValueError: not (n,).
        """
        self._vector = sized(vector, self.num_parameters)
        first = self._features.num_parameters
        self._features.set_vector(self._vector[:first].copy())
        self._controller.set_vector(self._vector[first:])

    def parameter_scale(self) -> NDArray[np.float32]:
        """Return for every number 1/sqrt(numbers its unit adds up), (n,): the unit of search."""
        return np.concatenate(
            [self._features.parameter_scale(), self._controller.parameter_scale()]
        )

    def initial_vector(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw where a search starts: the features' own first weights, a quiet controller.

        The controller is uniform in +-0.1 times its scale: small, so that tanh is not saturated,
        and not zero, where all discrete actions would tie.
        """
        scale = self._controller.parameter_scale()
        controller = 0.1 * scale * rng.uniform(-1, 1, scale.size)
        return np.concatenate([self._features.initial_vector(rng), controller.astype(np.float32)])

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays: the vector by parts, and the selector's random features.

        Names are ``selector.W_q`` or ``convolution.0.weight`` and so on, then
        ``controller.0.weight``, ``controller.0.bias``, ...
        """
        arrays = self._features.state_dict()
        for i, (weight, bias) in enumerate(self._controller.layers):
            arrays[f"controller.{i}.weight"] = weight.copy()
            arrays[f"controller.{i}.bias"] = bias.copy()
        return arrays

    def load_state_dict(self, arrays: Arrays) -> None:
        """Take what ``state_dict`` gave.

        Raises:
            ValueError: other names or shapes.
        """
        current = self.state_dict()
        same_shapes(current, arrays)
        self._features.load_state_dict(arrays)
        controller = [arrays[name].ravel() for name in current if name.startswith("controller.")]
        self.set_vector(np.concatenate([self._features.get_vector(), *controller]))

    def initial_state(self, batch: int) -> State:
        """Return the state at the start of an episode for ``batch`` rows: zeros (batch, ...)."""
        return self._features.initial_state(batch) + self._controller.initial_state(batch)

    def act(
        self,
        observations: Any,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
    ) -> tuple[NDArray[Any], State]:
        """Choose an action for every row of a batch (see ``EvolutionPolicy``)."""
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


def _column(mask: NDArray[np.bool_], like: NDArray[Any]) -> NDArray[np.bool_]:
    return mask.reshape(-1, *[1] * (like.ndim - 1))
