"""Make the environment and the trained agent of a run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

from iap_gym import _checks
from iap_gym.baselines.evolution import EvolutionStrategies
from iap_gym.baselines.evolution.env_source import resolve
from iap_gym.baselines.evolution.policy import EvolutionPolicy
from iap_gym.baselines.evolution.warm_start import read_weights
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.minigrid import is_minigrid

if TYPE_CHECKING:  # Stable-Baselines3 is slow to import, and of no use to evolution strategies
    from iap_gym.baselines import RecurrentPPO
    from iap_gym.baselines.experiments.recurrent_agent import RecurrentAgent

SPLITS = ("train", "val")


def has_splits(env_id: str) -> bool:
    """Whether an environment, given as an id or "module:id", has train and val backgrounds."""
    if is_minigrid(env_id):  # known to gymnasium once minigrid is imported
        return False
    spec = resolve(env_id).spec
    return spec is not None and spec.entry_point == (
        "iap_gym.envs.distracting_control:make_distracting_control"
    )


def make_env(config: TrainConfig, split: str | None = None, **kwargs: Any) -> gymnasium.Env:
    """Make the environment of a config as its agent sees it, on other backgrounds if asked.

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
    if config.algo == "ppo":
        from iap_gym.baselines.experiments.vector import make_single

        return make_single(config.env, **arguments)
    return gymnasium.make(config.env, **arguments)


def load_algorithm(run: Run, env: gymnasium.Env) -> EvolutionStrategies | RecurrentPPO:
    """Load the newest checkpoint of a run.

    Args:
        run: a run with a checkpoint.
        env: what the agent is to act in, with the spaces of the one that it was trained in.

    Raises:
        FileNotFoundError: no generation or update has been saved yet.
        ValueError: the checkpoint is damaged or not one of ours.
    """
    if not run.checkpoint_file.is_file():
        raise FileNotFoundError(f"{run.path} has no {run.checkpoint_file.name} yet; train it first")
    config = run.config()
    if config.algo == "es":
        return EvolutionStrategies.load(run.checkpoint_file, env=env)
    from iap_gym.baselines.experiments.ppo_checkpoint import load_checkpoint

    return load_checkpoint(run.checkpoint_file, config)


def load_agent(
    run: Run, env: gymnasium.Env, sampled: bool = False
) -> EvolutionPolicy | RecurrentAgent:
    """Load what a run has trained so far, as something that acts.

    Of a run of es with evaluations during training it is the generation that was best in them.

    Args:
        run: as for ``load_algorithm``.
        env: as for ``load_algorithm``.
        sampled: whether it draws its actions from its distribution, which only ppo's has.

    Raises:
        FileNotFoundError: as ``load_algorithm`` does.
        ValueError: as ``load_algorithm`` does, or the agent is of es and ``sampled`` is asked for.
    """
    algorithm = load_algorithm(run, env)
    if isinstance(algorithm, EvolutionStrategies):
        if sampled:
            raise _checks.refuse("sampled", "False, as the actions of es have no chance", sampled)
        if run.best_file.is_file():
            algorithm.policy.load_state_dict(read_weights(run.best_file))
        return algorithm.policy
    from iap_gym.baselines.experiments.ppo_checkpoint import load_statistics
    from iap_gym.baselines.experiments.recurrent_agent import RecurrentAgent

    return RecurrentAgent(algorithm.policy, load_statistics(run.checkpoint_file), sampled)
