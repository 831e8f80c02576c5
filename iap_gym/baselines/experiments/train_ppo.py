"""Train a run folder by RecurrentPPO.

What an environment holds inside cannot be saved in general. Training is therefore cut into
segments of ``checkpoint_every`` updates. A segment begins with a checkpoint and with every random
generator and environment seeded anew, from the config's seed and the number of updates done;
environments are reset and latent states zero. A run that goes on from a checkpoint does what the
run would have done that never stopped.

Episodes that a new segment cuts off are in no mean of ``metrics.csv``, as are those of rollouts
under way; long episodes are cut off more often. ``evaluations.csv`` has no such bias.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import numpy as np
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.ppo_checkpoint import (
    load_checkpoint,
    load_statistics,
    save_weights,
)
from iap_gym.baselines.experiments.ppo_settings import arguments_of, check_device, fill_in
from iap_gym.baselines.experiments.progress import Progress
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.segments import Segments
from iap_gym.baselines.experiments.vector import make_single, make_vector
from iap_gym.baselines.ppo import NonFiniteError


def build(config: TrainConfig, env: VecEnv) -> RecurrentPPO:
    """Build the algorithm of a filled-in config, untrained.

    Raises:
        ValueError: the policy or the algorithm refuses an argument.
    """
    try:
        return RecurrentPPO(env=env, **arguments_of(config))
    except AssertionError as error:  # how Stable-Baselines3 says so
        raise ValueError(f"policy_kwargs or algo_kwargs: {error}") from error


def settle(config: TrainConfig) -> TrainConfig:
    """Return the config filled in, once the environment and the algorithm took every argument.

    Raises:
        ValueError: one of them refuses one.
        TypeError: an argument that one of them does not know.
    """
    env = make_single(config.env, **config.env_kwargs)
    env.close()
    config = fill_in(config, env.observation_space)
    # One environment is enough to find out.
    one = dataclasses.replace(config, workers=1, algo_kwargs={**config.algo_kwargs, "n_envs": 1})
    with _environments(one) as env:
        build(config, env)
    return config


@contextlib.contextmanager
def _environments(config: TrainConfig, statistics: VecNormalize | None = None) -> Iterator[VecEnv]:
    """Make the training environments, normalised if the config says so; close them after."""
    env = make_vector(config, config.algo_kwargs["n_envs"])
    try:
        if statistics is not None:
            env = _normalized(env, statistics)
        elif config.algo_kwargs["normalize"]:
            given = config.algo_kwargs["normalize"]
            defaults = {"gamma": config.algo_kwargs["gamma"]}
            env = VecNormalize(env, **(defaults | given if isinstance(given, dict) else defaults))
        yield env
    finally:
        env.close()


def _normalized(env: VecEnv, statistics: VecNormalize) -> VecNormalize:
    try:
        statistics.set_venv(env)
    except AssertionError as error:  # how Stable-Baselines3 says so
        raise ValueError(
            f"checkpoint: expected one of an environment with the observations of the config's, "
            f"{error}"
        ) from error
    return statistics


def train(run: Run, bar: bool) -> None:
    """Train to the config's total of steps, from the newest checkpoint if there is one.

    Raises:
        RuntimeError: an observation or a reward is not finite; the newest checkpoint stays.
        ValueError: the config is wrong, the checkpoint is not one of it, or a table lost rows.
    """
    config = run.config()
    found = run.checkpoint_file.is_file()
    if found:
        check_device(config.algo_kwargs["device"])
    else:
        config = settle(config)
        if config != run.config():
            run.write_config(config)
    statistics = load_statistics(run.checkpoint_file) if found else None
    with one_torch_thread(), _environments(config, statistics) as env:
        model = load_checkpoint(run.checkpoint_file, config, env) if found else build(config, env)
        remaining = config.total_timesteps - model.num_timesteps
        if remaining > 0:
            shown = Progress(run, model.num_timesteps, bar, config.total_timesteps)
            with contextlib.closing(shown) as progress:
                _learn(model, remaining, Segments(run, config, model, progress))
        save_weights(model, run.weights_file)


def _learn(model: RecurrentPPO, steps: int, segments: Segments) -> None:
    model.set_logger(Logger(folder=None, output_formats=[]))  # nothing to stdout
    # Stable-Baselines3 would reset the environments here; the segment does when it begins.
    model._last_obs = np.empty(0)
    try:
        model.learn(steps, callback=segments, log_interval=None, reset_num_timesteps=False)  # type: ignore[arg-type]
    except NonFiniteError as error:
        raise RuntimeError(f"{error}; the checkpoint of step {segments.saved} stays") from error
