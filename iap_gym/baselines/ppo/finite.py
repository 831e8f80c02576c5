"""Observations and rewards that are not finite end a training before they reach the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnvWrapper
from torch import Tensor

from iap_gym.baselines.non_finite import NonFiniteObservationError, NonFiniteRewardError


class FiniteRewards(VecEnvWrapper):
    """Checks the rewards of every step; the rest goes through."""

    def reset(self) -> Any:
        """Reset; see SB3."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """Step; see SB3.

        Raises:
            NonFiniteRewardError: a reward is no number that float32 has.
        """
        result = self.venv.step_wait()
        rows = bad_rewards(result[1])
        if rows:
            raise NonFiniteRewardError(describe("reward", rows), rows)
        return result


def require_finite(
    observations: Tensor | Mapping[str, Tensor], names: Sequence[int] | None = None
) -> None:
    """Check a batch of observations.

    Args:
        observations: (B, ...), or a dict of such; integers are not looked at.
        names: what the error calls the rows; None is 0 to B - 1.

    Raises:
        NonFiniteObservationError: one holds NaN or infinity.
    """
    named = observations if isinstance(observations, Mapping) else {None: observations}
    for key, batch in named.items():
        # The sum is cheap and cannot be finite if a number is not; only then they are looked at.
        if batch.is_floating_point() and not math.isfinite(batch.sum().item()):
            rows = bad_rows(batch.detach().cpu().numpy())
            if rows:
                rows = rows if names is None else [names[row] for row in rows]
                raise NonFiniteObservationError(describe(name_of(key), rows), rows, key)


def bad_rows(batch: NDArray[Any]) -> list[int]:
    """Return the indices of the observations that are not finite."""
    finite = np.isfinite(batch).reshape(len(batch), -1).all(axis=1)
    return np.flatnonzero(~finite).tolist()


def bad_rewards(rewards: NDArray[Any]) -> list[int]:
    """Return the indices of the rewards that are not finite in float32, as buffers store them."""
    return np.flatnonzero(~(np.abs(rewards) <= np.finfo(np.float32).max)).tolist()


def name_of(key: str | None) -> str:
    """Return what an error calls an observation, or its part of a Dict."""
    return "observation" if key is None else f"observation[{key!r}]"


def describe(what: str, rows: list[int]) -> str:
    """Say what was wanted and what came."""
    numbers = ", ".join(str(row) for row in rows)
    return f"{what}: expected finite numbers, got NaN or infinity from environment {numbers}"
