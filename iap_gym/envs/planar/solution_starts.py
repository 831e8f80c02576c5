"""Shepherd with starts in the middle of a solution, for a reward that chance never finds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from iap_gym import _checks
from iap_gym.envs.planar.policies import roll_out, solve_shepherd
from iap_gym.envs.planar.shepherd import Shepherd
from iap_gym.envs.planar.vector_env import PlanarVectorEnv
from iap_gym.envs.planar.world import Array

SOLUTIONS = 2000  # that starts are taken from
STEPS = 100  # in which it has to be over


@dataclass(frozen=True)
class ShepherdWithSolutions(Shepherd):
    """Shepherd for training: a share of the episodes starts along the way of a solution.

    Moves, rewards and ends are Shepherd's. The nearest of these starts are so near the catch that
    chance finds it, and from there the task is learnt backwards (Salimans and Chen 2018, "Learning
    Montezuma's Revenge from a Single Demonstration"). In half of them, all states of that kind
    equally likely, the cage is still carried, since few of a solution's steps decide where it is
    left; in the other half it lies below the sheep. An evaluation is to use Shepherd itself.

    Attributes:
        share: probability of such a start, in [0, 1].
    """

    share: float = 0.8

    num_draws: ClassVar = Shepherd.num_draws + 2

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        _checks.real("share", self.share, 0.0, 1.0)

    def initial(self, draws: Array) -> Array:
        """Return starts of Shepherd, or along a solution."""
        state = super().initial(draws[:, : Shepherd.num_draws])
        # In [0, 1) for a start with the cage carried, in [1, 2) for one with the cage left.
        place = 2 * draws[:, -2] / self.share if self.share else np.full(len(draws), np.inf)
        for part, ways in enumerate(self._solutions):
            chosen = (part <= place) & (place < part + 1)
            state[chosen] = ways[(draws[chosen, -1] * len(ways)).astype(np.intp)]
        return state

    @cached_property
    def _solutions(self) -> tuple[Array, Array]:
        """States along solutions with the cage carried and left, whatever the seed the same."""
        draws = np.random.default_rng(0).random((SOLUTIONS, Shepherd.num_draws))
        states, _ = roll_out(self, super().initial(draws), _solve_sideways, STEPS)
        caught = states[..., self.events["caught"]] > 0.5
        # Starts that this policy does not solve in time are left out.
        ways = states[~caught & caught[-1]]
        carried = self.read_events(ways)["carried"]
        return ways[carried], ways[~carried]


def _solve_sideways(t: int, state: Array) -> Array:
    """Solve it without lifting the cage, which is faster."""
    state = state.copy()
    state[:, 5] = state[:, 3] + 0.05
    return solve_shepherd(t, state)


class ShepherdWithSolutionsVectorEnv(PlanarVectorEnv[ShepherdWithSolutions]):
    """Many worlds of ``ShepherdWithSolutions`` in one array."""

    world_class = ShepherdWithSolutions
