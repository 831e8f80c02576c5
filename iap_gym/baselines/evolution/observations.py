"""Single observations and batches of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from iap_gym import _checks


def add_axis(observation: Any) -> Any:
    """Return one observation as a batch of one."""
    if isinstance(observation, Mapping):
        return {key: np.asarray(value)[None] for key, value in observation.items()}
    return np.asarray(observation)[None]


def rows(observations: Any) -> int:
    """Return the number of observations in a batch."""
    if isinstance(observations, Mapping):
        observations = next(iter(observations.values()))
    return len(observations)


def is_single(observation: Any, space: spaces.Space[Any], name: str = "observation") -> bool:
    """Say whether this is one observation of a space (True) or a batch of them (False).

    Raises:
        ValueError: neither.
    """
    if isinstance(space, spaces.Dict):
        if not isinstance(observation, Mapping) or set(observation) != set(space.spaces):
            raise _checks.refuse(name, f"a dict with the keys {list(space.spaces)}", observation)
        kinds = {
            is_single(observation[key], inner, f"{name}[{key!r}]")
            for key, inner in space.spaces.items()
        }
        if len(kinds) > 1:
            raise _checks.refuse(name, "only single entries or only batches", "a mixture")
        return kinds.pop()
    shape, wanted = np.shape(observation), space.shape
    assert wanted is not None
    if shape == wanted:
        return True
    if shape[1:] == wanted and len(shape) == len(wanted) + 1:
        return False
    raise _checks.refuse(name, f"shape {wanted}, or a batch of such", shape)
