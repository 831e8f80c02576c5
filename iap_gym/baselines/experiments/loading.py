"""Make the environment and the trained agent of a run again."""

from __future__ import annotations

from typing import Any

import gymnasium

from iap_gym import _checks
from iap_gym.baselines.evolution import EvolutionStrategies
from iap_gym.baselines.evolution.env_source import resolve
from iap_gym.baselines.experiments.agents import Agent
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run

SPLITS = ("train", "val")


def has_splits(env_id: str) -> bool:
    """Whether an environment, named by an id or module:id, has train and val backgrounds."""
    spec = resolve(env_id).spec
    return spec is not None and spec.entry_point == (
        "iap_gym.envs.distracting_control:make_distracting_control"
    )


def make_env(config: TrainConfig, split: str | None = None, **kwargs: Any) -> gymnasium.Env:
    """Make the environment of a config, on other backgrounds if asked.

    Args:
        config: names the environment and its arguments.
        split: ``"train"``, ``"val"``, or None for what the config says.
        **kwargs: override those of the config, such as ``render_mode``.

    Raises:
        ValueError: an unknown split, or an environment without splits.
        TypeError: an argument that the environment does not take.
    """
    arguments = {**config.env_kwargs, **kwargs}
    if split is not None:
        _checks.one_of("split", split, SPLITS)
        if not has_splits(config.env):
            raise ValueError(f"split: {config.env} has no train and val backgrounds, got {split!r}")
        arguments["split"] = split
    return gymnasium.make(config.env, **arguments)


def load_agent(run: Run, env: gymnasium.Env) -> Agent:
    """Load what a run has trained so far.

    Raises:
        FileNotFoundError: no generation has ended yet.
        ValueError: the checkpoint is damaged or not one of ours.
    """
    if not run.checkpoint_file.is_file():
        raise FileNotFoundError(f"{run.path} has no {run.checkpoint_file.name} yet; train it first")
    return EvolutionStrategies.load(run.checkpoint_file, env=env)
