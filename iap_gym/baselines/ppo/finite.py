"""Observations that are not finite end a training before they get into the weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class NonFiniteObservationError(ValueError):
    """An observation holds NaN or infinity.

    Attributes:
        rows: indices of the observations, in training of the environments.
        key: of the Dict observation; None for other spaces.
    """

    def __init__(self, message: str, rows: list[int], key: str | None = None) -> None:
        super().__init__(message)
        self.rows = rows
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with all arguments."""
        return type(self), (str(self), self.rows, self.key)


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
                raise NonFiniteObservationError(describe(rows, key), rows, key)


def bad_rows(batch: NDArray[Any]) -> list[int]:
    """Return the indices of the observations that are not finite."""
    finite = np.isfinite(batch).reshape(len(batch), -1).all(axis=1)
    return np.flatnonzero(~finite).tolist()


def describe(rows: list[int], key: str | None) -> str:
    """Say what was wanted and what came."""
    where = "observation" if key is None else f"observation[{key!r}]"
    numbers = ", ".join(str(row) for row in rows)
    return f"{where}: expected finite numbers, got NaN or infinity from environment {numbers}"
