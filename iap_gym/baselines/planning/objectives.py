"""What plans cost, as a learnt model or as the true simulator predicts it.

Both are functions of action sequences (P, H, A) to costs (P,), as ``ICEM`` asks for, from a present
that ``look`` sets. Letters: O numbers of an observation, S of a state of the world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym.baselines.planning.tasks import Array, Cost
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.baselines.world_model.state import ModelState
from iap_gym.envs.planar import World


class Step(NamedTuple):
    """What was seen, and what was done then."""

    observation: NDArray[np.float32]  # (O,)
    action: NDArray[np.float32]  # (A,)


class PlanCost(Protocol):
    """The cost of plans from the present on."""

    def look(self, observation: NDArray[np.float32], memory: Any) -> bool:
        """Set the present; say whether plans can be judged already.

        Args:
            observation: (O,), the newest.
            memory: what ``remember`` returned for the step before; None at the start.
        """
        ...

    def remember(self, step: Step, memory: Any) -> Any:
        """Return what has to be known of the steps so far, this one included; never None."""
        ...

    def __call__(self, actions: Array) -> Array:
        """Return the costs (P,) of action sequences (P, H, A)."""
        ...


class ModelObjective:
    """The cost of plans as a world model predicts their outcome.

    Args:
        model: compiled where it can be; put into evaluation mode.
        cost: of observations (..., O), summed over the steps of a plan.
    """

    def __init__(self, model: WorldModel, cost: Cost) -> None:
        self.model = model.eval()
        self._cost = cost
        self._observation = torch.empty(0)
        self._state: ModelState | None = None

    def look(self, observation: NDArray[np.float32], memory: ModelState | None) -> bool:
        """Set the newest observation (O,) and the model's state before it.

        Returns:
            False as long as f_init has not seen its inputs; then there are no costs.
        """
        self._observation = self._tensor(observation)[None, None]  # (1, 1, O)
        self._state = memory
        if memory is not None and memory.core is not None:
            return True
        seen = 0 if memory is None else len(memory.first)
        return seen + 1 >= self.model.context_inputs

    def remember(self, step: Step, memory: ModelState | None) -> ModelState:
        """Let the model see a step."""
        with torch.no_grad():
            observation, action = (self._tensor(part)[None] for part in step)
            return self.model.step(observation, action, memory)[1]

    def __call__(self, actions: Array) -> Array:
        """Return the costs (P,) of plans (P, H, A)."""
        moves = self._tensor(actions).transpose(0, 1)
        predicted = self.model.rollout(self._observation, moves, self._state)  # (H, P, O)
        return self._cost(predicted.cpu().numpy()).sum(axis=0)

    def _tensor(self, numbers: NDArray[Any]) -> Tensor:
        weight = self.model.f_post.weight
        return torch.as_tensor(np.asarray(numbers), dtype=weight.dtype, device=weight.device)


class SimulatorObjective:
    """The cost of plans as the true rules of a planar world have it: many worlds step at once.

    Args:
        world: the rules.
        cost: of observations (..., O), summed over the steps of a plan.
        get_state: returns the present state of the world, (S,), such as an environment's
            ``get_state``.
    """

    def __init__(self, world: World, cost: Cost, get_state: Callable[[], Array]) -> None:
        self._world = world
        self._cost = cost
        self._get_state = get_state
        self._state = np.empty(0)

    def look(self, observation: NDArray[np.float32], memory: Any) -> bool:
        """Take the present from the environment."""
        self._state = self._get_state()
        return True

    def remember(self, step: Step, memory: Any) -> bool:
        """Say that the episode has begun; the state holds everything else."""
        return True

    def __call__(self, actions: Array) -> Array:
        """Return the costs (P,) of plans (P, H, A)."""
        count, horizon, _ = actions.shape
        state = np.repeat(self._state[:, None], count, axis=1).T  # by column, as worlds step
        total = np.zeros(count)
        for t in range(horizon):
            state = self._world.step(state, actions[:, t])[0]
            total += self._cost(self._world.observe(state))
        return total
