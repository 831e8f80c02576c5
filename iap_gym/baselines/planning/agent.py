"""An agent that plans anew in every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.baselines.planning.icem import ICEM
from iap_gym.baselines.planning.objectives import PlanCost, Step
from iap_gym.baselines.planning.settings import PlannerSettings


class PlanningAgent:
    """Acts by iCEM, on a batch of one, and remembers what its objective needs of the past.

    Args:
        objective: judges plans.
        action_low: (A,).
        action_high: (A,).
        rng: owner of the search's randomness.
        settings: of the planner.
        waits: (A,), the action as long as the objective cannot judge plans, as a model whose f_init
            sees several inputs; clipped to the bounds.

    Raises:
        ValueError: an argument outside of this.

    Attributes:
        planner: forgets its plans where an episode begins.
    """

    def __init__(
        self,
        objective: PlanCost,
        action_low: ArrayLike,
        action_high: ArrayLike,
        rng: np.random.Generator,
        settings: PlannerSettings | None = None,
        waits: ArrayLike | None = None,
    ) -> None:
        self._objective = objective
        arguments = (settings or PlannerSettings()).arguments()
        self.planner = ICEM(objective, action_low, action_high, rng=rng, **arguments)
        low, high = np.asarray(action_low), np.asarray(action_high)
        chosen = np.zeros(low.shape) if waits is None else waits
        self._waits = np.clip(_checks.array("waits", chosen, low.shape), low, high)

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[NDArray[np.float32], Any]:
        """Plan, and return the first action of the plan.

        Args:
            observations: (1, O).
            state: what the last call returned; None is the start of an episode.
            episode_start: (1,), True where an episode starts whatever the state.

        Returns:
            Actions (1, A), float32, and the state.
        """
        if state is None or (episode_start is not None and np.any(episode_start)):
            state = None
            self.planner.reset()
        observation = np.asarray(observations, np.float32)[0]
        ready = self._objective.look(observation, state)
        chosen = self.planner.plan() if ready else self._waits
        action = chosen.astype(np.float32)
        return action[None], self._objective.remember(Step(observation, action), state)
