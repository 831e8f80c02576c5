"""What a training run is made from; saved in its folder as JSON."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from iap_gym import _checks

T = TypeVar("T")

ALGORITHMS = ("es", "ppo")
# What the algorithm takes too, but the config says elsewhere.
FIELDS_OF_THEIR_OWN = (
    "policy",
    "env",
    "env_kwargs",
    "policy_kwargs",
    "seed",
    "evaluator",
    "num_workers",
    "core",
    "start_from",
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
    """The algorithm: ``"es"`` is ``EvolutionStrategies``, ``"ppo"`` is ``RecurrentPPO``."""
    policy: str | None = None
    """Name of the controller, as the algorithm takes it. None is ``"LinearPolicy"`` with es; with
    ppo, what suits the observation space."""
    core: str | None = None
    """Recurrent core, ppo only: a name of ``iap_gym.recurrent.CORES``; None is ``"gatel0rd"``."""
    total_timesteps: int = 1_000_000
    """Environment steps to train for; whole generations or updates, so a little more."""
    seed: int = 0
    """Decides initial weights, perturbations and episodes."""
    workers: int = 1
    """Processes that play episodes; the result does not depend on it."""
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to ``gymnasium.make``; JSON values."""
    policy_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to the policy; with es, ``selector`` holds the arguments of its ``PatchSelector``."""
    algo_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to the algorithm: population_size, sigma, ... or n_steps, gate_penalty, ...; with ppo
    also ``n_envs``, environments side by side, and ``normalize``, True or the arguments of
    ``VecNormalize``. A number of PPO's that may change over the run is also taken as "lin_0.001",
    which falls linearly to 0."""
    checkpoint_every: int = 20
    """Updates between checkpoints, ppo only. Environments begin anew after each, so it is part of
    what decides the outcome."""
    eval_every: int | None = None
    """Steps between evaluations during training; None is none. With es the best generation in them
    is kept, and is what ``iap-gym evaluate`` and ``--start-from`` then take."""
    eval_episodes: int = 100
    """Episodes of such an evaluation, always the same."""
    eval_sampled: bool = True
    """Whether actions are sampled in it, or the most probable ones; ppo only."""
    eval_env_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the environment in evaluations, and in films, that differ from ``env_kwargs``;
    es only."""
    start_from: str | dict[str, str] | None = None
    """Where the search starts, es only: a run's folder, a checkpoint or weights, or such for the
    ``"high"`` and the ``"low"`` level of a hierarchy. None draws a start."""

    def __post_init__(self) -> None:
        if not isinstance(self.env, str):
            raise _checks.refuse("env", "the id of an environment", self.env)
        _checks.one_of("algo", self.algo, ALGORITHMS)
        _checks.integer("total_timesteps", self.total_timesteps, 1)
        _checks.integer("seed", self.seed, 0)
        _checks.integer("workers", self.workers, 1)
        _checks.integer("checkpoint_every", self.checkpoint_every, 1)
        _checks.integer("eval_episodes", self.eval_episodes, 1)
        _checks.boolean("eval_sampled", self.eval_sampled)
        if self.eval_every is not None:
            _checks.integer("eval_every", self.eval_every, 1)
        if not isinstance(self.policy, str | None):
            raise _checks.refuse("policy", "the name of a policy or None", self.policy)
        for name in ("env_kwargs", "policy_kwargs", "algo_kwargs", "eval_env_kwargs"):
            if not isinstance(getattr(self, name), dict):
                raise _checks.refuse(name, "a dict of arguments", getattr(self, name))
        for name in FIELDS_OF_THEIR_OWN:
            if name in self.algo_kwargs:
                raise _checks.refuse(
                    "algo_kwargs", f"no {name!r}, which has a field of its own", name
                )
        self._check_ppo() if self.algo == "ppo" else self._check_es()

    def _check_es(self) -> None:
        if self.core is not None:
            raise _checks.refuse("core", "nothing beside algo 'es'", self.core)
        if not isinstance(self.start_from, str | dict | None):
            wanted = "a path, a dict of paths for parts of the policy, or None"
            raise _checks.refuse("start_from", wanted, self.start_from)
        if self.policy is None:
            object.__setattr__(self, "policy", "LinearPolicy")

    def _check_ppo(self) -> None:
        from iap_gym.recurrent import CORES

        for name in ("start_from", "eval_env_kwargs"):
            if getattr(self, name):
                raise _checks.refuse(name, "nothing beside algo 'ppo'", getattr(self, name))
        if self.core is None:
            object.__setattr__(self, "core", "gatel0rd")
        _checks.one_of("core", self.core, tuple(CORES))
        if "selector" in self.policy_kwargs:
            wanted = "nothing beside algo 'ppo', whose policies select no patches"
            raise _checks.refuse("selector", wanted, self.policy_kwargs["selector"])

    def evaluated(self) -> TrainConfig:
        """Return the config with the environment of evaluations as that of training."""
        env_kwargs = {**self.env_kwargs, **self.eval_env_kwargs}
        return dataclasses.replace(self, env_kwargs=env_kwargs, eval_env_kwargs={})

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Build the config from what ``to_json`` gave.

        Raises:
            ValueError: a field is unknown (the nearest known one is named) or wrong.
        """
        return from_fields(cls, fields)


def from_fields(kind: type[T], fields: dict[str, Any]) -> T:
    """Build a config, a dataclass, from its fields as JSON values.

    Raises:
        ValueError: a field is unknown (the nearest known one is named) or wrong.
    """
    known = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in fields:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"config: expected fields among {list(known)}, got {name!r}{hint}")
    return kind(**fields)
