"""Rollout buffers whose sequences have at most a given number of steps."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sb3_contrib.common.recurrent.buffers import RecurrentDictRolloutBuffer, RecurrentRolloutBuffer


class _Truncated:
    """Cuts the rollout of every environment each ``bptt`` steps, over an sb3-contrib buffer.

    The states before every step are stored, so that a sequence can begin anywhere.
    """

    buffer_size: int
    n_envs: int

    def __init__(self, *args: Any, bptt: int, **kwargs: Any) -> None:
        self.bptt = bptt
        self._whole_sequences = False
        super().__init__(*args, **kwargs)
        steps = np.tile(np.arange(self.buffer_size), self.n_envs)
        self._cuts = (steps % bptt == 0)[:, None]

    def get(self, batch_size: int | None = None) -> Generator[Any, None, None]:
        """Yield minibatches; see sb3-contrib."""
        size = self.buffer_size * self.n_envs if batch_size is None else batch_size
        self._whole_sequences = self.buffer_size % self.bptt == 0 and size % self.bptt == 0
        yield from super().get(batch_size)  # type: ignore[misc]

    def _get_samples(
        self, batch_inds: NDArray[Any], env_change: NDArray[Any], env: Any = None
    ) -> Any:
        if self._whole_sequences:
            # The minibatches begin at a random step, all with the same remainder modulo bptt: moved
            # back by it they are still a partition, and none begins or ends inside a sequence.
            batch_inds = (batch_inds - batch_inds[0] % self.bptt) % len(self._cuts)
        return super()._get_samples(batch_inds, np.logical_or(env_change, self._cuts), env)  # type: ignore[misc]


class TruncatedRolloutBuffer(_Truncated, RecurrentRolloutBuffer):
    """sb3-contrib's buffer with sequences of at most ``bptt`` steps."""


class TruncatedDictRolloutBuffer(_Truncated, RecurrentDictRolloutBuffer):
    """The same for Dict observations."""
