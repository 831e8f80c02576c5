"""What a planar world is: settings, and pure functions on the states of n worlds."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

VARIANTS = ("code", "paper")


@dataclass(frozen=True)
class World(abc.ABC):
    """The rules of a world; letters: n worlds, S numbers of a state, A of an action.

    A state is float64 (S,), and everything follows from it: the next state, the observation and
    the events. The methods take and return the states of n worlds, (n, S) in any memory order,
    and never change their arguments. They keep to operations whose last bit does not depend on n,
    so that a world is the same alone and among others.

    Attributes:
        variant: "code", the constants of the published code, or "paper", those of the paper.
    """

    variant: str = "code"

    state_names: ClassVar[tuple[str, ...]]  # of the S numbers, in order
    events: ClassVar[dict[str, int]]  # name of each event: where the state holds its flag, 0 or 1
    action_size: ClassVar[int]  # 0: the world takes no action
    num_draws: ClassVar[int]  # uniform numbers that a start takes

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: one is outside of what its world allows.
        """
        _checks.one_of("variant", self.variant, VARIANTS)

    @property
    @abc.abstractmethod
    def state_bounds(self) -> tuple[Array, Array]:
        """Lowest and highest state, (S,) each; every state of an episode lies between them."""

    @abc.abstractmethod
    def observation_space(self) -> spaces.Box:
        """Return a new space of one observation."""

    def action_space(self) -> spaces.Space[Any]:
        """Return a new space of one action."""
        return spaces.Box(-1.0, 1.0, (self.action_size,), np.float32)

    @abc.abstractmethod
    def initial(self, draws: Array) -> Array:
        """Return the states (n, S) that episodes start in.

        Args:
            draws: (n, num_draws), uniform in [0, 1).
        """

    @abc.abstractmethod
    def step(self, state: Array, action: Array) -> tuple[Array, Array, Flags]:
        """Return the next states (n, S), rewards (n,) float64 and ends (n,) bool.

        A world goes on after its end: a collector of data need not stop there.

        Args:
            state: (n, S).
            action: (n, A) within [-1, 1]; (n,) and ignored where A is 0.
        """

    @abc.abstractmethod
    def observe(self, state: Array) -> NDArray[np.float32]:
        """Return the observations (..., D) of states (..., S), C-contiguous."""

    def read_events(self, state: Array) -> dict[str, Flags]:
        """Return each event's flags (...) in states (..., S)."""
        return {name: state[..., index] > 0.5 for name, index in self.events.items()}

    def checked_state(self, state: Any, shape: tuple[int, ...]) -> Array:
        """Return a copy of a state from outside, or of several.

        Args:
            state: of shape ``shape``, (S,) or (n, S).
            shape: what is wanted.

        Raises:
            ValueError: another shape, a number that is not finite, one outside the world, or a
                flag that is neither 0 nor 1.
        """
        copy = _checks.array("state", state, shape, copy=True)
        low, high = self.state_bounds
        rows = copy.reshape(-1, len(self.state_names))
        outside = (rows < low) | (rows > high)
        for flag in self.events.values():
            outside[:, flag] = (rows[:, flag] != 0) & (rows[:, flag] != 1)
        if outside.any():
            row, column = (int(index) for index in np.argwhere(outside)[0])
            where = f"[{row}, {column}]" if len(shape) == 2 else f"[{column}]"
            wanted = f"a number in [{low[column]:g}, {high[column]:g}]"
            if column in self.events.values():
                wanted = "0 or 1"
            name = f"state{where} ({self.state_names[column]})"
            raise _checks.refuse(name, wanted, float(rows[row, column]))
        return copy


def uniform(low: float, high: float, draws: Array) -> Array:
    """Return ``low + (high - low) * draws``, uniform between the two."""
    return low + (high - low) * draws


def by_columns(size: int, state_size: int) -> Array:
    """Return an empty (size, state_size) array whose columns are contiguous: steps go by column."""
    return np.empty((state_size, size)).T


def clipped_action(name: str, action: Any, shape: tuple[int, ...]) -> Array:
    """Return an action as float64, clipped to [-1, 1].

    Raises:
        ValueError: another shape, or a number that is not finite.
    """
    numbers = _checks.array(name, action, shape)
    return np.minimum(np.maximum(numbers, -1.0), 1.0)
