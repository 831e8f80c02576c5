"""Play a trained agent beside the random, the zero and the blind one, on the same episodes."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iap_gym import _checks
from iap_gym._files import write_text
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.loading import load_algorithm, make_env
from iap_gym.baselines.experiments.outcomes import in_words
from iap_gym.baselines.experiments.play import KINDS, Task, play
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import FEWEST, Mean, bootstrap_mean

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
    env_kwargs: dict[str, Any] = field(default_factory=dict)  # other than those of training
    sampled: bool = False  # whether the agent drew its actions or took the most probable ones
    timesteps: int | None = None  # that the agent was trained for; None in older files
    success_rates: dict[str, float] = field(
        default_factory=dict
    )  # by kind, if there is such a thing
    gate_rates: dict[str, float] = field(default_factory=dict)  # by kind, of those with gates
    # By kind, how many episodes ended for what reason, where the environment says it.
    ends: dict[str, dict[str, int]] = field(default_factory=dict)
    spl: dict[str, float] = field(default_factory=dict)  # by kind, of navigation

    @property
    def shares(self) -> dict[str, dict[str, str]]:
        """Numbers beside the returns, as text: by their title, and by kind."""
        found = {
            "success": {kind: f"{rate:.1%}" for kind, rate in self.success_rates.items()},
            "SPL": {kind: f"{spl:.3f}" for kind, spl in self.spl.items()},
            "open gates": {kind: f"{rate:.1%}" for kind, rate in self.gate_rates.items()},
        }
        return {title: texts for title, texts in found.items() if texts}

    def mean(self, kind: str) -> Mean:
        """Mean return of one kind with its interval."""
        return bootstrap_mean(self.returns[kind])

    def difference(self, kind: str) -> Mean:
        """Mean of the paired difference, trained minus ``kind``, with its interval."""
        trained, other = np.array(self.returns["trained"]), np.array(self.returns[kind])
        return bootstrap_mean(trained - other)

    @property
    def setting(self) -> tuple[Any, ...]:
        """What tells evaluations of one run apart."""
        return self.env, json.dumps(self.env_kwargs, sort_keys=True), self.split, self.sampled

    @property
    def details(self) -> str:
        """Say in words how the episodes were played, ", " first; empty if as in training."""
        words = [f"{name}={value}" for name, value in self.env_kwargs.items()]
        words += [f"{self.split} backgrounds"] if self.split else []
        words += ["sampled actions"] if self.sampled else []
        return "".join(f", {word}" for word in words)

    def to_json(self) -> dict[str, Any]:
        """Return the returns, and what follows from them, as JSON values."""
        return {
            "env": self.env,
            "split": self.split,
            "env_kwargs": self.env_kwargs,
            "sampled": self.sampled,
            "timesteps": self.timesteps,
            "seeds": list(self.seeds),
            "returns": {kind: list(values) for kind, values in self.returns.items()},
            "mean": {kind: self.mean(kind).to_json() for kind in self.returns},
            "trained_minus": {
                kind: self.difference(kind).to_json() for kind in self.returns if kind != "trained"
            },
            "success_rates": self.success_rates,
            "gate_rates": self.gate_rates,
            "ends": self.ends,
            "spl": self.spl,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Evaluation:
        """Build the evaluation from what ``to_json`` gave."""
        return cls(
            fields["env"],
            fields["split"],
            tuple(fields["seeds"]),
            {kind: tuple(values) for kind, values in fields["returns"].items()},
            dict(fields.get("env_kwargs", {})),
            fields.get("sampled", False),
            fields.get("timesteps"),
            dict(fields.get("success_rates", {})),
            dict(fields.get("gate_rates", {})),
            {kind: dict(counts) for kind, counts in fields.get("ends", {}).items()},
            dict(fields.get("spl", {})),
        )


def evaluate(
    run: Run,
    episodes: int = 20,
    split: str | None = None,
    kinds: Sequence[str] = KINDS,
    first_seed: int = FIRST_SEED,
    workers: int = 1,
    sampled: bool = False,
    env: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Play every kind of agent on the same seeded episodes.

    Args:
        run: a run with a checkpoint.
        episodes: how many, seeded ``first_seed``, ``first_seed + 1``, ...
        split: ``"train"`` or ``"val"`` backgrounds; None leaves the environment as it was trained.
        kinds: among ``KINDS``; "trained" is always played.
        first_seed: see ``episodes``.
        workers: processes that play; the result does not depend on it.
        sampled: whether actions are drawn from the policy, which a ppo one alone can; else the
            most probable ones are taken.
        env: another environment than that of training, with the same spaces: zero-shot transfer.
        env_kwargs: arguments of the environment in the place of those in training; those that the
            run has for its own evaluations (``eval_env_kwargs``) are taken anyway.

    Raises:
        ValueError: an argument is wrong, the environment has no such split, or another environment
            has other spaces.
    """
    _checks.integer("episodes", episodes, 1)
    _checks.integer("first_seed", first_seed, 0)
    _checks.integer("workers", workers, 1)
    _checks.boolean("sampled", sampled)
    for kind in kinds:
        _checks.one_of("kinds", kind, KINDS)
    ordered = [kind for kind in KINDS if kind == "trained" or kind in kinds]
    trained = run.config()
    if sampled and trained.algo != "ppo":
        wanted = "False, as the actions of es have no chance"
        raise _checks.refuse("sampled", wanted, sampled)
    changed = {**trained.eval_env_kwargs, **(env_kwargs or {})}
    config = dataclasses.replace(
        trained, env=env or trained.env, env_kwargs={**trained.env_kwargs, **changed}
    )
    timesteps = _trained_for(run, config, split)
    seeds = tuple(range(first_seed, first_seed + episodes))
    tasks = [Task(str(run.path), config, split, kind, sampled) for kind in ordered]
    played = dict(zip(ordered, play(tasks, seeds, workers), strict=True))
    return Evaluation(
        config.env,
        split,
        seeds,
        {kind: part.returns for kind, part in played.items()},
        changed,
        sampled,
        timesteps,
        {
            kind: float(np.mean(part.successes))
            for kind, part in played.items()
            if part.successes is not None
        },
        {kind: part.gate_rate for kind, part in played.items() if part.gate_rate is not None},
        {kind: dict(Counter(part.ends)) for kind, part in played.items() if part.ends is not None},
        {kind: float(np.mean(part.spl)) for kind, part in played.items() if part.spl is not None},
    )


