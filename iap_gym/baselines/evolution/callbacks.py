"""What can be called after every generation; returning False ends the training."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from iap_gym import _checks
from iap_gym._optional import require

if TYPE_CHECKING:
    from iap_gym.baselines.evolution.algorithm import EvolutionStrategies

Callback = Callable[["EvolutionStrategies"], bool | None]


class CheckpointCallback:
    """Saves the algorithm; ``EvolutionStrategies.load`` then continues bit for bit.

    Args:
        path: the file, overwritten each time; it is whole at every moment.
        every: save after every so many generations.
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 1) -> None:
        self._path = path
        self._every = _checks.integer("every", every, 1)

    def __call__(self, es: EvolutionStrategies) -> None:
        """Save if it is time."""
        if es.generation % self._every == 0:
            es.save(self._path)


def print_progress(es: EvolutionStrategies) -> None:
    """Write one line about the last generation to stdout."""
    row = es.history[-1]
    sys.stdout.write(
        f"generation {row['generation']}: {row['timesteps']} steps, "
        f"return mean {row['mean_return']:.2f}, best {row['best_return']:.2f}, "
        f"centre {row['center_return']:.2f}, "
        f"{row['steps_per_second']:.0f} steps/s\n"
    )
    sys.stdout.flush()


class ProgressBar:
    """A tqdm bar over the steps of one ``learn``, as a context manager and callback.

    Args:
        start: steps at the start.
        target: steps at which training ends.
    """

    def __init__(self, start: int, target: int) -> None:
        self._bar = require("tqdm", "baselines").tqdm(initial=start, total=target, unit="step")

    def __enter__(self) -> ProgressBar:
        """Return itself."""
        return self

    def __call__(self, es: EvolutionStrategies) -> None:
        """Move the bar to where the training is."""
        self._bar.set_postfix(best=f"{es.history[-1]['best_return']:.2f}", refresh=False)
        self._bar.update(es.num_timesteps - self._bar.n)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the bar as it stands."""
        self._bar.close()
