"""Errors about observations and rewards that are NaN or infinite, the same for all learners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class NonFiniteError(ValueError):
    """An observation or a reward is NaN or infinite.

    Attributes:
        rows: indices of the observations, in training of the environments.
        key: of the Dict observation; None for other spaces and for rewards.
        outside_rollouts: whether it came up in ``predict`` or ``run_episode``, and not in the
            rollouts that ``RecurrentPPO`` learns from.
    """

    outside_rollouts = False

    def __init__(self, message: str, rows: Sequence[int], key: str | None = None) -> None:
        super().__init__(message)
        self.rows = list(rows)
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all arguments and attributes."""
        return type(self), (str(self), self.rows, self.key), self.__dict__


class NonFiniteObservationError(NonFiniteError):
    """An observation holds NaN or infinity."""


class NonFiniteRewardError(NonFiniteError, FloatingPointError):
    """A reward is NaN or infinite."""
