"""A task of dm_control's suite through shimmy, with what shimmy leaves open put right.

shimmy's layer draws its seed outside Gymnasium's generator, checks no action, returns float64
dictionaries and info that holds dm_env objects, and changes metadata that all its instances share.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from dm_control import suite
from numpy.typing import NDArray
from shimmy.dm_control_compatibility import DmControlCompatibilityV0

from iap_gym._checks import one_of

_ENDLESS = {"lqr"}  # has no time limit


class _Compatibility(DmControlCompatibilityV0):
    def __init__(self, env: Any) -> None:
        self.metadata = dict(DmControlCompatibilityV0.metadata)
        super().__init__(env)


class Simulator:
    """One task: physics, actions, rewards and the state as one vector.

    Args:
        domain: a domain of ``dm_control.suite``.
        task: one of its tasks.

    Raises:
        ValueError: no such domain or task.
    """

    def __init__(self, domain: str, task: str) -> None:
        one_of("domain", domain, sorted(suite.TASKS_BY_DOMAIN.keys() - _ENDLESS))
        one_of("task", task, sorted(suite.TASKS_BY_DOMAIN[domain]))
        # The seed is replaced at every reset; it is fixed for what a task draws while it is made.
        self._env = suite.load(domain, task, task_kwargs={"random": 0})
        self._compatibility = _Compatibility(self._env)
        self.physics = self._env.physics
        spec = self._env.action_spec()
        shape = spec.shape
        self.action_low = np.broadcast_to(np.asarray(spec.minimum, np.float64), shape)  # (A,)
        self.action_high = np.broadcast_to(np.asarray(spec.maximum, np.float64), shape)  # (A,)
        self.state_size = sum(
            int(np.prod(entry.shape)) for entry in self._env.observation_spec().values()
        )
        self.control_timestep: float = self._env.control_timestep()  # s
        self.over = True  # no step without a reset, nor after the end of an episode

    def reset(self, seed: int) -> NDArray[np.float32]:
        """Start an episode that depends on ``seed`` alone; return the state, (S,)."""
        self._compatibility.np_random = np.random.RandomState(seed)
        with self._without_rendering():
            observation, _ = self._compatibility.reset()
        self.over = False
        return _flat(observation)

    def step(self, action: NDArray[np.float64]) -> tuple[NDArray[np.float32], float, bool, bool]:
        """Advance by one control step; return state (S,), reward, terminated, truncated."""
        observation, reward, terminated, truncated, _ = self._compatibility.step(action)
        self.over = bool(terminated or truncated)
        return _flat(observation), float(reward), bool(terminated), bool(truncated)

    def close(self) -> None:
        """Free what dm_control holds; a second call does nothing."""
        if self._env is not None:
            self._compatibility.close()
            self._env = None

    @contextlib.contextmanager
    def _without_rendering(self) -> Iterator[None]:
        # A task that changes a height field asks for dm_control's rendering context, which would
        # be made then, or fail, though nothing renders with it.
        self.physics._make_rendering_contexts = _nothing
        try:
            yield
        finally:
            del self.physics._make_rendering_contexts


def _nothing() -> None:
    pass


def _flat(observation: dict[str, Any]) -> NDArray[np.float32]:
    return np.concatenate([np.ravel(value) for value in observation.values()]).astype(np.float32)
