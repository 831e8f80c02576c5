"""The walkers of the obstacle course to compare a policy with, as something that acts."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped.control import LatentControl
from iap_gym.envs.quadruped.obstacle_course import QuadrupedObstacleCourseEnv
from iap_gym.envs.quadruped.walkers import oracle

SHORTEST = -1.0  # of a duration: it looks as often as it can


class OracleWalker:
    """Knows where the gaps are and steers through them, on a batch of one.

    Args:
        env: the obstacle course with control "latent", and its own low level.

    Raises:
        ValueError: another environment.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        inner: Any = env.unwrapped
        steers = isinstance(inner, QuadrupedObstacleCourseEnv)
        if not steers or not isinstance(inner.mover.controller, LatentControl):
            raise _checks.refuse("env", 'the obstacle course with control "latent"', inner)
        self._env: QuadrupedObstacleCourseEnv = inner
        self._size = 1 + self._env.mover.command_size

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[NDArray[np.float32], None]:
        """Return the shortest duration and the command that turns to the next gap."""
        action = np.zeros((1, self._size), np.float32)
        action[0, 0] = SHORTEST
        action[0, 1] = oracle(self._env.layout, self._env.path[-1])
        return action, None
