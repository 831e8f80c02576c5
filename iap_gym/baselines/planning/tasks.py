"""The tasks that the GateL0RD paper plans: what an action sequence costs, and how episodes start.

From Appendix B.3 and B.4 of Gumbsch, Butz and Martius (2021) and the code that came with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.envs.planar import robot_remote_control as rrc
from iap_gym.envs.planar import shepherd

Array = NDArray[np.float64]
Cost = Callable[[NDArray[Any]], Array]

SHEPHERD_START = 2.9  # x of the agent, at the right end
GATE_SIDE = -0.1  # y above which the sheep counts as behind or above the gate
FARTHEST = 2.0  # what a place above costs, and no place more


def robot_cost(observations: NDArray[Any]) -> Array:
    """Return the distance between robot and goal.

    Args:
        observations: (..., 4), of Robot Remote Control.

    Returns:
        (...), float64.
    """
    return np.linalg.norm(np.asarray(observations, np.float64)[..., 2:4] - rrc.GOAL, axis=-1)


def shepherd_cost(observations: NDArray[Any]) -> Array:
    """Return the distance between cage and sheep, 2 at most, and 2 for a sheep above the gate.

    With y of the sheep, d the distance, both in the lengths of the world: clip(2·1[y > -0.1] + d,
    0, 2).

    Args:
        observations: (..., 7), of Shepherd.

    Returns:
        (...), float64.
    """
    places = shepherd.Shepherd.places(observations)
    way = np.linalg.norm(places[..., 2:4] - places[..., 4:6], axis=-1)
    return np.minimum(FARTHEST * (places[..., 5] > GATE_SIDE) + way, FARTHEST)


class StartsAtRight(gymnasium.Wrapper):
    """Shepherd whose episodes start with agent and cage at the right end, the rest as drawn."""

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; the cage is carried."""
        _, info = self.env.reset(**kwargs)
        env: Any = self.unwrapped
        state = env.get_state()
        state[[0, 2]] += SHEPHERD_START - state[0]
        env.set_state(state)
        return env.world.observe(state), info


@dataclass(frozen=True)
class PlanningTask:
    """A task of the paper.

    Attributes:
        env: id of the environment.
        cost: of observations (..., O), summed over the steps of a plan.
        settings: of the planner, and steps of an episode.
        waits: the action of the first steps, while f_init of a model has not seen its inputs.
        radius_factors: by variant, of the radii in which things happen, which are larger here.
        wrap: put around the environment.
    """

    env: str
    cost: Cost
    settings: PlannerSettings
    waits: tuple[float, ...]
    radius_factors: dict[str, float] = field(default_factory=dict[str, float])
    wrap: Callable[[gymnasium.Env], gymnasium.Env] | None = None

    def make_env(self, variant: str = "code", **kwargs: Any) -> gymnasium.Env:
        """Make the environment that is planned in.

        Args:
            variant: "code" or "paper".
            **kwargs: of the environment, such as ``render_mode``.
        """
        factor = self.radius_factors[_checks.one_of("variant", variant, self.radius_factors)]
        arguments = {"variant": variant, "radius_factor": factor, **kwargs}
        steps = self.settings.steps
        env = gymnasium.make(self.env, max_episode_steps=steps, **arguments)
        return env if self.wrap is None else self.wrap(env)


# 256 sequences, replanned every step, as long as those trained on.
TASKS: dict[str, PlanningTask] = {
    task.env: task
    for task in (
        PlanningTask(
            env="iap_gym/RobotRemoteControl-v0",
            cost=robot_cost,
            settings=PlannerSettings(horizon=50, steps=50),
            waits=(0.0, 0.0),
            radius_factors=rrc.PLANNING_RADIUS_FACTOR,
        ),
        PlanningTask(
            env="iap_gym/Shepherd-v0",
            cost=shepherd_cost,
            settings=PlannerSettings(horizon=100, steps=60),
            waits=(0.0, 0.0, 1.0),  # the cage is held
            radius_factors=shepherd.PLANNING_RADIUS_FACTOR,
            wrap=StartsAtRight,
        ),
    )
}


def task_of(env: str) -> PlanningTask:
    """Return the task of an environment.

    Raises:
        ValueError: the paper plans none in it.
    """
    return TASKS[_checks.one_of("env", env, TASKS)]
