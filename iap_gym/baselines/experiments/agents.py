"""Agents to compare a trained one with, and wrappers that make it blind or keep the last info."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray


class RandomAgent:
    """Draws every action from the action space, on a batch of one.

    Args:
        space: the action space; a copy of it is drawn from.
        seed: decides the actions.
    """

    def __init__(self, space: gymnasium.Space[Any], seed: int) -> None:
        self._space = copy.deepcopy(space)
        self._space.seed(seed)

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[NDArray[Any], None]:
        """Return one random action, (1, *shape of the action)."""
        return np.asarray(self._space.sample())[None], None


class ZeroAgent:
    """Always takes the action 0 (of a Box: the point of it nearest to 0), on a batch of one.

    Args:
        space: the action space.

    Raises:
        ValueError: the space has no such action.
    """

    def __init__(self, space: gymnasium.Space[Any]) -> None:
        self._action = zero_action(space)

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[NDArray[Any], None]:
        """Return the action 0, (1, *shape of the action)."""
        return self._action.copy()[None], None


class FirstObservation(gymnasium.Wrapper):
    """Shows the first observation of each episode in every step: an agent inside is blind."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; its observation is kept."""
        self._first, info = self.env.reset(**kwargs)
        return self._first, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step whose observation is not shown."""
        _, reward, terminated, truncated, info = self.env.step(action)
        return copy.deepcopy(self._first), float(reward), terminated, truncated, info


class LastInfo(gymnasium.Wrapper):
    """Keeps the ``info`` of the newest step as ``info``."""

    info: dict[str, Any]

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take a step."""
        result = self.env.step(action)
        self.info = result[-1]
        return result


def zero_action(space: gymnasium.Space[Any]) -> NDArray[Any]:
    """Return the action 0 of a space.

    Raises:
        ValueError: the space has no such action.
    """
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    if isinstance(space, spaces.Discrete):
        return np.asarray(space.start)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return np.zeros(space.shape, space.dtype)
    raise ValueError(f"action space: expected Box, Discrete or Multi*, got {space}")
