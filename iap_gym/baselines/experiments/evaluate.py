"""Play a trained agent beside the random, the zero and the blind one, on the same episodes."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from iap_gym import _checks
from iap_gym._files import write_text
from iap_gym.baselines.evolution.rollout import Actor, run_episode
from iap_gym.baselines.experiments.agents import RandomAgent, ZeroAgent
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import FEWEST, Mean, bootstrap_mean

KINDS = ("trained", "random", "zero", "blind")
# Episodes are seeded FIRST_SEED, FIRST_SEED + 1, ...; training draws its seeds from the whole
# range of 31 bits, so the two practically never meet.
FIRST_SEED = 1_000_000


@dataclass(frozen=True)
class Evaluation:
    """Returns of each kind of agent on the same episodes, one row of ``returns`` a kind."""

    env: str
    split: str | None  # None where the environment has no train and val backgrounds
    seeds: tuple[int, ...]
    returns: dict[str, tuple[float, ...]]

    def mean(self, kind: str) -> Mean:
        """Mean return of one kind with its interval."""
        return bootstrap_mean(self.returns[kind])

    def difference(self, kind: str) -> Mean:
        """Mean of the paired difference, trained minus ``kind``, with its interval."""
        trained, other = np.array(self.returns["trained"]), np.array(self.returns[kind])
        return bootstrap_mean(trained - other)

    def to_json(self) -> dict[str, Any]:
        """Return the returns, and what follows from them, as JSON values."""
        return {
            "env": self.env,
            "split": self.split,
            "seeds": list(self.seeds),
            "returns": {kind: list(values) for kind, values in self.returns.items()},
            "mean": {kind: self.mean(kind).to_json() for kind in self.returns},
            "trained_minus": {
                kind: self.difference(kind).to_json() for kind in self.returns if kind != "trained"
            },
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Evaluation:
        """Build the evaluation from what ``to_json`` gave."""
        return cls(
            fields["env"],
            fields["split"],
            tuple(fields["seeds"]),
            {kind: tuple(values) for kind, values in fields["returns"].items()},
        )


def _play_part(path: str, kind: str, split: str | None, seeds: Sequence[int]) -> list[float]:
    run = Run.open(path)
    env = make_env(run.config(), split)
    try:
        trained = load_agent(run, env).policy

        def actor(seed: int) -> Actor:
            if kind == "random":
                return RandomAgent(env.action_space, seed)
            return ZeroAgent(env.action_space) if kind == "zero" else trained

        return [
            run_episode(env, actor(seed), seed, blind=kind == "blind").total_reward
            for seed in seeds
        ]
    finally:
        env.close()


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def evaluate(
    run: Run,
    episodes: int = 20,
    split: str | None = None,
    kinds: Sequence[str] = KINDS,
    first_seed: int = FIRST_SEED,
    workers: int = 1,
) -> Evaluation:
    """Play every kind of agent on the same seeded episodes.

    Args:
        run: a run with a checkpoint.
        episodes: how many, seeded ``first_seed``, ``first_seed + 1``, ...
        split: ``"train"`` or ``"val"`` backgrounds; None leaves the environment as it was trained.
        kinds: among ``KINDS``; "trained" is always played.
        first_seed: see ``episodes``.
        workers: processes that play; the result does not depend on it.

    Raises:
        ValueError: an argument is wrong, or the environment has no such split.
    """
    _checks.integer("episodes", episodes, 1)
    _checks.integer("first_seed", first_seed, 0)
    _checks.integer("workers", workers, 1)
    for kind in kinds:
        _checks.one_of("kinds", kind, KINDS)
    ordered = [kind for kind in KINDS if kind == "trained" or kind in kinds]
    seeds = tuple(range(first_seed, first_seed + episodes))
    path = str(run.path)
    if workers == 1:
        parts = [_play_part(path, kind, split, seeds) for kind in ordered]
        returns = dict(zip(ordered, parts, strict=True))
    else:
        # Forked workers would inherit a graphics context and hang.
        context = multiprocessing.get_context("forkserver")
        chunks = [seeds[i::workers] for i in range(workers) if seeds[i::workers]]
        with ProcessPoolExecutor(workers, context, initializer=_one_thread) as pool:
            futures = {
                kind: [pool.submit(_play_part, path, kind, split, chunk) for chunk in chunks]
                for kind in ordered
            }
            returns = {}
            for kind, parts in futures.items():
                found: dict[int, float] = {}
                for chunk, part in zip(chunks, parts, strict=True):
                    found.update(zip(chunk, part.result(), strict=True))
                returns[kind] = [found[seed] for seed in seeds]
    return Evaluation(
        run.config().env, split, seeds, {kind: tuple(values) for kind, values in returns.items()}
    )


def save_evaluations(run: Run, evaluations: Sequence[Evaluation]) -> None:
    """Replace the evaluations of a run."""
    content = [evaluation.to_json() for evaluation in evaluations]
    write_text(run.evaluation_file, json.dumps(content, indent=2) + "\n")


def load_evaluations(run: Run) -> list[Evaluation]:
    """Read the evaluations of a run; none yet gives an empty list."""
    if not run.evaluation_file.is_file():
        return []
    try:
        content = json.loads(run.evaluation_file.read_text(encoding="utf-8"))
        return [Evaluation.from_json(fields) for fields in content]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{run.evaluation_file}: expected what iap-gym evaluate wrote, {error!r}"
        ) from None


def enough(evaluation: Evaluation) -> bool:
    """Whether there are episodes enough for intervals."""
    return len(evaluation.seeds) >= FEWEST


def table(evaluation: Evaluation) -> str:
    """Lay an evaluation out as lines of text."""
    where = f", {evaluation.split} backgrounds" if evaluation.split else ""
    lines = [
        f"{evaluation.env}{where}, {len(evaluation.seeds)} episodes, "
        + ("95 % bootstrap intervals" if enough(evaluation) else "too few for intervals"),
        f"{'agent':<9}{'mean return':<26}trained minus it",
    ]
    for kind in evaluation.returns:
        difference = "" if kind == "trained" else str(evaluation.difference(kind))
        lines.append(f"{kind:<9}{evaluation.mean(kind)!s:<26}{difference}".rstrip())
    return "\n".join(lines)
