"""Train a run folder, from nothing or from its newest checkpoint."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any

from tqdm import tqdm

from iap_gym.baselines.evolution import EvolutionStrategies
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run


class Recorder:
    """Saves a run after every generation: checkpoint, metrics and TensorBoard; moves the bar.

    The checkpoint comes first and holds the whole history, from which the metrics are written: a
    run that is killed between the two loses no row when it goes on.
    """

    def __init__(self, run: Run, algorithm: EvolutionStrategies, progress: bool) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.run = run
        total = run.config().total_timesteps
        self.writer = SummaryWriter(
            str(run.tensorboard_dir), purge_step=algorithm.num_timesteps + 1
        )
        self.bar = tqdm(
            total=total,
            initial=min(algorithm.num_timesteps, total),
            unit="step",
            unit_scale=True,
            disable=not progress,
            dynamic_ncols=True,
            # A log file gets a line now and then; a terminal is redrawn.
            mininterval=0.2 if sys.stderr.isatty() else 20.0,
        )

    def __call__(self, algorithm: EvolutionStrategies) -> None:
        """Save the generation that has just ended."""
        algorithm.save(self.run.checkpoint_file)
        self.run.write_metrics(algorithm.history)
        newest = algorithm.history[-1]
        for name, value in newest.items():
            if name not in ("generation", "timesteps"):
                self.writer.add_scalar(f"es/{name}", value, newest["timesteps"])
        self.bar.set_description(f"generation {newest['generation']}", refresh=False)
        self.bar.set_postfix(
            mean=f"{newest['mean_return']:.1f}", best=f"{newest['best_return']:.1f}", refresh=False
        )
        self.bar.update(min(algorithm.num_timesteps, self.bar.total) - self.bar.n)

    def close(self) -> None:
        """Flush what is buffered."""
        self.bar.close()
        self.writer.close()


def workers_of(config: TrainConfig) -> dict[str, Any]:
    """Return the arguments of the algorithm that say who plays the episodes."""
    evaluator = "processes" if config.workers > 1 else "inline"
    return {"evaluator": evaluator, "num_workers": config.workers}


def build(config: TrainConfig) -> EvolutionStrategies:
    """Build the algorithm of a config, untrained.

    Raises:
        ValueError: the environment, policy or algorithm refuses an argument.
    """
    arguments: dict[str, Any] = {**workers_of(config), **config.algo_kwargs}
    return EvolutionStrategies(
        config.policy,
        config.env,
        env_kwargs=config.env_kwargs,
        policy_kwargs=config.policy_kwargs,
        seed=config.seed,
        **arguments,
    )


def train(run: Run, progress: bool = False) -> float:
    """Train a run to its config's total of steps, from its newest checkpoint if it has one.

    A run that was killed and goes on ends with the same weights, to the bit, as one that was not.

    Args:
        run: made by ``Run.create``.
        progress: whether to draw a progress bar on stderr.

    Returns:
        The wall time of this call in seconds.
    """
    config = run.config()
    begin = time.monotonic()
    if run.checkpoint_file.is_file():
        algorithm = EvolutionStrategies.load(run.checkpoint_file, **workers_of(config))
    else:
        algorithm = build(config)
    try:
        remaining = config.total_timesteps - algorithm.num_timesteps
        if remaining > 0:
            with contextlib.closing(Recorder(run, algorithm, progress)) as recorder:
                algorithm.learn(remaining, callback=recorder, reset_num_timesteps=False)
        algorithm.policy.save_weights(run.weights_file)
    finally:
        algorithm.close()
    return time.monotonic() - begin
