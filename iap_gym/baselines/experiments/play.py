"""Play seeded episodes of one kind of agent, in this process or in several."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import gymnasium

from iap_gym.baselines.evolution.rollout import Actor, run_episode
from iap_gym.baselines.experiments.agents import FirstObservation, RandomAgent, ZeroAgent
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.run import Run

KINDS = ("trained", "random", "zero", "blind")
TOGETHER = 16  # episodes that a recurrent policy plays side by side, whatever the workers


@dataclass(frozen=True)
class Played:
    """What came of episodes, in the order of their seeds."""

    returns: tuple[float, ...]
    lengths: tuple[int, ...]
    gate_rate: float | None = None  # fraction of open gates over all steps


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
        env = make_env(self.config, self.split)
        blind = self.kind == "blind"
        try:
            trained = (
                load_agent(Run.open(self.path), env) if self.kind in ("trained", "blind") else None
            )

            def actor(seed: int) -> Actor:
                if trained is not None:
                    return trained
                space = env.action_space
                return RandomAgent(space, seed) if self.kind == "random" else ZeroAgent(space)

            episodes = [run_episode(env, actor(seed), seed, blind=blind) for seed in seeds]
        finally:
            env.close()
        return Played(
            tuple(episode.total_reward for episode in episodes),
            tuple(episode.length for episode in episodes),
        )

    def _play_together(self, seeds: Sequence[int]) -> Played:
        from iap_gym.baselines.experiments.periodic import evaluate_policy_batch
        from iap_gym.baselines.experiments.ppo_checkpoint import load_checkpoint, load_statistics
        from iap_gym.baselines.experiments.threads import one_thread

        run = Run.open(self.path)
        with one_thread():
            played = evaluate_policy_batch(
                load_checkpoint(run.checkpoint_file, run.config()).policy,
                functools.partial(_make, self),
                len(seeds),
                sampled=self.sampled,
                first_seed=seeds[0],
                side_by_side=TOGETHER,
                normalize=load_statistics(run.checkpoint_file),
            )
        return Played(played.returns, played.lengths, played.gate_rate)


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
    returns: dict[int, float] = {}
    lengths: dict[int, int] = {}
    for chunk, part in zip(chunks, parts, strict=True):
        returns.update(zip(chunk, part.returns, strict=True))
        lengths.update(zip(chunk, part.lengths, strict=True))
    # Every step has as many gates.
    rates = [(part.gate_rate, sum(part.lengths)) for part in parts]
    known = [(rate, steps) for rate, steps in rates if rate is not None]
    rate = None
    if known:
        rate = sum(rate * steps for rate, steps in known) / sum(steps for _, steps in known)
    return Played(
        tuple(returns[seed] for seed in seeds), tuple(lengths[seed] for seed in seeds), rate
    )
