"""The action space "pmtg": sixteen numbers in [-1, 1] modulate the gait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.gait import (
    GaitParameters,
    TrajectoryGenerator,
    gait_parameters,
    leg_map,
)

Array = NDArray[np.float64]

ACTION_SIZE = 16
FREQUENCY = (0.0, 4.0)  # Hz
AMPLITUDE = (0.0, 0.5)  # rad
HEIGHT = (-0.5, 0.5)  # rad
GAIT_ACTIONS = ("frequency", "amplitude", "height", "turn")  # the first four; 12 residuals follow


class PMTGController:
    """Turns an action into joint targets, once a control step.

    An action is (16,) in [-1, 1], clipped to it: ``frequency``, ``amplitude``, ``height``,
    ``turn``, then three residuals for each leg in the order of ``a1.LEGS``: abduction (positive
    is to the left), swing (forward) and extension (longer). Of a parameter with the value m in
    the gait and the range (low, high) a number a sets ``m + a (high - m)`` if a >= 0, else
    ``m + a (m - low)``: 0 is the gait itself, straight ahead, and -1 and 1 are the ends of the
    range. A turn is ``a turn``, a residual ``a residual``.

    Args:
        parameters: of the gait: a name of ``gait.PRESETS``, parameters, or a mapping of them.
        frequency: range, Hz.
        amplitude: range of the swing's amplitude, rad.
        height: range of the legs' extension, rad.
        turn: largest turn.
        residual: largest residual, rad.
    """

    def __init__(
        self,
        parameters: str | GaitParameters | Mapping[str, Any] = "trot",
        frequency: Sequence[float] = FREQUENCY,
        amplitude: Sequence[float] = AMPLITUDE,
        height: Sequence[float] = HEIGHT,
        turn: float = 0.5,
        residual: float = 0.15,
    ) -> None:
        gait = gait_parameters(parameters)
        self.generator = TrajectoryGenerator(gait)
        self._frequency = _Range.around("frequency", frequency, gait.frequency, FREQUENCY, 0.0)
        self._amplitude = _Range.around("amplitude", amplitude, gait.amplitude, AMPLITUDE, 0.0)
        self._height = _Range.around("height", height, gait.height, HEIGHT)
        # Beyond 1 a leg of one side would stride backward.
        self._turn = _checks.real("turn", turn, 0.0, 1.0)
        self._residual = _checks.real("residual", residual, 0.0)

    def reset(self, phase: float = 0.0) -> None:
        """Start the gait from standing, at a phase (rad)."""
        self.generator.reset(phase)

    @property
    def state(self) -> Array:
        """What a policy sees of the phase, (2,); see ``TrajectoryGenerator.state``."""
        return self.generator.state

    def targets(self, action: Any, dt: float) -> Array:
        """Advance the gait by ``dt`` (s) and return the joint targets (12,), rad.

        Args:
            action: (16,), clipped to [-1, 1].
            dt: s, of a control step.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        action = _checks.array("action", action, (ACTION_SIZE,))
        action = np.minimum(np.maximum(action, -1.0), 1.0)
        frequency, amplitude, height, turn = action[:4].tolist()
        legs = self.generator.step(
            dt,
            self._frequency.value(frequency),
            self._amplitude.value(amplitude),
            self._height.value(height),
            turn * self._turn,
        )
        residual = self._residual * action[4:].reshape(len(a1.LEGS), 3)
        return leg_map(
            self.generator.abduction + residual[:, 0],
            legs[:, 0] + residual[:, 1],
            legs[:, 1] + residual[:, 2],
        )


class _Range(NamedTuple):
    """Of a parameter: its lowest value, the gait's and the highest, for -1, 0 and 1."""

    low: float
    middle: float
    high: float

    @classmethod
    def around(
        cls,
        name: str,
        ends: Any,
        middle: float,
        usual: tuple[float, float],
        lowest: float = -math.inf,
    ) -> _Range:
        low, high = _checks.array(name, ends, (2,)).tolist()
        if (low, high) == usual:  # what does not fit is the gait
            _checks.real(name, middle, low, high)
        if not lowest <= low <= middle <= high:
            raise _checks.refuse(name, f"a range (low, high) around the gait's {middle:g}", ends)
        return cls(low, middle, high)

    def value(self, number: float) -> float:
        end = self.high if number >= 0.0 else self.low
        return self.middle + abs(number) * (end - self.middle)
