"""A moment of a recurrent agent: the view, and under it what its core did up to now."""

from __future__ import annotations

import enum
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from iap_gym.baselines.experiments.gate_panel import (
    BACKGROUND,
    FOREGROUND,
    MARGIN,
    Picture,
    Strip,
    StripChart,
)

VIEW_HEIGHT = 384  # pixels
LINE_HEIGHT = 22


def fit(frame: Picture, height: int = VIEW_HEIGHT) -> Picture:
    """Resize a frame to a height; by a whole factor every pixel stays a square."""
    factor = height / frame.shape[0]
    width = max(1, round(frame.shape[1] * factor))
    how = Image.Resampling.NEAREST if factor.is_integer() else Image.Resampling.LANCZOS
    return np.asarray(Image.fromarray(frame).resize((width, height), how))


def action_name(env: gymnasium.Env, action: Any) -> str:
    """Name an action: as the environment does if it has an enumeration, else by its numbers."""
    names = getattr(env.unwrapped, "actions", None)
    if isinstance(names, type) and issubclass(names, enum.IntEnum) and np.ndim(action) == 0:
        return names(int(action)).name
    return " ".join(f"{number:.3g}" for number in np.ravel(action))


class Remembering(Protocol):
    """An agent whose core can be looked at, such as a ``RecurrentAgent``; see there."""

    actions: NDArray[Any] | None
    gates: NDArray[np.float32] | None

    def strips(self) -> list[Strip]:
        """Describe what ``columns`` returns."""
        ...

    def columns(self, row: int = 0) -> list[NDArray[np.float32]]:
        """Return the numbers of each strip after the last step."""
        ...


class MemoryScene:
    """Draws the frames of one episode.

    Args:
        agent: acts in the environment.
        env: renders the view.
    """

    def __init__(self, agent: Remembering, env: gymnasium.Env) -> None:
        self._agent = agent
        self._env = env
        self._chart: StripChart | None = None  # its width is that of the view, not known yet
        self._lines: list[str] = []  # under the view
        self._open: list[float] = []  # fraction of open gates of every step so far

    def note(self, step: int, total: float) -> None:
        """Take in what the agent did, after it has chosen an action and before that is taken.

        Args:
            step: number of the action, from 0.
            total: rewards so far.
        """
        assert self._agent.actions is not None
        if self._chart is None:
            self._chart = StripChart(self._agent.strips(), self._view().shape[1])
        self._chart.append(self._agent.columns())
        action = action_name(self._env, self._agent.actions[0])
        lines = [f"step {step}    return {total:.2f}    action {action}"]
        if self._agent.gates is not None:
            gates = self._agent.gates[0]
            self._open.append(float(np.mean(gates > 0)))
            lines.append(f"open gates {np.sum(gates > 0)} of {gates.size}    {self._rate()}")
        self._lines = lines

    def picture(self) -> Picture:
        """Draw the environment as it is now, with what was noted up to now.

        Returns:
            uint8 (height, width, 3), both even, as video needs.
        """
        return self._compose(self._view(), self._lines)

    def draw_end(self, steps: int, total: float) -> Picture:
        """Draw what the last action led to, as ``picture``."""
        view = self._view()
        lines = [f"end of the episode after {steps} steps    return {total:.2f}"]
        if self._open:
            lines.append(self._rate())
        return self._compose(view, lines)

    def _rate(self) -> str:
        return f"gate rate so far {100 * np.mean(self._open):.1f} %"

    def _view(self) -> Picture:
        frame = self._env.render()
        if not isinstance(frame, np.ndarray):
            raise RuntimeError(f"render: expected an image, got {type(frame).__name__}")
        return fit(frame)

    def _compose(self, view: Picture, lines: list[str]) -> Picture:
        assert self._chart is not None
        text = LINE_HEIGHT * (2 if self._agent.gates is not None else 1) + MARGIN
        width = max(view.shape[1], self._chart.width)
        height = view.shape[0] + text + self._chart.height
        canvas = Image.new("RGB", (width + width % 2, height + height % 2), BACKGROUND)
        canvas.paste(Image.fromarray(view), ((width - view.shape[1]) // 2, 0))
        draw, font = ImageDraw.Draw(canvas), ImageFont.load_default(size=15)
        for i, line in enumerate(lines):
            place = (MARGIN, view.shape[0] + MARGIN + LINE_HEIGHT * i)
            draw.text(place, line, fill=FOREGROUND, font=font)
        chart = Image.fromarray(self._chart.draw())
        canvas.paste(chart, ((width - self._chart.width) // 2, view.shape[0] + text))
        return np.asarray(canvas)