def _trained_for(run: Run, config: TrainConfig, split: str | None) -> int:
    """Return the steps of the newest checkpoint, after a look at it and at the environment."""
    home = make_env(run.config())
    home.close()
    algorithm = load_algorithm(run, home)
    if (config.env, config.env_kwargs) == (run.config().env, run.config().env_kwargs):
        return algorithm.num_timesteps
    try:
        there = make_env(config, split)
    except TypeError as error:  # what Python says of a keyword that a function does not take
        if config.env == run.config().env:
            raise ValueError(f"env_kwargs: {error}") from error
        wanted = f"an environment that takes {config.env_kwargs}, of training or given"
        raise ValueError(f"env: expected {wanted}, got {config.env}: {error}") from error
    there.close()
    for name in ("observation_space", "action_space"):
        wanted, got = getattr(home, name), getattr(there, name)
        if wanted != got:
            raise _checks.refuse("env", f"the {name} of training, {wanted}", f"{config.env}: {got}")
    return algorithm.num_timesteps


def save_evaluations(run: Run, evaluations: Sequence[Evaluation]) -> None:
    """Add evaluations to those of a run, each in the place of an older one of its setting."""
    kept = {evaluation.setting: evaluation for evaluation in load_evaluations(run)}
    kept |= {evaluation.setting: evaluation for evaluation in evaluations}
    content = [evaluation.to_json() for evaluation in kept.values()]
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
    means = {kind: str(evaluation.mean(kind)) for kind in evaluation.returns}
    width = max(24, *map(len, means.values())) + 2
    titles = evaluation.shares
    lines = [
        f"{evaluation.env}{evaluation.details}, {len(evaluation.seeds)} episodes, "
        + ("95 % bootstrap intervals" if enough(evaluation) else "too few for intervals"),
        f"{'agent':<9}{''.join(f'{title:<12}' for title in titles)}{'mean return':<{width}}"
        "trained minus it",
    ]
    for kind, mean in means.items():
        shares = "".join(f"{texts.get(kind, ''):<12}" for texts in titles.values())
        difference = "" if kind == "trained" else str(evaluation.difference(kind))
        lines.append(f"{kind:<9}{shares}{mean:<{width}}{difference}".rstrip())
    if evaluation.ends:
        lines.append("how episodes ended")
        lines.extend(f"{kind:<9}{in_words(counts)}" for kind, counts in evaluation.ends.items())
    return "\n".join(lines)
