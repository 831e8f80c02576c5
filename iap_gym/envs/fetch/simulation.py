"""The Fetch robot at its table: MuJoCo's model and data, moves, readings, and the whole state.

The model is that of gymnasium-robotics, and so is every number: the same seed and actions give the
same episode as its FetchPickAndPlace-v4, to the bit. Its class is not used: its ``render`` calls
``mj_forward``, whose solution warm-starts the next step, so that looking changes what happens.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco as _mujoco
import numpy as np
from numpy.typing import NDArray

# Its names come from compiled modules, which a type checker cannot see.
mujoco: Any = _mujoco
Array = NDArray[np.float64]

SUBSTEPS = 20  # of physics in a step
TIME_STEP = 0.04  # s, of a step
MOVE = 0.05  # m, what an action of 1 asks the gripper to move
DOWN = np.array([1.0, 0.0, 1.0, 0.0])  # quaternion of a gripper that points down, not normalised
START = {"robot0:slide0": 0.405, "robot0:slide1": 0.48, "robot0:slide2": 0.0}  # m
OBJECT_START = (1.25, 0.53, 0.4, 1.0, 0.0, 0.0, 0.0)  # m, and a quaternion
GRIPPER_OFFSET = np.array([-0.498, 0.005, -0.231])  # m, from where the start leaves it
SETTLING_STEPS = 10  # until the gripper is there
RANGE = 0.15  # m, along x and y, of object and goal around the gripper's start
CLEARANCE = 0.1  # m, at least, between object and gripper at the start
GOAL_HEIGHT = 0.45  # m, at most, of a goal in the air above the table
AIR_SHARE = 0.5  # of the goals are in the air

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_MODEL = "envs/assets/fetch/pick_and_place.xml"  # within gymnasium_robotics


@dataclass(frozen=True)
class _Setup:
    """The model, and the moment at which episodes begin."""

    model: Any
    time: float
    qpos: Array
    qvel: Array
    gripper: Array  # (3,)
    object_height: float


class Simulation:
    """One robot and one object; positions are in metres, in the frame of the world.

    Attributes:
        model: ``mujoco.MjModel``, a copy of its own.
        data: ``mujoco.MjData``.
        gripper_start: (3,), where the gripper is at the start of an episode.
        object_height: z of the object that lies on the table.
        state_size: numbers of a state.
    """

    def __init__(self) -> None:
        setup = _setup()
        self._start = setup
        self.model = copy.copy(setup.model)
        self.data = data = mujoco.MjData(self.model)
        self.gripper_start, self.object_height = setup.gripper, setup.object_height
        gripper = self._id(mujoco.mjtObj.mjOBJ_BODY, "robot0:gripper_link")
        fingers = [
            self.model.jnt_qposadr[joint]
            for joint in (
                self._id(mujoco.mjtObj.mjOBJ_JOINT, f"robot0:{side}_gripper_finger_joint")
                for side in "rl"
            )
        ]
        assert fingers[1] == fingers[0] + 1
        # Views into MuJoCo's memory, which stays where it is.
        self._gripper_position, self._gripper_quaternion = data.xpos[gripper], data.xquat[gripper]
        self._fingers = data.qpos[fingers[0] : fingers[1] + 1]  # right, left
        self._left_then_right = self._fingers[::-1]  # as the actuators are numbered
        self._mocap_position, self._mocap_quaternion = data.mocap_pos[0], data.mocap_quat[0]
        self._gripper = data.site_xpos[self._id(mujoco.mjtObj.mjOBJ_SITE, "robot0:grip")]
        self._object = data.site_xpos[self._id(mujoco.mjtObj.mjOBJ_SITE, "object0")]
        self._target = data.site_xpos[self._id(mujoco.mjtObj.mjOBJ_SITE, "target0")]
        joint = self._id(mujoco.mjtObj.mjOBJ_JOINT, "object0:joint")
        self.object_qpos = int(self.model.jnt_qposadr[joint])
        # What positions were read at: they are those of the substep before the last one's end.
        self._read_at = data.qpos.copy()
        self._physics_size = mujoco.mj_stateSize(self.model, STATE)
        self.state_size = self._physics_size + self._read_at.size

    def reset(self, object_xy: Array) -> None:
        """Begin anew, with the object at (2,) on the table; nothing stays of what was before."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.time = self._start.time
        self.data.qpos[:] = self._start.qpos
        self.data.qvel[:] = self._start.qvel
        self.data.qpos[self.object_qpos : self.object_qpos + 2] = object_xy
        mujoco.mj_forward(self.model, self.data)
        self._read_at[:] = self.data.qpos

    def begin(self, rng: np.random.Generator) -> Array:
        """Put the object on a place that is drawn, and return a goal (3,) that is drawn."""
        self.reset(draw_object(rng, self.gripper_start))
        return draw_goal(rng, self.gripper_start, self.object_height)

    def step(self, action: NDArray[np.float32]) -> None:
        """Move for ``SUBSTEPS`` of physics.

        Args:
            action: (4,) within [-1, 1]: the gripper's move along x, y, z in units of ``MOVE``; the
                fingers open above 0 and close below.
        """
        self._mocap_position[:] = self._gripper_position + action[:3] * np.float32(MOVE)
        self._mocap_quaternion[:] = self._gripper_quaternion + DOWN
        self.data.ctrl[:] = self._left_then_right + action[3]
        mujoco.mj_step(self.model, self.data, SUBSTEPS - 1)
        self._read_at[:] = self.data.qpos
        mujoco.mj_step(self.model, self.data, 1)

    def read(self) -> Array:
        """Return (11,): gripper, object, object from the gripper, right and left finger."""
        numbers = np.empty(11)
        numbers[:3], numbers[3:6] = self._gripper, self._object
        np.subtract(self._object, self._gripper, out=numbers[6:9])
        numbers[9:] = self._fingers
        return numbers

    def get_state(self) -> Array:
        """Return all that the future depends on, (``state_size``,)."""
        state = np.empty(self.state_size)
        mujoco.mj_getState(self.model, self.data, state[: self._physics_size], STATE)
        state[self._physics_size :] = self._read_at
        return state

    def set_state(self, state: Array) -> None:
        """Go on from ``get_state`` of any instance, to the bit."""
        mujoco.mj_setState(self.model, self.data, state[: self._physics_size], STATE)
        qpos = self.data.qpos.copy()
        self._read_at[:] = state[self._physics_size :]
        # Readings, moves and pictures depend on positions that are one substep old.
        self.data.qpos[:] = self._read_at
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        self.data.qpos[:] = qpos

    def show_target(self, place: Array) -> None:
        """Put the red ball of pictures at (3,), until the next step."""
        self._target[:] = place

    def _id(self, kind: Any, name: str) -> int:
        number = mujoco.mj_name2id(self.model, kind, name)
        assert number >= 0, name
        return number


