"""Observations without text, for agents that read numbers only."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from iap_gym import _checks


class DropTextObservation(gymnasium.ObservationWrapper, RecordConstructorArgs):
    """Leaves out the entries of a Dict observation that are text, at any depth.

    MiniGrid's Dict holds the mission as a string, which Stable-Baselines3 and Gymnasium's vector
    environments with shared memory refuse. A text space is one whose dtype is a string:
    ``gymnasium.spaces.Text``, MiniGrid's ``MissionSpace`` and others made like them. Other entries
    keep their space and their value; a Dict that held text alone goes with it; Tuples are not
    looked into. An observation without text stays as it is, so that the wrapper may be put around
    any environment. The mission is still there as ``env.unwrapped.mission``.

    Args:
        env: the environment.

    Raises:
        ValueError: the observation is text and nothing else.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.ObservationWrapper.__init__(self, env)
        space = without_text(env.observation_space)
        if space is None:
            wanted = "an observation space with something besides text"
            raise _checks.refuse("env", wanted, env.observation_space)
        self.observation_space = space

    def observation(self, observation: Any) -> Any:
        """Return an observation of the wrapped environment without its texts."""
        return _select(self.observation_space, observation)


def has_text(space: spaces.Space) -> bool:
    """Whether ``DropTextObservation`` would change observations of this space."""
    return without_text(space) is not space


def without_text(space: spaces.Space) -> spaces.Space | None:
    """Return the space without text: itself if there is none, None if there is nothing else."""
    if isinstance(space, spaces.Dict):
        parts = {key: without_text(part) for key, part in space.items()}
        if all(part is space[key] for key, part in parts.items()):
            return space
        kept = [(key, part) for key, part in parts.items() if part is not None]
        return spaces.Dict(kept) if kept else None
    is_text = space.dtype is not None and space.dtype.kind in "US"
    return None if is_text else space


def _select(space: spaces.Space, observation: Any) -> Any:
    if not isinstance(space, spaces.Dict):
        return observation
    return {key: _select(part, observation[key]) for key, part in space.items()}
