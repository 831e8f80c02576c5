"""Potential-based shaping: rewards along the way that change no policy's rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.planar import robot_remote_control as rrc
from iap_gym.envs.planar import shepherd
from iap_gym.envs.planar.robot_remote_control import RobotRemoteControl
from iap_gym.envs.planar.shepherd import Shepherd
from iap_gym.envs.planar.vector_env import PlanarVectorEnv
from iap_gym.envs.planar.world import Array

Potential = Callable[[Array], Array]

SCALE = 1 / 50  # of the potentials, for each step that is still to be taken
PLACED = 0.08  # |cage x - sheep x| of a cage that will catch the sheep, below its radius of 0.1


class PotentialShaping(
    VectorWrapper[NDArray[np.float32], Any, NDArray[np.float32], Any, NDArray[Any]]
):
    """Adds F = γΦ(s') - Φ(s) to the rewards of a planar vector environment.

    Φ sees the true state s, also what is not observed. γ is the discount of the learner, and Φ(s')
    is taken as 0 where an episode terminates. So the discounted sum of F over an episode is
    -Φ(s_0), whatever was done, plus γ^T Φ(s_T) if it is truncated after T steps, which belongs to
    the value that a learner assumes there. Every policy's return changes by the same number, that
    of a policy which sees observations alone too, and the best one stays the best.

    Ng, Harada and Russell 1999, "Policy invariance under reward transformations", Theorem 1.

    Args:
        env: a planar vector environment.
        potential: Φ, from states (n, S) to (n,).
        gamma: γ in [0, 1].

    Raises:
        ValueError: γ is outside of [0, 1], or the environment is another one.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], potential: Potential, gamma: float) -> None:
        planar = env.unwrapped
        if not isinstance(planar, PlanarVectorEnv):
            raise _checks.refuse("env", "a planar vector environment", env)
        super().__init__(env)
        self.gamma = _checks.real("gamma", gamma, 0.0, 1.0)
        self._planar: PlanarVectorEnv[Any] = planar
        self._potential = potential

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step, and add F to the rewards, but for worlds that this step started anew."""
        anew, before = self._planar.starts_anew, self._potential(self._planar.get_state())
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        after = np.where(terminated, 0.0, self._potential(self._planar.get_state()))
        rewards = rewards + np.where(anew, 0.0, self.gamma * after - before)
        return observations, rewards, terminated, truncated, infos


def robot_remote_control_potential(state: Array) -> Array:
    """Return -SCALE times the steps to the computer, if it was not reached, and on to the goal."""
    computer = _steps(state[:, :2] - rrc.COMPUTER)
    computer *= state[:, RobotRemoteControl.events["controlled"]] < 0.5
    return -SCALE * (computer + _steps(state[:, 2:4] - rrc.GOAL))


def shepherd_potential(state: Array) -> Array:
    """Return -SCALE times the steps of the plan: cage below the sheep, lever, and the sheep walks.

    A cage that was dropped elsewhere, be the gate open or not, has to be fetched first.
    """
    agent, cage, sheep = state[:, :2], state[:, 2:4], state[:, 4:6]
    carried = state[:, Shepherd.events["carried"]] > 0.5
    closed = state[:, Shepherd.events["gate_open"]] < 0.5
    aside = np.abs(cage[:, 0] - sheep[:, 0])
    placed = ~carried & (aside < PLACED)
    fetch = np.where(carried | placed, 0.0, _steps(agent - cage))
    carry = np.where(placed, 0.0, aside / shepherd.MOVE)
    # To the lever from where the cage is left, or from where the agent is.
    leaves = np.where(placed[:, None], agent, np.stack([sheep[:, 0], cage[:, 1]], axis=1))
    lever = closed * _steps(leaves - shepherd.LEVER)
    return -SCALE * (fetch + carry + lever)


def _steps(way: Array) -> Array:
    """Return how many steps ways (n, 2) take: x and y move apart, up to MOVE each."""
    return np.abs(way).max(1) / rrc.MOVE
