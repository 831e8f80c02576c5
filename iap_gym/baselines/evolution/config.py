"""The settings of a run, as they are saved with it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iap_gym import _checks
from iap_gym.baselines.evolution.optimizer import even
from iap_gym.baselines.evolution.policies import POLICIES

EVALUATORS = ("inline", "processes")
# How far candidates share seeds, and the shaping of the fitness that fits (optimizer.SHAPINGS).
COMMON_SEEDS = {"generation": "population", "pair": "pairs"}

ADDED = {"decay"}  # fields that older checkpoints do not have


@dataclass(frozen=True)
class EvolutionConfig:
    """Everything but the environment that decides what a run does; JSON types only."""

    # A name of POLICIES.
    policy: str
    # Candidates of a generation, mirrored pairs, so even.
    population_size: int = 32
    # Standard deviation of the search, in units of the policy's parameter_scale().
    sigma: float = 0.1
    # Adam's step size, in the same units.
    learning_rate: float = 0.05
    # Factor on both with each generation.
    decay: float = 1.0
    # Pull of every number towards zero, added to the gradient.
    weight_decay: float = 0.005
    # "inline" or "processes".
    evaluator: str = "inline"
    # Processes of evaluator="processes"; results do not depend on it.
    num_workers: int = 1
    # A candidate's fitness is its mean return over so many episodes.
    episodes_per_candidate: int = 1
    # "generation": all candidates meet the same seeds and are ranked by their returns. "pair": the
    # two of a mirrored pair do, and candidates are ranked by their lead over their mirror image.
    common_seeds: str = "generation"
    # Training episodes are cut there; None leaves their end to the environment.
    max_episode_steps: int | None = None
    # Owns all randomness; drawn by the operating system if the caller gave None.
    seed: int = 0
    # Arguments of the policy.
    policy_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            ValueError: one outside what is said above.
        """
        _checks.one_of("policy", self.policy, POLICIES)
        even("population_size", self.population_size)
        _checks.real("sigma", self.sigma, 0.0, exclusive=True)
        _checks.real("learning_rate", self.learning_rate, 0.0, exclusive=True)
        _checks.real("decay", self.decay, 0.0, 1.0, exclusive=True)
        _checks.real("weight_decay", self.weight_decay, 0.0)
        if self.evaluator == "ray":
            raise ValueError(
                "evaluator: 'ray' comes with a later release, "
                "expected 'inline' or 'processes' until then"
            )
        _checks.one_of("evaluator", self.evaluator, EVALUATORS)
        _checks.integer("num_workers", self.num_workers, 1)
        _checks.integer("episodes_per_candidate", self.episodes_per_candidate, 1)
        _checks.one_of("common_seeds", self.common_seeds, COMMON_SEEDS)
        if self.max_episode_steps is not None:
            _checks.integer("max_episode_steps", self.max_episode_steps, 1)
        _checks.integer("seed", self.seed)
        try:
            plain = json.loads(json.dumps(self.policy_kwargs, allow_nan=False))
        except (TypeError, ValueError):
            raise _checks.refuse("policy_kwargs", "JSON types", self.policy_kwargs) from None
        object.__setattr__(self, "policy_kwargs", plain)

    def to_json(self) -> dict[str, Any]:
        """Return all fields as JSON types."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EvolutionConfig:
        """Return the config that ``to_json`` described.

        A field that was not there yet when it was written has its default.

        Raises:
            ValueError: unknown or missing fields, or what a field refuses.
        """
        known = {entry.name for entry in dataclasses.fields(cls)}
        if set(data) | ADDED != known:
            raise _checks.refuse("config", f"the fields {sorted(known)}", sorted(data))
        return cls(**data)
