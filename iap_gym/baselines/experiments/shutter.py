"""When frames of a film are taken."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import gymnasium
import numpy as np

Draw = Callable[[], np.ndarray]

RATE = 25.0  # frames a second of what has a clock of its own


class Shutter:
    """Takes a frame at each step of an episode, or at even times within and across steps.

    The latter in environments that call ``on_control_step`` (those of the quadruped), whose steps
    are of a hundredth of a second, or of many such control steps. A context manager.

    Args:
        env: what is filmed.
        write: takes the frames.
    """

    def __init__(self, env: gymnasium.Env, write: Callable[[np.ndarray], None]) -> None:
        self._env: Any = env.unwrapped
        self._write = write
        self._every = control_steps(env)
        self._passed = 0  # control steps
        self._draw: Draw | None = None

    def __enter__(self) -> Self:
        if self._every is not None:
            self._env.on_control_step = self._tick
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._every is not None:
            self._env.on_control_step = None

    def step(self, draw: Draw) -> None:
        """Say how a moment is drawn from now on: an action was chosen, and is now taken."""
        first, self._draw = self._draw is None, draw
        if first or self._every is None:
            self._write(draw())

    def _tick(self) -> None:
        assert self._draw is not None
        assert self._every is not None
        self._passed += 1
        if self._passed % self._every == 0:
            self._write(self._draw())


def control_steps(env: gymnasium.Env) -> int | None:
    """Return how many control steps there are from frame to frame; None if it has none."""
    inner: Any = env.unwrapped
    if not hasattr(inner, "on_control_step"):
        return None
    return max(1, round(1.0 / (RATE * inner.mover.control_dt)))


def frame_rate(env: gymnasium.Env) -> float:
    """Frames a second of real time; 30 where the environment does not say."""
    every = control_steps(env)
    if every is not None:
        inner: Any = env.unwrapped
        return 1.0 / (every * inner.mover.control_dt)
    return float(env.metadata.get("render_fps") or 30)
