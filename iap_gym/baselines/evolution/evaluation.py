"""What evaluates a population, and the evaluator that does it in this process.

Letters: P candidates, E episodes of each, n numbers of a candidate.
"""

from __future__ import annotations

import contextlib
import copy
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from iap_gym.baselines.evolution.env_source import EnvSource
from iap_gym.baselines.evolution.policy import EvolutionPolicy
from iap_gym.baselines.evolution.rollout import run_episode


class EvaluationError(RuntimeError):
    """An episode could not be evaluated; the message says which, and why."""


class Scores(NamedTuple):
    """What a population reached."""

    returns: NDArray[np.float64]  # (P,), mean over the episodes of a candidate
    steps: NDArray[np.int64]  # (P,), sum over them


class Evaluator(ABC):
    """Runs episodes of candidates. Every result is a function of the vector and the seed alone."""

    @abstractmethod
    def evaluate(self, vectors: NDArray[np.float32], seeds: NDArray[np.int64]) -> Scores:
        """Run every candidate through its episodes.

        Args:
            vectors: (P, n), the numbers of the policies.
            seeds: (P, E), the seeds of the resets.

        Returns:
            The mean return and the number of steps of every candidate.

        Raises:
            EvaluationError: an episode raised, or killed its worker again and again.
        """

    @abstractmethod
    def close(self) -> None:
        """Free what it holds; the next ``evaluate`` makes it anew. A second call does nothing."""


class InlineEvaluator(Evaluator):
    """Runs all episodes one after the other in this process.

    Args:
        source: where the environment comes from; the caller's own is used and left open.
        policy: what acts; a copy of it.
        max_steps: cut episodes there; None does not.
    """

    def __init__(self, source: EnvSource, policy: EvolutionPolicy, max_steps: int | None) -> None:
        self._source = source
        self._policy = copy.deepcopy(policy)
        self._max_steps = max_steps
        self._made: gymnasium.Env[Any, Any] | None = None

    def evaluate(self, vectors: NDArray[np.float32], seeds: NDArray[np.int64]) -> Scores:
        """Run every candidate through its episodes (see ``Evaluator``)."""
        env = self._source.env
        if env is None:
            env = self._made = self._made or self._source.make()
        results: dict[tuple[int, int], tuple[float, int]] = {}
        with one_torch_thread():
            for candidate, episode in np.ndindex(*seeds.shape):
                seed = int(seeds[candidate, episode])
                try:
                    self._policy.set_vector(vectors[candidate])
                    results[candidate, episode] = run_episode(
                        env, self._policy, seed, self._max_steps
                    )
                except Exception as error:
                    raise EvaluationError(
                        f"candidate {candidate} with seed {seed} failed: {error!r}"
                    ) from error
        return collect(results, seeds.shape)

    def close(self) -> None:
        """Close the environment that was made here."""
        if self._made is not None:
            self._made.close()
            self._made = None


def collect(results: dict[tuple[int, int], tuple[float, int]], shape: tuple[int, ...]) -> Scores:
    """Put (return, length) of every (candidate, episode) together, in an order of its own."""
    returns = np.empty(shape)
    steps = np.empty(shape, np.int64)
    for place, (total_reward, length) in results.items():
        returns[place], steps[place] = total_reward, length
    return Scores(returns.mean(axis=1), steps.sum(axis=1))


@contextlib.contextmanager
def one_torch_thread() -> Iterator[None]:
    """Use one thread of torch: more do not pay on small images, and round sums differently."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
