"""What an environment remembers for its pictures."""

from __future__ import annotations

from collections import deque

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.planar.drawing import DRAWERS
from iap_gym.envs.planar.world import Array, World

RENDER_MODES = ["rgb_array"]
HEIGHT, WIDTH = 240, 480  # pixels
TRAIL = 12  # steps


class Painter:
    """Keeps the last states of n worlds while an environment renders, and draws them.

    Args:
        world: the rules.
        render_mode: None or "rgb_array".
        height: of a picture, pixels.
        width: of a picture, pixels.
        trail: so many steps of the ball's or the agent's way are drawn.

    Raises:
        ValueError: an argument outside of this.
    """

    def __init__(
        self, world: World, render_mode: str | None, height: int, width: int, trail: int
    ) -> None:
        self._on = _checks.one_of("render_mode", render_mode, (None, *RENDER_MODES)) is not None
        self._size = _checks.integer("height", height, 1), _checks.integer("width", width, 1)
        self._world = world
        self._past: deque[Array] = deque(maxlen=1 + _checks.integer("trail", trail))

    def start(self, state: Array) -> None:
        """Forget everything but ``state`` (n, S)."""
        self._past.clear()
        self.add(state)

    def add(self, state: Array) -> None:
        """Remember the state (n, S) after a step; it must not change any more."""
        if self._on:
            self._past.append(state)

    def frames(self, steps: list[int] | None = None) -> tuple[NDArray[np.uint8], ...] | None:
        """Return pictures (height, width, 3) of the n worlds, None without a render mode.

        Args:
            steps: that each world's episode has taken so far; None: those that are remembered.

        Raises:
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        if not self._on:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
            return None
        if not self._past:
            raise ResetNeeded("render: call reset or set_state first, there is nothing to see")
        # A world may be a kind of another one, which looks the same.
        draw = next(draw for kind, draw in DRAWERS.items() if isinstance(self._world, kind))
        past = list(self._past)
        if steps is None:
            steps = [len(past)] * len(past[0])
        pictures: list[NDArray[np.uint8]] = []
        for row, taken in enumerate(steps):
            *before, now = (state[row] for state in past[-1 - min(taken, len(past) - 1) :])
            pictures.append(draw(now, self._world, self._size, before))
        return tuple(pictures)
