"""Which states of the simulation there can be.

The limits are several times wider than what random, extreme and cube-throwing play reaches. A state
outside of them was not made by ``get_state``; MuJoCo would take it, and write warnings into a file.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iap_gym import _checks
from iap_gym.envs.fetch.simulation import START, STATE, Array, Simulation, mujoco

TORSO = "robot0:torso_lift_joint"
PLACE = 5.0  # m from the origin, along each axis, of the cube and of what leads the gripper
JOINT_MARGIN = 0.5  # rad or m, outside of a joint's range, which is soft
BASE_MARGIN = 0.01  # m, of the base, which stands
TURNS = 300.0  # rad, of joints without a range
SPEED = 50.0  # rad/s or m/s, of a joint of the arm, and of the cube
TORSO_SPEED = 0.2  # m/s, of what creeps
BASE_SPEED = 1e-4  # m/s, of what very much damping holds
SPIN = 200.0  # rad/s, of the cube
ACCELERATION = 1e5  # m/s^2 or rad/s^2
CONTROL = 1.5  # m, asked of a finger: an action of 1 beyond where it is
TIME = 1e9  # s
UNIT = 1e-3  # how far a quaternion's length may be from 1
# What leads the gripper has a unit quaternion plus one of length sqrt(2), see `Simulation.step`.
LED_LENGTHS = (math.sqrt(2) - 1 - UNIT, math.sqrt(2) + 1 + UNIT)


class Range(NamedTuple):
    """Of one number of a state."""

    name: str
    low: float
    high: float


class Rotation(NamedTuple):
    """Four numbers of a state."""

    first: int
    name: str
    shortest: float  # length of the quaternion
    longest: float


class StateLimits:
    """The range of each number of a state, and the lengths of its quaternions.

    Args:
        simulation: whose states are looked at.
    """

    def __init__(self, simulation: Simulation) -> None:
        ranges = _ranges(simulation)
        assert len(ranges) == simulation.state_size
        self._names = [each.name for each in ranges]
        self._low = np.array([each.low for each in ranges])
        self._high = np.array([each.high for each in ranges])
        self._rotations: list[Rotation] = []
        for index, name in enumerate(self._names):
            lengths = LED_LENGTHS if "leads" in name else (1 - UNIT, 1 + UNIT)
            if name.startswith("w of rotation"):
                self._rotations.append(Rotation(index, name.removeprefix("w of "), *lengths))

    def check(self, state: Array) -> None:
        """Look at a state.

        Args:
            state: (``state_size``,) finite numbers.

        Raises:
            ValueError: one is out of its range, or a quaternion has not the length it must have.
        """
        outside = np.flatnonzero((state < self._low) | (state > self._high))
        if outside.size:
            index = int(outside[0])
            wanted = f"a number in [{self._low[index]:g}, {self._high[index]:g}]"
            name = f"state[{index}] ({self._names[index]})"
            raise _checks.refuse(name, wanted, float(state[index]))
        for first, what, shortest, longest in self._rotations:
            quaternion = state[first : first + 4].tolist()
            if not shortest <= math.hypot(*quaternion) <= longest:
                name = f"state[{first}:{first + 4}] ({what})"
                wanted = f"a quaternion of a length in [{shortest:.3f}, {longest:.3f}]"
                raise _checks.refuse(name, wanted, quaternion)


def _ranges(simulation: Simulation) -> list[Range]:
    """Return the ranges in the order of a state: MuJoCo's parts by their bits, last readings."""
    parts = _parts(simulation)
    ranges: list[Range] = []
    for kind in (1 << bit for bit in range(32) if int(STATE) & 1 << bit):
        size = mujoco.mj_stateSize(simulation.model, kind)
        part = parts.get(kind, [])
        assert len(part) == size, kind
        ranges += part
    positions = parts[int(mujoco.mjtState.mjSTATE_QPOS)]
    return ranges + [each._replace(name=f"{each.name}, last read") for each in positions]


def _parts(simulation: Simulation) -> dict[int, list[Range]]:
    model, kinds = simulation.model, mujoco.mjtState
    positions, velocities = _motion(simulation)
    names = [each.name.removeprefix("velocity of ") for each in velocities]
    leader, longest = "what leads the gripper", LED_LENGTHS[1]
    ranges = {
        kinds.mjSTATE_TIME: [Range("time", 0.0, TIME)],
        kinds.mjSTATE_QPOS: positions,
        kinds.mjSTATE_QVEL: velocities,
        kinds.mjSTATE_WARMSTART: [
            Range(f"acceleration of {name}", -ACCELERATION, ACCELERATION) for name in names
        ],
        kinds.mjSTATE_CTRL: [Range("control of a finger", -CONTROL, CONTROL)] * model.nu,
        # Nothing pushes but what leads the gripper.
        kinds.mjSTATE_QFRC_APPLIED: [Range(f"force on {name}", 0.0, 0.0) for name in names],
        kinds.mjSTATE_XFRC_APPLIED: [Range("force on a body", 0.0, 0.0)] * (6 * model.nbody),
        kinds.mjSTATE_EQ_ACTIVE: [Range("whether the gripper is led", 1.0, 1.0)] * model.neq,
        kinds.mjSTATE_MOCAP_POS: [Range(f"{axis} of {leader}", -PLACE, PLACE) for axis in "xyz"],
        kinds.mjSTATE_MOCAP_QUAT: [
            Range(f"{part} of rotation of {leader}", -longest, longest) for part in "wxyz"
        ],
    }
    return {int(kind): part for kind, part in ranges.items()}


def _motion(simulation: Simulation) -> tuple[list[Range], list[Range]]:
    """Return the ranges of positions and velocities, joint by joint."""
    model = simulation.model
    positions: list[Range] = []
    velocities: list[Range] = []
    for index in range(model.njnt):
        joint = model.joint(index)
        name = joint.name
        if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
            most = 1 + UNIT
            positions += [Range(f"{axis} of the cube", -PLACE, PLACE) for axis in "xyz"]
            positions += [Range(f"{part} of rotation of the cube", -most, most) for part in "wxyz"]
            velocities += [Range("velocity of the cube", -SPEED, SPEED)] * 3
            velocities += [Range("velocity of the cube's rotation", -SPIN, SPIN)] * 3
            continue
        low, high, fastest = -TURNS, TURNS, SPEED
        if name in START:
            low, high, fastest = START[name] - BASE_MARGIN, START[name] + BASE_MARGIN, BASE_SPEED
        elif model.jnt_limited[index]:
            low, high = joint.range[0] - JOINT_MARGIN, joint.range[1] + JOINT_MARGIN
        if name == TORSO:
            fastest = TORSO_SPEED
        positions.append(Range(f"position of {name}", low, high))
        velocities.append(Range(f"velocity of {name}", -fastest, fastest))
    return positions, velocities
