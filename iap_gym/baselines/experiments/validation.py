"""Evaluations of the centre of a search on a fixed set of episodes, during training."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from iap_gym import _checks
from iap_gym.baselines.evolution import EvolutionStrategies
from iap_gym.baselines.evolution.env_source import EnvSource, resolve
from iap_gym.baselines.evolution.evaluation import Evaluator, InlineEvaluator
from iap_gym.baselines.evolution.processes import ProcessEvaluator
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run, rows_until

# Episodes are seeded FIRST_SEED, FIRST_SEED + 1, ..., as in evaluations of ppo; `iap-gym evaluate`
# has another range.
FIRST_SEED = 2_000_000


class Validation:
    """Plays the same episodes every so many steps, and keeps the best generation's weights.

    The first evaluation is that of the start, the last that of the end. Rows go to
    ``evaluations.csv``, the policy of the best to ``best.safetensors``.

    Args:
        run: where these lie; the rows that it has up to the algorithm's steps are gone on with.
        config: of the run, with ``eval_every``.
        algorithm: what is trained; without a generation, its start is evaluated here.
    """

    def __init__(self, run: Run, config: TrainConfig, algorithm: EvolutionStrategies) -> None:
        assert config.eval_every is not None, "there is nothing to do without eval_every"
        self._run = run
        self._every = config.eval_every
        self._total = config.total_timesteps
        self._seeds = np.arange(FIRST_SEED, FIRST_SEED + config.eval_episodes)[None]
        self._evaluator = self._make_evaluator(config, algorithm)
        self._rows: list[dict[str, Any]] = [
            *rows_until(run.evaluations_file, algorithm.num_timesteps)
        ]
        self._best = max((float(row["mean_return"]) for row in self._rows), default=-math.inf)
        if not algorithm.history and not self._rows:
            self._evaluate(algorithm)

    @staticmethod
    def check(config: TrainConfig, algorithm: EvolutionStrategies) -> None:
        """Check that the policy can act in the environment of the evaluations.

        Raises:
            ValueError: it has other spaces than that of training.
        """
        env = _source(config).make()
        env.close()
        for name in ("observation_space", "action_space"):
            wanted, got = getattr(algorithm, name), getattr(env, name)
            if wanted != got:
                raise _checks.refuse("eval_env_kwargs", f"the {name} of training, {wanted}", got)

    @staticmethod
    def _make_evaluator(config: TrainConfig, algorithm: EvolutionStrategies) -> Evaluator:
        source = _source(config)
        if config.workers > 1:
            return ProcessEvaluator(source, algorithm.policy, None, config.workers)
        return InlineEvaluator(source, algorithm.policy, None)

    def after_generation(self, algorithm: EvolutionStrategies) -> dict[str, Any] | None:
        """Evaluate if it is time, and return the row; None if it is not."""
        history = algorithm.history
        before = history[-2]["timesteps"] if len(history) > 1 else 0
        now = algorithm.num_timesteps
        if now // self._every == before // self._every and now < self._total:
            return None
        return self._evaluate(algorithm)

    def _evaluate(self, algorithm: EvolutionStrategies) -> dict[str, Any]:
        begin = time.perf_counter()
        scores = self._evaluator.evaluate(algorithm.get_vector()[None], self._seeds)
        episodes = self._seeds.size
        row = {
            "timesteps": algorithm.num_timesteps,
            "episodes": episodes,
            "mean_return": float(scores.returns[0]),
            "mean_length": float(scores.steps[0]) / episodes,
            "seconds": time.perf_counter() - begin,
        }
        if row["mean_return"] > self._best:
            self._best = row["mean_return"]
            algorithm.policy.save_weights(self._run.best_file)
        self._rows.append(row)
        self._run.write_evaluations(self._rows)
        return row

    def close(self) -> None:
        """Free environments and workers."""
        self._evaluator.close()


def _source(config: TrainConfig) -> EnvSource:
    return resolve(config.env, config.evaluated().env_kwargs)
