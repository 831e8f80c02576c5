"""What every policy of the search is: a deterministic actor whose trained numbers are one vector.

Letters: B batch, n numbers.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import save

from iap_gym import _checks
from iap_gym._files import write_bytes

if TYPE_CHECKING:
    from iap_gym.attention import PatchSelector

State = tuple[NDArray[Any], ...]
Arrays = Mapping[str, NDArray[Any]]


class NonFiniteOutputError(FloatingPointError):
    """A policy gave NaN or infinity, from its weights or from the observation."""


class EvolutionPolicy(ABC):
    """A deterministic policy that is a function of one vector, the observation and a state.

    Attributes:
        observation_space: what it acts on.
        action_space: what it gives.
        num_parameters: n, the numbers that are trained.
    """

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    num_parameters: int

    @property
    def selector(self) -> PatchSelector | None:
        """What selects patches of the image; None for a policy without."""
        return None

    @property
    def last_indices(self) -> NDArray[np.int64] | None:
        """The patches selected in the last ``act``, (B, l), best first; None without attention."""
        return None

    def images(self, observations: Any) -> NDArray[Any] | None:
        """Return the images that are read in a batch, (B, H, W, C); None without one."""
        del observations
        return None

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments that say what the numbers mean where their shapes do not, by name.

        Defaults are filled in, so that two policies of the same arrays and settings are the same
        function of the observation.
        """
        return {}

    def prepare(self, env: gymnasium.Env[Any, Any]) -> None:
        """Put into an environment what the policy has there; called before every reset."""
        del env

    @abstractmethod
    def get_vector(self) -> NDArray[np.float32]:
        """Return the trained numbers, (n,) float32, a copy."""

    @abstractmethod
    def set_vector(self, vector: ArrayLike) -> None:
        """Take the trained numbers from a vector.

        Raises:
            ValueError: not (n,).
        """

    @abstractmethod
    def parameter_scale(self) -> NDArray[np.float32]:
        """Return for every number 1/sqrt(numbers its unit adds up), (n,): the unit of search."""

    @abstractmethod
    def initial_vector(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Draw where a search starts, (n,)."""

    @abstractmethod
    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return copies of all arrays, those too that are not trained."""

    @abstractmethod
    def load_state_dict(self, arrays: Arrays) -> None:
        """Take what ``state_dict`` gave.

        Raises:
            ValueError: other names or shapes.
        """

    def start_from(self, arrays: Arrays, part: str | None = None) -> None:
        """Take the weights of another policy as the place where a search starts.

        Args:
            arrays: the other's ``state_dict``.
            part: the part of this policy that they are for; None for all of it.

        Raises:
            ValueError: other names or shapes, or no such part.
        """
        if part is not None:
            raise _checks.refuse("start_from", "no part, as the policy has none", part)
        self.load_state_dict(arrays)

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write ``state_dict()`` as a safetensors file."""
        write_bytes(path, save(self.state_dict()))

    @abstractmethod
    def initial_state(self, batch: int) -> State:
        """Return the state at the start of an episode for ``batch`` rows: zeros (batch, ...)."""

    @abstractmethod
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


def same_shapes(current: Arrays, arrays: Arrays) -> None:
    """Check that two dicts of arrays have the same names and shapes.

    Raises:
        ValueError: they do not.
    """
    wanted = {name: array.shape for name, array in current.items()}
    got = {name: array.shape for name, array in arrays.items()}
    if wanted != got:
        wanted, got = (
            {name: shape for name, shape in one.items() if other.get(name) != shape}
            for one, other in ((wanted, got), (got, wanted))
        )
        raise _checks.refuse("arrays", f"names and shapes {wanted}", got)


def with_prefix(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def sized(vector: ArrayLike, size: int) -> NDArray[np.float32]:
    """Return a vector of a size as float32, a copy.

    Raises:
        ValueError: it has another shape.
    """
    numbers = np.array(vector, dtype=np.float32)
    if numbers.shape != (size,):
        raise _checks.refuse("vector", f"shape ({size},)", numbers.shape)
    return numbers
