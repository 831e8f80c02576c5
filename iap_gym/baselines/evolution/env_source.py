"""Where the environments of a run come from: an id, an environment or a callable."""

from __future__ import annotations

import copy
import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

import iap_gym  # noqa: F401  registers our ids
from iap_gym import _checks

MakeEnv = Callable[..., Any]


@dataclass(frozen=True)
class EnvSource:
    """Makes environments here or, as it pickles with cloudpickle, in another process."""

    spec: EnvSpec | None = None  # from an id, or of an environment
    make_env: MakeEnv | None = None  # the callable, where there is no spec
    env: gymnasium.Env[Any, Any] | None = None  # the caller's own environment, for this process
    kwargs: dict[str, Any] = field(default_factory=dict[str, Any])

    def make(self) -> gymnasium.Env[Any, Any]:
        """Return a new environment.

        Raises:
            ValueError: there is only an environment without a complete spec, or the callable
                returned something else than an environment.
        """
        if self.make_env is not None:
            made = self.make_env(**self.kwargs)
            if not isinstance(made, gymnasium.Env):
                raise _checks.refuse("env()", "a gymnasium.Env", made)
            return made
        if self.spec is None:
            raise ValueError(
                "env: expected an id, a callable or an environment made by gymnasium.make, as "
                f"others must be made like it, got {self.env!r}, whose spec is None"
            )
        return gymnasium.make(copy.deepcopy(self.spec), **self.kwargs)

    def for_workers(self) -> EnvSource:
        """Return the source without the caller's own environment, which cannot travel.

        Raises:
            ValueError: then nothing is left to make environments from.
        """
        if self.spec is None and self.make_env is None:
            self.make()  # raises
        for wrapper in self.spec.additional_wrappers if self.spec is not None else ():
            if wrapper.kwargs is None:
                raise _checks.refuse(
                    "env",
                    "an id, a callable, or wrappers that record their arguments "
                    "(gymnasium.utils.RecordConstructorArgs)",
                    wrapper.entry_point,
                )
        return EnvSource(self.spec, self.make_env, None, self.kwargs)

    def to_json(self) -> dict[str, Any] | None:
        """Return what ``from_json`` makes the same source from; None for what JSON cannot hold."""
        if self.spec is None:
            return None
        try:
            spec = self.for_workers().spec
            assert spec is not None
            return {"spec": json.loads(spec.to_json()), "kwargs": _json_only(self.kwargs)}
        except (TypeError, ValueError):
            return None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EnvSource:
        """Return the source that ``to_json`` described."""
        return cls(EnvSpec.from_json(json.dumps(data["spec"])), kwargs=dict(data["kwargs"]))


def resolve(env: Any, env_kwargs: Mapping[str, Any] | None = None) -> EnvSource:
    """Return the source that an ``env`` argument means.

    Args:
        env: an id, also "module:id" for ids that importing ``module`` registers; a single
            environment; or a callable that returns one.
        env_kwargs: arguments for ``gymnasium.make`` or for the callable.

    Raises:
        ValueError: anything else, or ``env_kwargs`` beside an environment.
        gymnasium.error.Error: an unknown id.
    """
    kwargs = dict(env_kwargs or {})
    if isinstance(env, str):
        module, _, name = env.rpartition(":")
        if ":" in module:
            raise _checks.refuse("env", "an id, or module:id", env)
        if module:
            importlib.import_module(module)
        return EnvSource(gymnasium.spec(name), kwargs=kwargs)
    if isinstance(env, gymnasium.Env):
        if kwargs:
            raise _checks.refuse("env_kwargs", "none beside an environment", kwargs)
        return EnvSource(env.spec, env=env)
    if callable(env):
        return EnvSource(make_env=env, kwargs=kwargs)
    raise _checks.refuse("env", "an id, a single gymnasium.Env or a callable that makes one", env)


def _json_only(value: Any) -> Any:
    return json.loads(json.dumps(value))
