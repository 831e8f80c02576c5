"""Goals, as ``GoalEnv`` of gymnasium-robotics and hindsight replay know them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import ArrayLike

THRESHOLD = 0.05  # m, within which a goal is reached
REWARDS = ("sparse", "dense")
GOAL_METHODS = ("compute_reward", "compute_terminated", "compute_truncated")


def distance(achieved: ArrayLike, desired: ArrayLike) -> Any:
    """Return the distances (...) between places (..., 3), float64."""
    difference = np.asarray(achieved, np.float64) - np.asarray(desired, np.float64)
    return np.sqrt((difference**2).sum(-1))


def reward_at(distances: Any, kind: str) -> Any:
    """Return 0 where a goal is reached and -1 elsewhere ("sparse"), or minus the distance."""
    return -distances if kind == "dense" else np.where(distances > THRESHOLD, -1.0, 0.0)


class GoalInterface(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Pass on what a goal environment has beside Gymnasium's methods.

    Gymnasium's wrappers pass no other attributes on; ``gymnasium.make`` puts this one outermost, so
    that ``env.compute_reward`` is there where Stable-Baselines3 looks for it. Through any wrapper
    around this one, ``env.get_wrapper_attr("compute_reward")`` reaches it.

    Args:
        env: the environment; without goals, this wrapper does nothing.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)

    def __getattr__(self, name: str) -> Any:
        if name in GOAL_METHODS and "env" in self.__dict__:
            return self.env.get_wrapper_attr(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
