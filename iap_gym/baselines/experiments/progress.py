"""What is seen of a training run while it runs: a progress bar and TensorBoard."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from tqdm import tqdm

from iap_gym.baselines.experiments.run import Run


class Progress:
    """Moves a bar on stderr and writes scalars for TensorBoard.

    Args:
        run: its ``tensorboard`` folder is written to; what lies there from steps after ``done``,
            by a process that was killed, is replaced.
        done: steps before this training.
        bar: whether to draw the bar.
        total: steps in all.
        unit: what a step is.
    """

    def __init__(self, run: Run, done: int, bar: bool, total: int, unit: str = "step") -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(run.tensorboard_dir), purge_step=done + 1)
        self._bar = tqdm(
            total=total,
            initial=min(done, total),
            unit=unit,
            unit_scale=True,
            disable=not bar,
            dynamic_ncols=True,
            # A log file gets a line now and then; a terminal is redrawn.
            mininterval=0.2 if sys.stderr.isatty() else 20.0,
        )

    def record(self, group: str, row: Mapping[str, Any], timesteps: int) -> None:
        """Write the numbers of a row, but those that are missing (None or NaN)."""
        for name, value in row.items():
            if value is not None and not math.isnan(value):
                self._writer.add_scalar(f"{group}/{name}", value, timesteps)

    def advance(self, timesteps: int, text: str, **numbers: str) -> None:
        """Move the bar to so many steps."""
        self._bar.set_description(text, refresh=False)
        self._bar.set_postfix(numbers, refresh=False)
        self._bar.update(min(timesteps, self._bar.total) - self._bar.n)

    def close(self) -> None:
        """Flush what is buffered."""
        self._bar.close()
        self._writer.close()
