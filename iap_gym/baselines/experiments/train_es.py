"""Train a run folder by evolution strategies."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from iap_gym import _checks
from iap_gym.baselines.evolution import EvolutionStrategies
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.progress import Progress
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.validation import Validation
from iap_gym.baselines.minigrid import is_minigrid

HIGH = "LinearPolicy"  # of ``HierarchicalPolicy`` where a config names none


class Recorder:
    """Saves a run after every generation: checkpoint, metrics and TensorBoard; moves the bar.

    The evaluation of a generation comes before its checkpoint: one that was interrupted is played
    again when the run goes on. The checkpoint holds the whole history, from which the metrics are
    written: a run that is killed between the two loses no row.
    """

    def __init__(self, run: Run, progress: Progress, validation: Validation | None) -> None:
        self.run = run
        self.progress = progress
        self.validation = validation

    def __call__(self, algorithm: EvolutionStrategies) -> None:
        """Save the generation that has just ended."""
        newest = dict(algorithm.history[-1])
        generation, timesteps = newest.pop("generation"), newest.pop("timesteps")
        if self.validation is not None:
            row = self.validation.after_generation(algorithm)
            if row is not None:
                self.progress.record("evaluation", row, timesteps)
        algorithm.save(self.run.checkpoint_file)
        self.run.write_metrics(algorithm.history)
        self.progress.record("es", newest, timesteps)
        self.progress.advance(
            timesteps,
            f"generation {generation}",
            mean=f"{newest['mean_return']:.1f}",
            best=f"{newest['best_return']:.1f}",
        )


def workers_of(config: TrainConfig) -> dict[str, Any]:
    """Return the arguments of the algorithm that say who plays the episodes."""
    evaluator = "processes" if config.workers > 1 else "inline"
    return {"evaluator": evaluator, "num_workers": config.workers}


def build(config: TrainConfig) -> EvolutionStrategies:
    """Build the algorithm of a config, untrained.

    Raises:
        FileNotFoundError: there is nothing at ``start_from``.
        ValueError: the environment, policy or algorithm refuses an argument.
    """
    assert config.policy is not None, "a config with es names its policy"
    arguments: dict[str, Any] = {**workers_of(config), **config.algo_kwargs}
    return EvolutionStrategies(
        config.policy,
        config.env,
        env_kwargs=config.env_kwargs,
        policy_kwargs=config.policy_kwargs,
        seed=config.seed,
        start_from=config.start_from,
        **arguments,
    )


def settle(config: TrainConfig) -> TrainConfig:
    """Return the config once the algorithm has taken every argument of it.

    Raises:
        ValueError: the environment, policy or algorithm refuses one.
    """
    if is_minigrid(config.env):  # symbols and text, which no policy of es takes
        wanted = "an environment for evolution strategies; MiniGrid's train with --algo ppo"
        raise _checks.refuse("env", wanted, config.env)
    _same_robot(config)
    algorithm = build(config)
    algorithm.close()
    if config.eval_every is not None:
        Validation.check(config, algorithm)
    return config


def _same_robot(config: TrainConfig) -> None:
    """Refuse runs to start from that say themselves that they do not fit.

    A low level learns changes to a gait, so that the gait has to be the same.
    """
    start = config.start_from
    if start is None:
        return
    from iap_gym.envs.quadruped.control import DEFAULT_GAIT

    for part, source in start.items() if isinstance(start, dict) else [("", start)]:
        if not Path(source, "config.json").is_file():
            continue
        other = Run.open(source).config()
        if not part and other.policy != config.policy:
            wanted = f"a run of {config.policy}"
            if config.policy == "HierarchicalPolicy":
                wanted += ", or high=RUN low=RUN for a part of it"
            raise _checks.refuse("start_from", wanted, f"{source}, of {other.policy}")
        high, wanted_high = _high_level(other), _high_level(config)
        if part != "low" and high != wanted_high:
            raise _checks.refuse("start_from", f"a high level {wanted_high}", f"{source}, {high}")
        gait, own_gait = (each.env_kwargs.get("gait") or DEFAULT_GAIT for each in (other, config))
        if part != "high" and gait != own_gait:
            wanted = f"the gait of {source}, {gait}, in --env-kwargs (or a run with this one)"
            raise _checks.refuse("start_from", wanted, own_gait)


def _high_level(config: TrainConfig) -> str | None:
    """Return the policy that a high level is, which may have been trained by itself."""
    if config.policy != "HierarchicalPolicy":
        return config.policy
    return config.policy_kwargs.get("high", HIGH)


def train(run: Run, bar: bool) -> None:
    """Train to the config's total of steps, from the newest checkpoint if there is one."""
    config = run.config()
    if run.checkpoint_file.is_file():
        algorithm = EvolutionStrategies.load(run.checkpoint_file, **workers_of(config))
        run.write_metrics(algorithm.history)  # whatever became of the file
    else:
        algorithm = build(config)
        if config.start_from is not None:  # from now on it may change
            algorithm.save(run.checkpoint_file)
    try:
        remaining = config.total_timesteps - algorithm.num_timesteps
        if remaining > 0:
            with contextlib.ExitStack() as stack:
                progress = stack.enter_context(
                    contextlib.closing(
                        Progress(run, algorithm.num_timesteps, bar, config.total_timesteps)
                    )
                )
                validation = None
                if config.eval_every is not None:
                    validation = stack.enter_context(
                        contextlib.closing(Validation(run, config, algorithm))
                    )
                recorder = Recorder(run, progress, validation)
                algorithm.learn(remaining, callback=recorder, reset_num_timesteps=False)
        algorithm.policy.save_weights(run.weights_file)
    finally:
        algorithm.close()
