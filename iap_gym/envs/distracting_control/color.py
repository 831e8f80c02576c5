"""The colour distraction: every material's colour, drawn anew at each reset or walking."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.distracting_control.settings import ColorSettings

Array = NDArray[np.float64]


def color_range(original: Array, delta: float) -> tuple[Array, Array]:
    r"""Return the lowest and highest colours, $\mathrm{clip}(c \mp \delta, 0, 1)$."""
    return np.clip(original - delta, 0.0, 1.0), np.clip(original + delta, 0.0, 1.0)


class ColorDistraction:
    """Colours of M materials.

    Args:
        settings: the range and the walk.
        original: (M, 3) the colours of the model as it was loaded, in [0, 1].
    """

    def __init__(self, settings: ColorSettings, original: Array) -> None:
        self._step_std = settings.step_std
        self._low, self._high = color_range(np.array(original, np.float64), settings.delta)
        self.rgb = np.array(original, np.float64)  # (M, 3), the colours now
        self._rng = np.random.default_rng(0)  # replaced at every reset

    def reset(self, rng: np.random.Generator) -> None:
        """Draw all colours uniformly in their ranges; ``rng`` also drives the walk from here."""
        self._rng = rng
        self.rgb = rng.uniform(self._low, self._high)

    def advance(self) -> None:
        """Walk by one control step: normal steps, clipped to the range."""
        if self._step_std:
            step = self._rng.normal(0.0, self._step_std, self.rgb.shape)
            self.rgb = np.clip(self.rgb + step, self._low, self._high)
