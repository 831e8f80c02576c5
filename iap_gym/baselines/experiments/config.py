"""What a training run is made from; saved in its folder as JSON."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import Any, Self

from iap_gym import _checks

ALGORITHMS = ("es",)
# What the algorithm takes too, but the config says elsewhere.
FIELDS_OF_THEIR_OWN = (
    "policy",
    "env",
    "env_kwargs",
    "policy_kwargs",
    "seed",
    "evaluator",
    "num_workers",
)


@dataclass(frozen=True)
class TrainConfig:
    """Everything that decides the outcome of a training run, and how it is computed.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    env: str
    """Id of the environment, known to ``gymnasium.make`` after ``import iap_gym``."""
    algo: str = "es"
    """The algorithm: ``"es"`` is ``EvolutionStrategies``."""
    policy: str = "LinearPolicy"
    """Name of the controller, as the algorithm takes it."""
    total_timesteps: int = 1_000_000
    """Environment steps to train for; whole generations, so a little more."""
    seed: int = 0
    """Decides initial weights, perturbations and episodes."""
    workers: int = 1
    """Processes that play episodes; the result does not depend on it."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to ``gymnasium.make``; JSON values."""
    policy_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to the policy; ``selector`` holds the arguments of its ``PatchSelector``."""
    algo_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to the algorithm: population_size, sigma, learning_rate, ..."""

    def __post_init__(self) -> None:
        if not isinstance(self.env, str):
            raise _checks.refuse("env", "the id of an environment", self.env)
        _checks.one_of("algo", self.algo, ALGORITHMS)
        _checks.integer("total_timesteps", self.total_timesteps, 1)
        _checks.integer("seed", self.seed, 0)
        _checks.integer("workers", self.workers, 1)
        for name in ("env_kwargs", "policy_kwargs", "algo_kwargs"):
            if not isinstance(getattr(self, name), dict):
                raise _checks.refuse(name, "a dict of arguments", getattr(self, name))
        for name in FIELDS_OF_THEIR_OWN:
            if name in self.algo_kwargs:
                raise _checks.refuse(
                    "algo_kwargs", f"no {name!r}, which has a field of its own", name
                )

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Build the config from what ``to_json`` gave.

        Raises:
            ValueError: a field is unknown (the nearest known one is named) or wrong.
        """
        known = [f.name for f in dataclasses.fields(cls)]
        for name in fields:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                raise ValueError(f"config: expected fields among {known}, got {name!r}{hint}")
        return cls(**fields)
