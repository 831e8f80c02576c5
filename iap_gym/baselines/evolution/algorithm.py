"""Evolution strategies over a policy's numbers, with the verbs of a Stable-Baselines3 class."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution import checkpoint
from iap_gym.baselines.evolution.callbacks import Callback, ProgressBar, print_progress
from iap_gym.baselines.evolution.config import COMMON_SEEDS, EvolutionConfig
from iap_gym.baselines.evolution.env_source import EnvSource, resolve
from iap_gym.baselines.evolution.evaluation import Evaluator, InlineEvaluator
from iap_gym.baselines.evolution.observations import add_axis, is_single
from iap_gym.baselines.evolution.optimizer import EvolutionOptimizer
from iap_gym.baselines.evolution.policies import make_policy
from iap_gym.baselines.evolution.policy import State
from iap_gym.baselines.evolution.processes import ProcessEvaluator
from iap_gym.baselines.evolution.warm_start import Start, start

# Independent streams of one seed. Seeds of episodes depend on nothing but it and the generation.
_START, _SEARCH, _SELECTOR, _EPISODES = range(4)


class EvolutionStrategies:
    """OpenAI's evolution strategy (Salimans et al. 2017) on attention and controller together.

    One generation draws mirrored candidates around the centre, runs each for
    ``episodes_per_candidate`` episodes, and moves the centre (see ``EvolutionOptimizer`` for the
    equations). Trained numbers are the same for any evaluator and number of workers, and after
    ``load`` training continues as if it had not been interrupted.

    Args:
        policy: "LinearPolicy", "MlpPolicy", "LstmPolicy", "CnnPolicy" or "HierarchicalPolicy".
        env: an id ("iap_gym/...", or "module:id"), a single environment or a callable.
        population_size: candidates of a generation, even.
        sigma: standard deviation of the search, in units of 1/sqrt(fan-in) of each number.
        learning_rate: Adam's step size, in the same units.
        decay: factor on sigma and the learning rate with each generation, in (0, 1].
        weight_decay: L2 pull towards zero.
        evaluator: "inline", or "processes" for ``num_workers`` of them ("ray" comes later).
        num_workers: processes; without effect inline.
        episodes_per_candidate: episodes whose mean return is a candidate's fitness.
        common_seeds: "generation": all candidates of a generation meet the same seeds. "pair": the
            two of a mirrored pair do, and are compared with each other only.
        max_episode_steps: cut training episodes there, in steps of the environment as it is given.
        seed: owns all randomness; None draws one, found in ``config.seed``.
        start_from: where the search starts: the folder of a run, a checkpoint or weights of a
            policy of the same form, ``{"high": ..., "low": ...}`` of such for the levels of a
            hierarchy (one or both), or a vector. None draws a start. A checkpoint, also that of a
            run, must name the same arguments where these give the numbers their meaning (patches,
            kernel, places, ...); weights and vectors name none.
        policy_kwargs: arguments of the policy (``LinearPolicy``, ``MlpPolicy``, ...).
        env_kwargs: arguments for ``gymnasium.make`` or the callable.
        verbose: 1 writes a line after every generation.

    Attributes:
        num_timesteps: environment steps of the current training.
        generation: generations since the start.
        history: one dict per generation: ``generation``, ``timesteps``, ``mean_return``,
            ``best_return``, ``center_return`` (of the centre before its move, run beside the
            candidates on the seeds of the first pair: with ``common_seeds="pair"`` and one episode
            a candidate it is the return of one episode, on a seed that the other pairs do not
            meet), ``sigma``, ``gradient_norm``, ``step_norm``, ``seconds``, ``steps_per_second``.

    Raises:
        FileNotFoundError: there is nothing at ``start_from``.
        ValueError: an argument outside what is said above.
    """

    def __init__(
        self,
        policy: str,
        env: Any,
        population_size: int = 32,
        sigma: float = 0.1,
        learning_rate: float = 0.05,
        weight_decay: float = 0.005,
        evaluator: str = "inline",
        num_workers: int = 1,
        episodes_per_candidate: int = 1,
        common_seeds: str = "generation",
        max_episode_steps: int | None = None,
        seed: int | None = None,
        policy_kwargs: Mapping[str, Any] | None = None,
        env_kwargs: Mapping[str, Any] | None = None,
        verbose: int = 0,
        start_from: Start | None = None,
        decay: float = 1.0,
    ) -> None:
        for name, arguments in (("policy_kwargs", policy_kwargs), ("env_kwargs", env_kwargs)):
            if not isinstance(arguments, Mapping | None):
                raise _checks.refuse(name, "a dict of arguments or None", arguments)
        config = EvolutionConfig(
            policy=policy,
            population_size=population_size,
            sigma=sigma,
            learning_rate=learning_rate,
            decay=decay,
            weight_decay=weight_decay,
            evaluator=evaluator,
            num_workers=num_workers,
            episodes_per_candidate=episodes_per_candidate,
            common_seeds=common_seeds,
            max_episode_steps=max_episode_steps,
            seed=_new_seed() if seed is None else seed,
            policy_kwargs=dict(policy_kwargs or {}),
        )
        source = resolve(env, env_kwargs)
        if evaluator == "processes":
            source.for_workers()  # what cannot travel is refused now rather than in learn()
        self._build(config, source, verbose, start_from)

    def _build(
        self,
        config: EvolutionConfig,
        source: EnvSource,
        verbose: int,
        start_from: Start | None = None,
    ) -> None:
        self.config = config
        self.verbose = verbose
        self._source = source
        env = source.env or source.make()
        self.observation_space: spaces.Space[Any] = env.observation_space
        self.action_space: spaces.Space[Any] = env.action_space
        self.policy = make_policy(
            config.policy,
            self.observation_space,
            self.action_space,
            config.policy_kwargs,
            selector_seed=int(self._stream(_SELECTOR).integers(2**31)),
        )
        self.policy.prepare(env)  # a policy that the environment cannot serve is refused here
        if source.env is None:
            env.close()
        self.policy.set_vector(self.policy.initial_vector(self._stream(_START)))
        if start_from is not None:
            start(self.policy, start_from)
        self._optimizer = EvolutionOptimizer(
            self.policy.get_vector(),
            self._stream(_SEARCH),
            population_size=config.population_size,
            sigma=config.sigma,
            learning_rate=config.learning_rate,
            decay=config.decay,
            weight_decay=config.weight_decay,
            scale=self.policy.parameter_scale(),
            shaping=COMMON_SEEDS[config.common_seeds],
        )
        self.num_timesteps = 0
        self.history: list[dict[str, Any]] = []
        self._evaluator: Evaluator | None = None

    def _stream(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.config.seed, spawn_key=key))

    @property
    def generation(self) -> int:
        """Generations since the start."""
        return self._optimizer.generation

    @property
    def num_parameters(self) -> int:
        """Numbers that are trained."""
        return self.policy.num_parameters

    def learn(
        self,
        total_timesteps: int,
        callback: Callback | Sequence[Callback] | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> EvolutionStrategies:
        """Train by whole generations until there are at least so many environment steps.

        Interrupted by an error or Ctrl-C, it is left as it was after the last whole generation and
        can be saved and continued.

        Args:
            total_timesteps: steps to take, in all episodes together.
            callback: called with this object after every generation, one or several; training ends
                when one returns False.
            reset_num_timesteps: count steps, and write the history, from the start. If False, the
                steps are taken on top of those there are.
            progress_bar: show one (needs tqdm).

        Returns:
            This object.

        Raises:
            EvaluationError: an episode raised, gave a reward or an action that is not finite, or
                killed its worker again and again.
        """
        steps = _checks.integer("total_timesteps", total_timesteps, 1)
        callbacks = _as_list(callback)
        if self.verbose:
            callbacks.insert(0, print_progress)
        if reset_num_timesteps:
            self.num_timesteps = 0
            self.history = []
        target = self.num_timesteps + steps
        with contextlib.ExitStack() as stack:
            if progress_bar:
                callbacks.append(stack.enter_context(ProgressBar(self.num_timesteps, target)))
            stack.callback(self.close)
            self._evaluator = evaluator = self._make_evaluator()
            while self.num_timesteps < target:
                self._run_generation(evaluator)
                answers = [call(self) for call in callbacks]  # all are called
                if any(answer is False for answer in answers):
                    break
        return self

    def _make_evaluator(self) -> Evaluator:
        steps = self.config.max_episode_steps
        if self.config.evaluator == "inline":
            return InlineEvaluator(self._source, self.policy, steps)
        return ProcessEvaluator(self._source, self.policy, steps, self.config.num_workers)

    def _run_generation(self, evaluator: Evaluator) -> None:
        start = time.perf_counter()
        # The centre comes last, for the history only.
        vectors = np.concatenate([self._optimizer.ask(), self._optimizer.center[None]])
        returns, steps = evaluator.evaluate(vectors.astype(np.float32), self._seeds())
        population = returns[:-1]
        sigma = self._optimizer.current_sigma
        update = self._optimizer.tell(population)
        self.policy.set_vector(self._optimizer.center)
        taken = int(steps.sum())
        self.num_timesteps += taken
        seconds = time.perf_counter() - start
        self.history.append(
            {
                "generation": self.generation,
                "timesteps": self.num_timesteps,
                "mean_return": float(population.mean()),
                "best_return": float(population.max()),
                "center_return": float(returns[-1]),
                "sigma": sigma,
                "gradient_norm": update.gradient_norm,
                "step_norm": update.step_norm,
                "seconds": seconds,
                "steps_per_second": taken / seconds,
            }
        )

    def _seeds(self) -> NDArray[np.int64]:
        """Return this generation's seeds, (population_size + 1, episodes_per_candidate)."""
        pairs = self.config.population_size // 2
        rows = 1 if self.config.common_seeds == "generation" else pairs
        rng = self._stream(_EPISODES, self.generation)
        seeds = rng.integers(2**31, size=(rows, self.config.episodes_per_candidate))
        half = np.broadcast_to(seeds, (pairs, seeds.shape[1]))
        return np.concatenate([half, half, half[:1]])

    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: ArrayLike | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[Any], State]:
        """Choose actions with the centre of the search, as a Stable-Baselines3 algorithm.

        Args:
            observation: one observation, or a batch (B, *shape) as vector environments give it.
            state: what the last call returned; None for the start of an episode.
            episode_start: (B,) bool, rows whose state is forgotten first.
            deterministic: without effect, the policies draw nothing.

        Returns:
            One action, or (B, *shape of the action), and the next state.

        Raises:
            ValueError: an observation of another shape than the space says.
        """
        del deterministic
        single = is_single(observation, self.observation_space)
        batch = add_axis(observation) if single else observation
        actions, state = self.policy.act(batch, state, episode_start)
        return (actions[0] if single else actions), state

    def get_vector(self) -> NDArray[np.float32]:
        """Return the centre of the search, (num_parameters,) float32."""
        return self.policy.get_vector()

    def set_vector(self, vector: ArrayLike) -> None:
        """Put the centre of the search elsewhere.

        Raises:
            ValueError: not (num_parameters,) finite numbers.
        """
        numbers = _checks.array("vector", vector, (self.num_parameters,))
        self._optimizer.move_center(numbers)
        self.policy.set_vector(self._optimizer.center)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a checkpoint, whole or not at all; adds .zip if missing and returns the path.

        An environment given as callable, or without a spec of JSON types, is not in it.
        """
        optimizer = self._optimizer.state_dict()
        return checkpoint.write(
            path,
            checkpoint.Checkpoint(
                config=self.config.to_json(),
                env=self._source.to_json(),
                state={
                    "generation": optimizer["generation"],
                    "rng": optimizer["rng"],
                    "num_timesteps": self.num_timesteps,
                    "history": self.history,
                },
                tensors=checkpoint.pack_tensors(optimizer, self.policy.state_dict()),
                policy_settings=self.policy.settings,
            ),
        )

    def close(self) -> None:
        """Free the environments and workers of a ``learn``, which does so itself as it ends."""
        if self._evaluator is not None:
            self._evaluator.close()
            self._evaluator = None

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        env: Any = None,
        env_kwargs: Mapping[str, Any] | None = None,
        verbose: int = 0,
        **changes: Any,
    ) -> EvolutionStrategies:
        """Return the algorithm of a checkpoint, ready to predict and to continue.

        Args:
            path: the file, with or without .zip.
            env: as in the constructor; None takes what the checkpoint names.
            env_kwargs: as in the constructor, with ``env``.
            verbose: as in the constructor.
            **changes: ``evaluator`` and ``num_workers``, which change no result.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is broken, foreign or of another version, names no environment and
                ``env`` is None, or does not fit ``env``.
        """
        file = checkpoint.with_zip(path)
        stored = checkpoint.read(file)
        if unknown := set(changes) - {"evaluator", "num_workers"}:
            raise _checks.refuse("changes", "evaluator, num_workers", sorted(unknown))
        if env is None and env_kwargs:
            raise _checks.refuse("env_kwargs", "none without env", env_kwargs)
        source = None if env is None else resolve(env, env_kwargs)
        if source is None and stored.env is None:
            raise ValueError(
                f"{file}: expected env, as the checkpoint cannot name its environment (it was a "
                "callable or had no spec of JSON types), got None"
            )
        es = cls.__new__(cls)
        try:
            config = EvolutionConfig.from_json(stored.config)
            source = source or EnvSource.from_json(stored.env or {})
            es._build(dataclasses.replace(config, **changes), source, verbose)
            es._restore(stored)
        except (KeyError, TypeError, ValueError) as error:
            wanted = "what its settings and the environment ask for"
            raise ValueError(f"{file}: expected {wanted}, got another: {error}") from error
        return es

    def _restore(self, stored: checkpoint.Checkpoint) -> None:
        state = {name: stored.tensors[name] for name in checkpoint.MOMENTS}
        state |= {name: stored.state[name] for name in ("generation", "rng")}
        self.policy.load_state_dict(checkpoint.policy_tensors(stored.tensors))
        self._optimizer.load_state_dict(state)
        self.policy.set_vector(self._optimizer.center)
        self.num_timesteps = int(stored.state["num_timesteps"])
        self.history = list(stored.state["history"])


def _as_list(callback: Callback | Sequence[Callback] | None) -> list[Callback]:
    if callback is None:
        return []
    return [callback] if callable(callback) else list(callback)


def _new_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
