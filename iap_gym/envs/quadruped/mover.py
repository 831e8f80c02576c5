"""What moves: the robot in its physics, behind the few verbs that an environment needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.control import (
    Controller,
    Gait,
    LatentControl,
    Weights,
    imu,
    make_controller,
)
from iap_gym.envs.quadruped.simulation import Simulation
from iap_gym.envs.quadruped.view import View
from iap_gym.envs.quadruped.world import World, vector
from iap_gym.raycast import Scene

Array = NDArray[np.float64]

PHYSICS = ("bullet", "kinematic")
SIMULATION_SETTINGS = (
    "time_step",
    "action_repeat",
    "kp",
    "kd",
    "torque_limit",
    "toe_friction",
    "urdf",
)


class Pose(NamedTuple):
    """Where the trunk is, in the world."""

    position: Array  # (3,) m
    rotation: Array  # (3, 3), columns: forward, left, up
    roll: float  # rad
    pitch: float  # rad, positive is nose down
    yaw: float  # rad, positive is to the left


@dataclass(frozen=True)
class Place:
    """Where an episode takes place, and where the robot starts in it.

    Attributes:
        world: what can be touched.
        scene: what can be seen.
        position: of the trunk at the start, m; ``a1.START_HEIGHT`` above the floor to stand.
        yaw: of the robot at the start, rad.
        floor_height: of what the robot walks on, m.
        num_floors: so many of the world's boxes, the first ones, are walked on; touching another
            is a collision.
        endurance: s of touching obstacles, added up, after which the surrogate falls. The robot
            falls over some at once and gets along others.
        turn_factor: the surrogate turns so many times as fast.
        turn_drift: and so fast by itself, rad/s.
        goal: what is to be reached, for pictures: ((x, y), radius), m; None for nothing.

    Raises:
        ValueError: an attribute is none of this.
    """

    world: World
    scene: Scene | View
    position: tuple[float, float, float]
    yaw: float
    floor_height: float
    num_floors: int = 0
    endurance: float = 0.0
    turn_factor: float = 1.0
    turn_drift: float = 0.0
    goal: tuple[tuple[float, float], float] | None = None

    def __post_init__(self) -> None:
        _checks.instance("world", self.world, World, "a World")
        if not isinstance(self.scene, Scene | View):
            raise _checks.refuse("scene", "a Scene or a View", self.scene)
        vector("position", self.position)
        for name in ("yaw", "floor_height", "turn_drift"):
            _checks.real(name, getattr(self, name))
        _checks.integer("num_floors", self.num_floors, 0, len(self.world.boxes))
        _checks.real("endurance", self.endurance, 0.0)
        _checks.real("turn_factor", self.turn_factor, 0.0)


class Mover(Protocol):
    """What an environment drives, one control step at a time."""

    control_dt: float  # s
    command_size: int

    @property
    def controller(self) -> Controller:
        """Of the legs, or what stands for it."""
        ...

    def reset(self, place: Place) -> None:
        """Stand at the start of a place."""
        ...

    def step(self, command: Array) -> None:
        """Move for one control step by a command (command_size,) in [-1, 1]."""
        ...

    def pose(self) -> Pose:
        """Return where the trunk is."""
        ...

    def joint_angles(self) -> Array:
        """Return the angles of the joints, (12,) rad."""
        ...

    def proprioception(self) -> Array:
        """Return what the robot feels, as ``observation.proprioception_space`` has it."""
        ...

    def collides(self) -> bool:
        """Whether the robot touches what it should not, after the last step."""
        ...

    def close(self) -> None:
        """Free what is held; again is nothing."""
        ...


class LeggedMover:
    """The A1 in PyBullet, its legs driven by a controller.

    Args:
        simulation: of the robot.
        controller: of the legs.
    """

    def __init__(self, simulation: Simulation, controller: Controller) -> None:
        self.simulation = simulation
        self._controller = controller
        self.control_dt = simulation.control_dt
        self.command_size = controller.size
        self._neutral = a1.neutral_pose()
        self._num_floors = 0

    @property
    def controller(self) -> Controller:
        """Of the legs."""
        return self._controller

    def reset(self, place: Place) -> None:
        """Stand at the start of a place."""
        self.simulation.reset(place.world, place.position, place.yaw)
        self._controller.reset()
        self._num_floors = place.num_floors

    def step(self, command: Array) -> None:
        """Move for one control step by a command (command_size,) in [-1, 1]."""
        self.simulation.step(self._controller.targets(command, self.simulation))

    def pose(self) -> Pose:
        """Return where the trunk is."""
        simulation = self.simulation
        roll, pitch, yaw = simulation.roll_pitch_yaw.tolist()
        return Pose(simulation.position, simulation.rotation, roll, pitch, yaw)

    def joint_angles(self) -> Array:
        """Return the angles of the joints, (12,) rad."""
        return self.simulation.joint_angles

    def proprioception(self) -> Array:
        """Return IMU (4), motor angles from the neutral pose (12) and the gait's phase (2 or 0)."""
        return np.concatenate(
            [
                imu(self.simulation),
                self.simulation.joint_angles - self._neutral,
                self._controller.phase_state(),
            ]
        )

    def collides(self) -> bool:
        """Whether a part above the lower legs touches anything, or any part a wall.

        Feet and lower legs touch a scan's floor, which is one mesh with its walls.
        """
        contacts = self.simulation.contacts()
        boxes = contacts.boxes
        return contacts.body or bool(boxes and boxes[-1] >= self._num_floors)

    def close(self) -> None:
        """End the physics; again is nothing."""
        self.simulation.close()


def make_mover(
    physics: str,
    control: str,
    gait: Gait | None,
    low_level: Weights | None,
    latent_size: int | None,
    simulation: Mapping[str, Any] | None,
    command_time: float | None = None,
) -> Mover:
    """Return what moves; the arguments are those of ``QuadrupedEnv``.

    Raises:
        ValueError: one of them is wrong, or has no part in the others.
    """
    _checks.one_of("physics", physics, PHYSICS)
    controller = make_controller(control, gait, low_level, latent_size, command_time)
    if physics == "bullet":
        given = {} if simulation is None else simulation
        settings = dict(_checks.instance("simulation", given, Mapping, "a dict or None"))
        for name in settings:
            _checks.one_of("simulation", name, SIMULATION_SETTINGS)
        return LeggedMover(Simulation(**settings), controller)
    if not isinstance(controller, LatentControl):
        raise _checks.refuse("physics", '"bullet" unless control is "latent"', physics)
    if simulation is not None:
        raise _checks.refuse("simulation", 'None for the physics "kinematic"', simulation)
    from iap_gym.envs.quadruped.kinematic import KinematicMover  # which imports this module

    mover = KinematicMover(controller.size, 0.0 if command_time is None else command_time)
    mover.controller.low_level = controller.low_level  # it trots, whichever gait
    return mover
