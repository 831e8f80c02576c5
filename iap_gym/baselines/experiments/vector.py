"""Environments of a config: one, or several side by side for Stable-Baselines3."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from iap_gym.baselines.evolution.env_source import resolve
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.worker_envs import WorkerVecEnv
from iap_gym.baselines.minigrid import is_minigrid, make_minigrid
from iap_gym.wrappers.text import DropTextObservation, has_text


def make_single(env_id: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Make one environment as RecurrentPPO sees it: no text, of MiniGrid the image alone.

    Args:
        env_id: an id, or "module:id".
        **kwargs: its arguments, such as ``render_mode``.
    """
    if is_minigrid(env_id):
        return make_minigrid(env_id, **kwargs)
    env = resolve(env_id, kwargs).make()
    return DropTextObservation(env) if has_text(env.observation_space) else env


def make_vector(config: TrainConfig, num_envs: int) -> VecEnv:
    """Make the training environments of a config, in processes if it has several workers."""
    makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [
        functools.partial(_monitored, config.env, config.env_kwargs)
    ] * num_envs
    return DummyVecEnv(makers) if config.workers == 1 else WorkerVecEnv(makers, config.workers)


def _monitored(env_id: str, env_kwargs: dict[str, Any]) -> gymnasium.Env[Any, Any]:
    return Monitor(make_single(env_id, **env_kwargs))
