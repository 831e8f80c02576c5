"""What happens between the updates of RecurrentPPO: rows, evaluations, checkpoints, new seeds."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import safe_mean

from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.periodic import evaluate_policy_batch
from iap_gym.baselines.experiments.ppo_checkpoint import save_checkpoint
from iap_gym.baselines.experiments.progress import Progress
from iap_gym.baselines.experiments.run import Run, rows_until
from iap_gym.baselines.experiments.vector import make_single
from iap_gym.baselines.minigrid import is_minigrid, is_success

# Column of metrics.csv: what RecurrentPPO logs it as.
LOGGED = {
    "gate_rate": "train/gate_rate",
    "gate_penalty": "train/gate_penalty",
    "value_loss": "train/value_loss",
    "policy_gradient_loss": "train/policy_gradient_loss",
    "entropy_loss": "train/entropy_loss",
    "loss": "train/loss",
    "approx_kl": "train/approx_kl",
    "clip_fraction": "train/clip_fraction",
    "explained_variance": "train/explained_variance",
    "learning_rate": "train/learning_rate",
}


class Segments(BaseCallback):
    """Ends every update with its row, evaluation and checkpoint, and begins every segment.

    The rows come before the checkpoint: a run that is killed between the two writes them again.

    Raises:
        ValueError: the run's tables lack rows from before its checkpoint, or cannot be read.
    """

    def __init__(
        self, run: Run, config: TrainConfig, model: RecurrentPPO, progress: Progress
    ) -> None:
        super().__init__()
        self.run = run
        self.config = config
        self.progress = progress
        self.algorithm = model
        self.saved = model.num_timesteps  # steps of the newest checkpoint
        self.rows: list[dict[str, Any]] = [*rows_until(run.metrics_file, self.saved)]
        self.evaluations: list[dict[str, Any]] = [*rows_until(run.evaluations_file, self.saved)]
        size = model.n_envs * model.n_steps
        self.updates = self.saved // size
        steps = range(size, self.saved + 1, size)
        _require_rows(run.metrics_file, self.rows, steps)
        every = config.eval_every
        if every is not None:
            due = [step for step in steps if step // every > (step - size) // every]
            _require_rows(run.evaluations_file, self.evaluations, due)
        self.episodes = 0  # that ended since the newest row
        self.begin: float | None = None  # of the update

    def _on_step(self) -> bool:
        self.episodes += sum("episode" in info for info in self.locals["infos"])
        return True

    def _on_rollout_start(self) -> None:
        first = self.begin is None
        if not first:
            self._end_update()
        if first or self.updates % self.config.checkpoint_every == 0:
            self._save()
            self._begin_segment()
        self.begin = time.perf_counter()

    def _on_training_end(self) -> None:
        self._end_update(last=True)
        self._save()

    def _end_update(self, last: bool = False) -> None:
        self.updates += 1
        row = self._row()
        self.rows.append(row)
        self.run.write_metrics(self.rows)
        timesteps = row["timesteps"]
        self.progress.record("ppo", {k: v for k, v in row.items() if k != "timesteps"}, timesteps)
        self.progress.advance(
            timesteps,
            f"update {self.updates}",
            **{
                name: f"{row[name]:.3g}"
                for name in ("mean_return", "success_rate", "gate_rate")
                if row[name] is not None
            },
        )
        every = self.config.eval_every
        if every is not None:
            before = timesteps - self.algorithm.n_envs * self.algorithm.n_steps
            if last or timesteps // every > before // every:
                self._evaluate(timesteps)

    def _row(self) -> dict[str, Any]:
        assert self.begin is not None
        model, seconds = self.algorithm, time.perf_counter() - self.begin
        logged = model.logger.name_to_value
        returns = [episode["r"] for episode in model.ep_info_buffer or ()]
        lengths = [episode["l"] for episode in model.ep_info_buffer or ()]
        successes = list(model.ep_success_buffer or ())
        if not successes and is_minigrid(self.config.env):
            successes = [is_success(r) for r in returns]
        row = {
            "timesteps": model.num_timesteps,
            "episodes": self.episodes,
            "mean_return": _mean(returns),
            "mean_length": _mean(lengths),
            "success_rate": _mean(successes),
            **{name: logged.get(key) for name, key in LOGGED.items()},
            "seconds": seconds,
            "steps_per_second": model.n_envs * model.n_steps / seconds,
        }
        model.logger.dump(model.num_timesteps)  # forgets them
        self.episodes = 0
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in row.items()
        }

    def _evaluate(self, timesteps: int) -> None:
        config = self.config
        played = evaluate_policy_batch(
            self.algorithm.policy,
            functools.partial(make_single, config.env, **config.env_kwargs),
            config.eval_episodes,
            sampled=config.eval_sampled,
            normalize=self.algorithm.get_vec_normalize_env(),
            env_id=config.env,
        )
        row = played.row(timesteps)
        self.evaluations.append(row)
        self.run.write_evaluations(self.evaluations)
        numbers = {k: v for k, v in row.items() if k not in ("timesteps", "episodes")}
        self.progress.record("evaluation", numbers, timesteps)

    def _save(self) -> None:
        save_checkpoint(self.algorithm, self.run.checkpoint_file)
        self.saved = self.algorithm.num_timesteps

    def _begin_segment(self) -> None:
        model = self.algorithm
        env = model.get_env()
        assert env is not None
        stream = np.random.SeedSequence(self.config.seed, spawn_key=(self.updates,))
        # Seeds of single environments follow; 31 bits fit whatever an environment takes.
        model.set_random_seed(int(stream.generate_state(1)[0] >> 1))
        model._last_obs = env.reset()  # type: ignore[assignment]
        model._last_episode_starts = np.ones(env.num_envs, bool)
        assert model._last_lstm_states is not None
        model._last_lstm_states = RNNStates(
            *(tuple(torch.zeros_like(t) for t in pair) for pair in model._last_lstm_states)
        )
        if model.use_sde:  # drawn by Stable-Baselines3 just before the segment began
            model.policy.reset_noise(env.num_envs)


def _require_rows(file: Path, rows: Sequence[Mapping[str, Any]], steps: Sequence[int]) -> None:
    """Refuse a table that has lost rows, as a history with gaps would pass for a whole one."""
    found = {int(row["timesteps"]) for row in rows}
    lost = [step for step in steps if step not in found]
    if lost:
        raise ValueError(
            f"{file}: expected the rows of all steps up to the checkpoint's, but {len(lost)} of "
            f"{len(steps)} are lost, the first at {lost[0]} steps"
        )


def _mean(numbers: list[Any]) -> float | None:
    """Mean of the newest episodes; None while there is none."""
    return float(safe_mean(numbers)) if numbers else None
