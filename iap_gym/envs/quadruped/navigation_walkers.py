"""Walkers to compare navigation with: random, straight to the goal, and along the shortest way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs._angles import wrapped
from iap_gym.envs.quadruped.navigation import NavigationTask
from iap_gym.envs.quadruped.navigation_steering import curve, pivot

Observation = Mapping[str, NDArray[Any]]
Walker = Callable[[Observation], NDArray[np.float32]]

LOOK_AHEAD = 0.5  # m, of the point on the way that the oracle walks to
_HOLD = 50  # control steps of one random curve
_PIVOT = 1.2  # rad of bearing beyond which it is turned on the spot
_GAIN = 0.8  # turn per rad


def steer(bearing: float, observation: Observation) -> NDArray[np.float32]:
    """Return the action of "pmtg" that turns to a bearing and walks on.

    Args:
        bearing: rad, positive is to the left.
        observation: of the environment; its ``proprio`` ends with the gait's phase.
    """
    if abs(bearing) > _PIVOT:
        return pivot(math.copysign(1.0, bearing), observation["proprio"][-2:]).astype(np.float32)
    return curve(min(max(_GAIN * bearing, -1.0), 1.0)).astype(np.float32)


def random_walker(rng: np.random.Generator) -> Walker:
    """Return a walker on random curves, a new one every half second."""
    left, turn = 0, 0.0

    def walk(observation: Observation) -> NDArray[np.float32]:
        nonlocal left, turn
        if left == 0:
            left, turn = _HOLD, float(rng.uniform(-1.0, 1.0))
        left -= 1
        return curve(turn).astype(np.float32)

    return walk


def straight_walker() -> Walker:
    """Return a walker that turns to the goal and walks there, whatever is in between."""

    def walk(observation: Observation) -> NDArray[np.float32]:
        return steer(float(observation["goal"][1]), observation)

    return walk


def oracle_walker(env: Any) -> Walker:
    """Return a walker that knows the shortest way, and looks a little ahead on it.

    Args:
        env: a navigation environment with ``control="pmtg"``; reset it before each episode.
    """

    def walk(observation: Observation) -> NDArray[np.float32]:
        task = env.unwrapped.task
        assert isinstance(task, NavigationTask)
        x, y, yaw = env.unwrapped.path[-1]
        way = task.field.path((x, y), LOOK_AHEAD)
        target = way[-1] if len(way) else task.goal
        bearing = math.atan2(target[1] - y, target[0] - x) - yaw
        return steer(wrapped(bearing), observation)

    return walk
