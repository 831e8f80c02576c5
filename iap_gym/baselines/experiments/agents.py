"""Agents to compare a trained one with: random, zero, and the trained one blind.

An agent has ``predict(observation, state, episode_start, deterministic) -> (action, state)``, as
every Stable-Baselines3 algorithm does; here always for one environment.
"""

from __future__ import annotations

import copy
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium import spaces


class Agent(Protocol):
    """What evaluation and film ask of an agent."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """Return the action for one observation, and the state to hand in next time."""
        ...


class RandomAgent:
    """Draws from the action space, with a generator of its own; ``seed`` decides an episode."""

    def __init__(self, space: gymnasium.Space) -> None:
        self.space = copy.deepcopy(space)

    def start(self, seed: int) -> None:
        """Begin an episode."""
        self.space.seed(seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """Draw an action."""
        return self.space.sample(), None


class ZeroAgent:
    """Always the action 0 (a Box: the point of it nearest to 0)."""

    def __init__(self, space: gymnasium.Space) -> None:
        self.action = zero_action(space)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """Return the same action."""
        return self.action.copy(), None


class BlindAgent:
    """The given agent, fed the first observation of an episode at every step of it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.first: Any = None

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """Act on the observation that the episode began with."""
        if episode_start is None or np.all(episode_start):
            self.first = copy.deepcopy(observation)
        return self.agent.predict(self.first, state, episode_start, deterministic)


def zero_action(space: gymnasium.Space) -> np.ndarray:
    """Return the action 0 of a space.

    Raises:
        ValueError: the space has no such action.
    """
    if isinstance(space, spaces.Box):
        return np.clip(np.zeros(space.shape, space.dtype), space.low, space.high)
    if isinstance(space, spaces.Discrete):
        return np.array(space.start)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary):
        return np.zeros(space.shape, space.dtype)
    raise ValueError(f"action space: expected Box, Discrete or Multi*, got {space}")
