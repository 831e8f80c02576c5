"""From the real outputs of a controller to the actions of a space, deterministically.

Letters: B batch, K outputs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks


class ActionHead(Protocol):
    """What turns logits into actions."""

    size: int  # K, the logits that it needs

    def __call__(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        """Map finite logits (B, K) to a batch of actions, (B, *shape of the space)."""
        ...


SQUASHES = ("tanh", "clip")


class BoxHead:
    """Bounded entries: squashed to [-1, 1], mapped to [low, high]. Others: the logit, clipped.

    "tanh" squashes smoothly; with "clip" a small logit x is the action middle + x (high - low) / 2,
    so that a linear controller stays a linear map until it meets a bound. Integer boxes get the
    nearest integer.
    """

    def __init__(self, space: spaces.Box, squash: str = "tanh") -> None:
        self._squash = np.tanh if squash == "tanh" else _clip
        self.size = int(np.prod(space.shape))
        self._shape, self._dtype = space.shape, space.dtype
        self._low = space.low.ravel().astype(np.float64)
        self._high = space.high.ravel().astype(np.float64)
        self._bounded = np.isfinite(self._low) & np.isfinite(self._high)
        low, high = (np.where(self._bounded, b, 0.0) for b in (self._low, self._high))
        self._middle = low / 2 + high / 2
        self._half = high / 2 - low / 2

    def __call__(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        """Map finite logits (B, K) to actions."""
        actions = np.where(self._bounded, self._middle + self._half * self._squash(logits), logits)
        actions = np.clip(actions, self._low, self._high)
        if np.issubdtype(self._dtype, np.integer):
            actions = np.rint(actions)
        return actions.astype(self._dtype).reshape(-1, *self._shape)


class DiscreteHead:
    """The action of the largest logit; the first of equal ones."""

    def __init__(self, space: spaces.Discrete) -> None:
        self.size = int(space.n)
        self._start = space.start

    def __call__(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        """Map finite logits (B, K) to actions."""
        return np.argmax(logits, axis=1) + self._start


class MultiDiscreteHead:
    """For every entry the choice of its largest logit; entries in C order."""

    def __init__(self, space: spaces.MultiDiscrete) -> None:
        choices = space.nvec.ravel()
        self.size = int(choices.sum())
        self._splits = np.cumsum(choices)[:-1]
        self._space = space

    def __call__(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        """Map finite logits (B, K) to actions."""
        parts = np.split(logits, self._splits, axis=1)
        best = np.stack([np.argmax(part, axis=1) for part in parts], axis=1)
        actions = best.reshape(-1, *self._space.nvec.shape) + self._space.start
        return actions.astype(self._space.dtype)


class MultiBinaryHead:
    """1 where the logit is positive."""

    def __init__(self, space: spaces.MultiBinary) -> None:
        self.size = int(np.prod(space.shape))
        self._shape = space.shape

    def __call__(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        """Map finite logits (B, K) to actions."""
        return (logits > 0).astype(np.int8).reshape(-1, *self._shape)


_HEADS: dict[type[spaces.Space[Any]], Callable[..., Any]] = {
    spaces.Discrete: DiscreteHead,
    spaces.MultiDiscrete: MultiDiscreteHead,
    spaces.MultiBinary: MultiBinaryHead,
}


def _clip(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.clip(logits, -1.0, 1.0)


def make_head(space: spaces.Space[Any], squash: str = "tanh") -> ActionHead:
    """Return the head for an action space.

    Args:
        space: the action space.
        squash: "tanh" or "clip", for the bounded entries of a Box (see ``BoxHead``).

    Raises:
        ValueError: an unknown ``squash``; a space that is neither Box, Discrete, MultiDiscrete nor
            MultiBinary, or without entries.
    """
    _checks.one_of("squash", squash, SQUASHES)
    heads = {**_HEADS, spaces.Box: functools.partial(BoxHead, squash=squash)}
    for kind, head in heads.items():
        if isinstance(space, kind):
            made: ActionHead = head(space)
            if made.size == 0:
                raise _checks.refuse("action_space", "at least one entry", space)
            return made
    raise _checks.refuse("action_space", "Box, Discrete, MultiDiscrete or MultiBinary", space)
