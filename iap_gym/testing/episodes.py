"""Play seeded episodes and compare them; what the contracts share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import data_equivalence

Make = Callable[[], gymnasium.Env]


@dataclass(frozen=True)
class Transition:
    """What one call of ``reset`` or ``step`` returned."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]

    @property
    def done(self) -> bool:
        """Whether the episode ended here."""
        return self.terminated or self.truncated


def play(env: gymnasium.Env, seed: int | None, steps: int) -> list[Transition]:
    """Reset with ``seed`` and take at most ``steps`` random actions, the same ones at every call.

    The actions come from a generator of their own, so they never depend on the environment.
    """
    space = env.action_space
    space.seed(7)
    observation, info = env.reset(seed=seed)
    transitions = [Transition(observation, 0.0, False, False, info)]
    for _ in range(steps):
        observation, reward, terminated, truncated, info = env.step(space.sample())
        transitions.append(Transition(observation, float(reward), terminated, truncated, info))
        if transitions[-1].done:
            break
    return transitions


def same(first: list[Transition], second: list[Transition]) -> bool:
    """Whether two episodes agree to the bit: observations, rewards, ends and infos."""
    return len(first) == len(second) and all(
        data_equivalence(a.observation, b.observation, exact=True)
        and a.reward == b.reward
        and (a.terminated, a.truncated) == (b.terminated, b.truncated)
        and data_equivalence(a.info, b.info, exact=True)
        for a, b in zip(first, second, strict=True)
    )


def arrays(observation: Any, path: str = "observation") -> Iterator[tuple[str, np.ndarray]]:
    """Yield every array inside an observation with its path."""
    if isinstance(observation, np.ndarray):
        yield path, observation
    elif isinstance(observation, dict):
        for key, value in observation.items():
            yield from arrays(value, f"{path}[{key!r}]")
    elif isinstance(observation, tuple | list):
        for index, value in enumerate(observation):
            yield from arrays(value, f"{path}[{index}]")
