"""Play seeded episodes of one kind of agent, in this process or in several."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import gymnasium

from iap_gym.baselines.evolution.rollout import Actor, Episode, run_episode
from iap_gym.baselines.experiments.agents import FirstObservation, LastInfo, RandomAgent, ZeroAgent
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.outcomes import known, path_efficiency, succeeded, why_ended
from iap_gym.baselines.experiments.run import Run

KINDS = ("trained", "random", "zero", "blind")
TOGETHER = 16  # episodes that a recurrent policy plays side by side, whatever the workers


@dataclass(frozen=True)
class Played:
    """What came of episodes, in the order of their seeds."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    successes: tuple[bool, ...] | None = None  # None where nothing says what a success is
    gate_rate: float | None = None  # fraction of open gates over all steps
    ends: tuple[str, ...] | None = None  # why each ended; None where nothing says it
    spl: tuple[float, ...] | None = None  # success weighted by path length, where there is one


@dataclass(frozen=True)
class Task:
    """Episodes of one kind of agent."""

    path: str  # of the run
    config: TrainConfig  # names the environment to play in
    split: str | None
    kind: str
    sampled: bool = False

    def divide(self, seeds: Sequence[int], workers: int) -> list[tuple[int, ...]]:
        """Cut seeds into what is played in one go."""
        if self.recurrent:  # the same groups for any number of workers: sums depend on the batch
            return [tuple(seeds[i : i + TOGETHER]) for i in range(0, len(seeds), TOGETHER)]
        return [tuple(seeds[i::workers]) for i in range(workers) if seeds[i::workers]]

    @property
    def recurrent(self) -> bool:
        """Whether a policy of recurrent PPO plays."""
        return self.config.algo == "ppo" and self.kind in ("trained", "blind")

    def play(self, seeds: Sequence[int]) -> Played:
        """Play an episode of each seed."""
        return self._play_together(seeds) if self.recurrent else self._play_in_turn(seeds)

    def _play_in_turn(self, seeds: Sequence[int]) -> Played:
        env = LastInfo(make_env(self.config, self.split))
        blind = self.kind == "blind"
        episodes: list[Episode] = []
        infos: list[dict[str, Any]] = []
        try:
            trained = None
            if blind or self.kind == "trained":
                trained = load_agent(Run.open(self.path), env)

            def actor(seed: int) -> Actor:
                if trained is not None:
                    return trained
                space = env.action_space
                return RandomAgent(space, seed) if self.kind == "random" else ZeroAgent(space)

            for seed in seeds:
                episodes.append(run_episode(env, actor(seed), seed, blind=blind))
                infos.append(env.info)
        finally:
            env.close()
        returns = tuple(episode.total_reward for episode in episodes)
        lengths = tuple(episode.length for episode in episodes)
        successes = known(
            succeeded(self.config.env, total, info)
            for total, info in zip(returns, infos, strict=True)
        )
        return Played(
            returns,
            lengths,
            successes,
            ends=known(map(why_ended, infos)),
            spl=known(map(path_efficiency, infos)),
        )

    def _play_together(self, seeds: Sequence[int]) -> Played:
        from iap_gym.baselines.evolution.evaluation import one_torch_thread
        from iap_gym.baselines.experiments.periodic import evaluate_policy_batch
        from iap_gym.baselines.experiments.ppo_checkpoint import load_checkpoint, load_statistics

        run = Run.open(self.path)
        with one_torch_thread():
            played = evaluate_policy_batch(
                load_checkpoint(run.checkpoint_file, run.config()).policy,
                functools.partial(_make, self),
                len(seeds),
                sampled=self.sampled,
                first_seed=seeds[0],
                side_by_side=TOGETHER,
                normalize=load_statistics(run.checkpoint_file),
                env_id=self.config.env,
            )
        return Played(
            played.returns,
            played.lengths,
            played.successes,
            played.gate_rate,
            played.ends,
            played.spl,
        )


def _make(task: Task) -> gymnasium.Env:
    env = make_env(task.config, task.split)
    return FirstObservation(env) if task.kind == "blind" else env


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def play(tasks: Sequence[Task], seeds: Sequence[int], workers: int = 1) -> list[Played]:
    """Play the same seeds, which follow one another, in every task.

    Args:
        tasks: what is played.
        seeds: of the episodes.
        workers: processes that play; the result does not depend on it.

    Returns:
        What came of every task.
    """
    chunks = [task.divide(seeds, workers) for task in tasks]
    if workers == 1:
        parts = [[task.play(c) for c in each] for task, each in zip(tasks, chunks, strict=True)]
    else:
        # Forked workers would inherit a graphics context and hang.
        context = multiprocessing.get_context("forkserver")
        with ProcessPoolExecutor(workers, context, initializer=_one_thread) as pool:
            futures = [
                [pool.submit(task.play, c) for c in each]
                for task, each in zip(tasks, chunks, strict=True)
            ]
            parts = [[future.result() for future in each] for each in futures]
    return [_join(seeds, each, part) for each, part in zip(chunks, parts, strict=True)]


def _join(seeds: Sequence[int], chunks: Sequence[Sequence[int]], parts: Sequence[Played]) -> Played:
    place = {seed: i for i, seed in enumerate(itertools.chain.from_iterable(chunks))}
    order = [place[seed] for seed in seeds]

    def ordered(values: Iterable[Any]) -> tuple[Any, ...]:
        listed = list(values)
        return tuple(listed[i] for i in order)

    flat = itertools.chain.from_iterable
    successes, ends, spl = (
        known(getattr(part, name) for part in parts) for name in ("successes", "ends", "spl")
    )
    # Every step has as many gates.
    rates = [(part.gate_rate, sum(part.lengths)) for part in parts if part.gate_rate is not None]
    rate = (
        sum(r * steps for r, steps in rates) / sum(steps for _, steps in rates) if rates else None
    )
    return Played(
        ordered(flat(part.returns for part in parts)),
        ordered(flat(part.lengths for part in parts)),
        None if successes is None else ordered(flat(successes)),
        rate,
        None if ends is None else ordered(flat(ends)),
        None if spl is None else ordered(flat(spl)),
    )
