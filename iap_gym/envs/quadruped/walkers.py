"""Walkers to compare with: one that sees nothing, and one that knows where the gaps are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs._angles import wrapped
from iap_gym.envs.quadruped.course import Layout

LOOK_AHEAD = 1.0  # m
STRAIGHT_BEFORE = 0.5  # m before a wall and behind it, in which the robot heads along x
LARGEST_CURVE = 1.0  # of an action
GAIN = 2.0  # action per rad of bearing


def blind(action_size: int) -> NDArray[np.float32]:
    """Return the action that walks straight ahead: zeros, for "pmtg" and "latent"."""
    return np.zeros(action_size, np.float32)


def oracle(layout: Layout, pose: NDArray[np.float64]) -> float:
    """Return how to turn to get through the gaps: pure pursuit of a line that leads through them.

    Args:
        layout: where the gaps are.
        pose: (3,) x and y (m) and yaw (rad), such as ``env.unwrapped.path[-1]``.

    Returns:
        The first number of a latent command, or (times 0.6) the turn of an action of "pmtg", in
        [-1, 1]; positive is to the left.
    """
    x, y, yaw = (float(number) for number in pose)
    corners = [(0.0, layout.start_y)]
    for wall, center in layout.gap_centers:
        corners += [(wall - STRAIGHT_BEFORE, center), (wall + STRAIGHT_BEFORE, center)]
    corners.append((max(layout.length, corners[-1][0] + 1.0), corners[-1][1]))
    line_x, line_y = np.array(corners).T
    target = float(np.interp(x + LOOK_AHEAD, line_x, line_y))
    bearing = wrapped(math.atan2(target - y, LOOK_AHEAD) - yaw)
    return float(np.clip(GAIN * bearing, -LARGEST_CURVE, LARGEST_CURVE))
