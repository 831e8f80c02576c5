"""Train a run folder, from nothing or from its newest checkpoint."""

from __future__ import annotations

import importlib
import time
from types import ModuleType

from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.lock import in_use
from iap_gym.baselines.experiments.run import Run


def _trainer(config: TrainConfig) -> ModuleType:
    """Import the module of a config's algorithm; the other is not needed."""
    return importlib.import_module(f"iap_gym.baselines.experiments.train_{config.algo}")


def settle(config: TrainConfig) -> TrainConfig:
    """Check every argument of a config and fill in what it leaves open.

    Returns:
        The config with every setting that decides the outcome, so that a run can be repeated after
        a default has changed.

    Raises:
        ValueError: the environment, the policy or the algorithm refuses an argument.
        TypeError: an argument that one of them does not know.
    """
    return _trainer(config).settle(config)


def train(run: Run, progress: bool = False) -> float:
    """Train a run to its config's total of steps, from its newest checkpoint if it has one.

    A run that was killed and goes on ends with the same weights, to the bit, as one that was not.

    Args:
        run: made by ``Run.create``.
        progress: whether to draw a progress bar on stderr.

    Returns:
        The wall time of this call in seconds.

    Raises:
        RunInUseError: another process trains it.
        ValueError: the config is wrong, or the checkpoint is not one of it.
    """
    begin = time.monotonic()
    with in_use(run):
        _trainer(run.config()).train(run, progress)
    return time.monotonic() - begin