def draw_object(rng: np.random.Generator, gripper: Array) -> Array:
    """Draw where the object lies, (2,): in a square around the gripper, but not below it."""
    while True:
        place = gripper[:2] + rng.uniform(-RANGE, RANGE, 2)
        if np.linalg.norm(place - gripper[:2]) >= CLEARANCE:
            return place


def draw_goal(rng: np.random.Generator, gripper: Array, object_height: float) -> Array:
    """Draw the goal, (3,): half of them on the table, half above it."""
    goal = gripper + rng.uniform(-RANGE, RANGE, 3)
    goal[2] = object_height
    if rng.uniform() < AIR_SHARE:
        goal[2] += rng.uniform(0, GOAL_HEIGHT)
    return goal


@functools.cache
def _setup() -> _Setup:
    """Load the model and bring the gripper over the table."""
    spec = importlib.util.find_spec("gymnasium_robotics")
    assert spec is not None, "the entry point asks for it"
    assert spec.origin is not None
    model = mujoco.MjModel.from_xml_path(str(Path(spec.origin).parent / _MODEL))
    data = mujoco.MjData(model)
    for name, value in START.items():
        data.joint(name).qpos[:] = value
    data.joint("object0:joint").qpos[:] = OBJECT_START
    # Without an offset between the two bodies that are welded together.
    model.eq_data[model.eq_type == mujoco.mjtEq.mjEQ_WELD, :7] = (0, 0, 0, 0, 0, 0, 1)
    mujoco.mj_forward(model, data)
    data.mocap_pos[0] = GRIPPER_OFFSET + data.site("robot0:grip").xpos
    data.mocap_quat[0] = DOWN
    mujoco.mj_step(model, data, SETTLING_STEPS * SUBSTEPS)
    gripper, lying = data.site("robot0:grip").xpos.copy(), float(data.site("object0").xpos[2])
    return _Setup(model, data.time, data.qpos.copy(), data.qvel.copy(), gripper, lying)
