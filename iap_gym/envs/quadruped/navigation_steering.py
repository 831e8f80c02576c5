"""Tight turns: what makes the gait turn within a small room."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.gait import PRESETS
from iap_gym.envs.quadruped.low_level import LowLevel
from iap_gym.envs.quadruped.pmtg import ACTION_SIZE, GAIT_ACTIONS

Array = NDArray[np.float64]

AMPLITUDE, TURN = GAIT_ACTIONS.index("amplitude"), GAIT_ACTIONS.index("turn")
# Of a leg's three residuals the second is its swing.
SWING = len(GAIT_ACTIONS) + 1 + 3 * np.arange(len(a1.LEGS))
RIGHT = -np.array(a1.OUTWARD, np.float64)  # 1 for right legs, -1 for left ones
_PIVOT = {AMPLITUDE: -0.4, TURN: 0.75}  # found by trial: as fast to both sides, no stumbling
_OFFSETS = 2.0 * math.pi * np.array(PRESETS["trot"].offsets)


def curve(turn: float, amplitude: float = 0.0) -> Array:
    """Return the action of "pmtg" that walks a curve.

    The stride is shorter on the inner side, and its legs swing around a place further back. With
    the trot: ``turn`` 1 turns at 1.7 rad/s in a circle of 0.3 to 0.6 m radius.

    Args:
        turn: -1 to 1, positive is to the left.
        amplitude: -1 to 1, 0 is the gait's.

    Returns:
        float64 (16,).
    """
    action = np.zeros(ACTION_SIZE)
    action[AMPLITUDE], action[TURN] = amplitude, turn
    action[SWING] = turn * RIGHT
    return action


def pivot(side: float, phase_state: Array) -> Array:
    """Return the action of "pmtg" that turns nearly on the spot, for the trot.

    Residuals in time with the gait make the inner legs stride backward: it turns at 2 rad/s in a
    circle of 0.25 m radius.

    Args:
        side: 1 to the left, -1 to the right.
        phase_state: (2,) what is observed of the gait's phase.

    Returns:
        float64 (16,).
    """
    cosine, sine = 2.0 * np.asarray(phase_state, np.float64) - 1.0
    action = np.zeros(ACTION_SIZE)
    action[AMPLITUDE], action[TURN] = _PIVOT[AMPLITUDE], side * _PIVOT[TURN]
    action[SWING] = side * RIGHT * np.cos(math.atan2(sine, cosine) + _OFFSETS)
    return action


def indoor_low_level(latent_size: int = 2) -> LowLevel:
    """Return a low level whose first latent number steers by ``curve``, the second slows or speeds.

    Args:
        latent_size: at least 1; with 1 the speed is the gait's.

    Raises:
        ValueError: ``latent_size`` below 1.
    """
    low_level = LowLevel(_checks.integer("latent_size", latent_size, 1))
    low_level.weight[:, 0] = curve(1.0)
    if latent_size > 1:
        low_level.weight[AMPLITUDE, 1] = 0.5
    return low_level
