"""Which rollouts of Fetch Pick and Place are taken, and the flags of their states.

The rule of a grasp, and of a cube that nobody touched before it, is that of the data sets of
Gumbsch, Butz and Martius (2021); the others are ours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.fetch.controllers import Reading

EVENTS = ("grasp", "moved", "lifted")

ALIGNED = 5e-4  # m, along x and y, between cube and gripper in a grasp, as published
NEAR = 0.15  # m, along z, as published
STILL = 1e-4  # m, a cube that lies on the table moves less
LIFTED = 0.01  # m above where it lay
SHOVED = 0.02  # m, at least, of a cube that was pushed, slid or flicked
FALLEN = 0.02  # m below where it lay

Flags = NDArray[np.bool_]


def read_events(readings: Reading) -> dict[str, Flags]:
    """Return the flags (t,) of states (t, 11) that follow one another from the start of a rollout.

    `grasp`: cube and gripper are within 0.5 mm along x and y and 0.15 m along z, the published
    rule. `moved`: the cube is more than 0.1 mm from where it lay. `lifted`: more than 1 cm above.
    """
    relative, cube = np.abs(readings[:, 6:9]), readings[:, 3:6] - readings[0, 3:6]
    return {
        "grasp": (relative[:, :2].max(1) < ALIGNED) & (relative[:, 2] < NEAR),
        "moved": np.abs(cube).max(1) > STILL,
        "lifted": cube[:, 2] > LIFTED,
    }


def grasps_first_between(readings: Reading, steps: int, first: int, last: int) -> bool:
    """Whether the first grasp comes at state ``first`` to ``last`` and finds the cube unmoved."""
    flags = read_events(readings)
    grasps = np.flatnonzero(flags["grasp"])
    now = len(readings) - 1
    if not grasps.size:
        return now < min(last, steps) and not flags["moved"].any()
    return first <= grasps[0] <= last and not flags["moved"][: grasps[0]].any()


def is_lifted(readings: Reading, steps: int) -> bool:
    """Whether the cube is lifted sometime and never falls off the table."""
    if _fell(readings):
        return False
    return len(readings) <= steps or bool(read_events(readings)["lifted"].any())


def is_shoved(readings: Reading, steps: int) -> bool:
    """Whether the cube is moved along the table, neither lifted nor pushed off."""
    if _fell(readings) or readings[-1, 5] - readings[0, 5] > LIFTED:
        return False
    way = np.linalg.norm(readings[-1, 3:5] - readings[0, 3:5])
    return len(readings) <= steps or bool(way > SHOVED)


def _fell(readings: Reading) -> bool:
    return bool(readings[-1, 5] - readings[0, 5] < -FALLEN)
