"""The A1 in PyBullet: torques at its joints, a static world around it, what it senses."""

from __future__ import annotations

import ctypes
import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1, bodies
from iap_gym.envs.quadruped.client import Client
from iap_gym.envs.quadruped.world import Vector, World, vector

Array = NDArray[np.float64]

GRAVITY = 9.81  # m/s^2
TIME_STEP = 0.0025  # s; gaits are tuned at it, and walk the same at shorter ones
# What an abduction, a hip and a knee turn when the other joints are free, kg m^2.
INERTIAS = (0.011, 0.0038, 0.0038)
# Between two episodes the robot is far away, so that no contact of the first is left.
AWAY = (0.0, 0.0, 1000.0)
LOADS_PER_TRIM = 10


@dataclass(frozen=True)
class Contacts:
    """What pressed against what in the last physics step.

    Attributes:
        toes: of FR, FL, RR, RL, whether the toe carries a force.
        body: whether any part but toes and lower legs touches anything.
        boxes: indices of the world's boxes that any part of the robot touches, ascending.
        mesh: whether any part touches the mesh.
    """

    toes: tuple[bool, ...]
    body: bool
    boxes: tuple[int, ...]
    mesh: bool


def stable_time_step(kp: float, kd: Sequence[float]) -> float:
    """Return the longest physics step, s, at which the motors' control is stable.

    Torques ``-kp q - kd q'`` on an inertia I, integrated as Bullet does, grow when
    ``kd dt + kp dt^2 / 2 > 2 I``; so ``dt = 4 I / (kd + sqrt(kd^2 + 4 kp I))``, least over
    abduction, hip and knee.

    Args:
        kp: N m/rad.
        kd: (3,) of abduction, hip and knee, N m s/rad.
    """
    limits = [math.inf]
    for damping, inertia in zip(kd, INERTIAS, strict=True):
        slowing = damping + math.sqrt(damping**2 + 4.0 * kp * inertia)
        if slowing > 0.0:
            limits.append(4.0 * inertia / slowing)
    return min(limits)


class Simulation:
    """One A1 in a physics client of its own, which the first ``reset`` makes.

    A joint's torque is ``kp (target - angle) - kd velocity``, within the limit, at every physics
    step. An episode depends on its world, its start and its targets alone, to the bit: on no
    episode before, and on no other simulation in the process.

    Args:
        time_step: of the physics, s; warns above 0.0025, where gaits walk slower.
        action_repeat: physics steps in a control step.
        kp: stiffness of every joint, N m/rad.
        kd: damping of abduction, hip and knee, N m s/rad.
        torque_limit: N m.
        toe_friction: lateral friction of the toes; the ground's is 1, and Bullet multiplies them.
        urdf: path of a robot with the A1's joint names; None for that of pybullet_data.

    Raises:
        ValueError: an argument is out of range; ``time_step`` above ``stable_time_step(kp, kd)``.
        FileNotFoundError: there is no file ``urdf``.
        gymnasium.error.DependencyNotInstalled: PyBullet is absent.
    """

    def __init__(
        self,
        time_step: float = TIME_STEP,
        action_repeat: int = 4,
        kp: float = 100.0,
        kd: Sequence[float] = (1.0, 2.0, 2.0),
        torque_limit: float = a1.TORQUE_LIMIT,
        toe_friction: float = 1.0,
        urdf: str | os.PathLike[str] | None = None,
    ) -> None:
        self._kp = _checks.real("kp", kp, 0.0)
        dampings = vector("kd", kd)
        if min(dampings) < 0.0:
            raise _checks.refuse("kd", "three numbers >= 0", kd)
        self._kd = dampings * len(a1.LEGS)
        self.time_step = _checks.real("time_step", time_step, 0.0, exclusive=True)
        longest = stable_time_step(self._kp, dampings)
        if self.time_step > longest:
            wanted = f"at most {longest:.4g} s, which kp={kp:g} and kd={dampings} bear"
            raise _checks.refuse("time_step", wanted, time_step)
        if self.time_step > TIME_STEP:
            warnings.warn(
                f"time_step: gaits are tuned at {TIME_STEP:g} s or less, and walk slower at "
                f"{self.time_step:g} s",
                stacklevel=2,
            )
        self.action_repeat = _checks.integer("action_repeat", action_repeat, 1)
        self._limit = _checks.real("torque_limit", torque_limit, 0.0, exclusive=True)
        self._toe_friction = _checks.real("toe_friction", toe_friction, 0.0)
        self._urdf = a1.urdf_path(urdf)
        self._bullet: Any = a1.require_bullet()
        self._client: Client | None = None
        self._world: World | None = None
        self._loads = 0

    @property
    def control_dt(self) -> float:
        """Time of a control step, s."""
        return self.time_step * self.action_repeat

    @property
    def client_id(self) -> int:
        """PyBullet's number of this simulation's client.

        Raises:
            RuntimeError: before the first reset, after ``close``, or in a forked process.
        """
        if self._client is None:
            raise RuntimeError("the simulation has no world: call reset first")
        return self._client.id

    def reset(
        self,
        world: World,
        position: Sequence[float] = (0.0, 0.0, a1.START_HEIGHT),
        yaw: float = 0.0,
    ) -> None:
        """Build a world, and put the robot into it in its neutral pose and at rest.

        A world equal to the last one is kept, which saves milliseconds for boxes and a second for
        a large mesh, and changes no bit of what follows.

        Args:
            world: what stands around the robot.
            position: of the trunk's origin, m.
            yaw: rad; 0 looks along x.

        Raises:
            ValueError: an argument is none, or PyBullet makes no shape of the world's mesh.
            RuntimeError: in a forked process, or there is no client left in this one.
        """
        _checks.instance("world", world, World, "a World")
        start, yaw = vector("position", position), _checks.real("yaw", yaw)
        if self._client is None:
            self._client = Client(self._bullet, "the simulation")
            self._position = np.zeros(3)
        # What is not finite stays in Bullet's tree of bounding boxes.
        if world != self._world or not np.isfinite(self._position).all():
            self._load(world)
        self._place(start, yaw)

    def step(self, targets: Any) -> None:
        """Advance by a control step, the joints driven to target angles.

        Args:
            targets: (12,) rad, in the order of ``a1.JOINT_NAMES``, clipped to the joints' limits.

        Raises:
            ValueError: another shape, or a number that is not finite.
            RuntimeError: before the first reset, after ``close``, or in a forked process.
        """
        client = self.client_id
        wanted = _checks.array("targets", targets, (12,))
        angles = np.minimum(np.maximum(wanted, self._low), self._high).tolist()
        # A physics step takes 40 us; lists of floats cost less of them than arrays of twelve.
        p, robot, joints, states = self._bullet, self._robot, self._joints, self._states
        control, kp, limit = p.TORQUE_CONTROL, self._kp, self._limit
        for _ in range(self.action_repeat):
            torques = [
                min(max(kp * (angle - state[0]) - damping * state[1], -limit), limit)
                for angle, state, damping in zip(angles, states, self._kd, strict=True)
            ]
            p.setJointMotorControlArray(
                robot, joints, control, forces=torques, physicsClientId=client
            )
            p.stepSimulation(client)
            states = p.getJointStates(robot, joints, client)
        self._states = states
        self._read_base()

    @property
    def position(self) -> Array:
        """Of the trunk's origin, (3,) m, world."""
        return self._position.copy()

    @property
    def rotation(self) -> Array:
        """(3, 3): its columns are the trunk's forward, left and up in the world."""
        return self._rotation.copy()

    @property
    def roll_pitch_yaw(self) -> Array:
        """(3,) rad; a positive pitch is nose down."""
        # Bullet's own function is exact to six digits alone.
        matrix = self._rotation
        roll = math.atan2(matrix[2, 1], matrix[2, 2])
        pitch = math.asin(min(max(-matrix[2, 0], -1.0), 1.0))
        return np.array([roll, pitch, math.atan2(matrix[1, 0], matrix[0, 0])])

    @property
    def linear_velocity(self) -> Array:
        """Of the trunk's center of mass, (3,) m/s, world."""
        return self._linear.copy()

    @property
    def angular_velocity(self) -> Array:
        """(3,) rad/s about the trunk's forward, left and up axes, as a gyroscope reads it."""
        return self._rotation.T @ self._angular

    @property
    def joint_angles(self) -> Array:
        """(12,) rad, in the order of ``a1.JOINT_NAMES``."""
        return np.array([state[0] for state in self._states])

    @property
    def joint_velocities(self) -> Array:
        """(12,) rad/s, in the order of ``a1.JOINT_NAMES``."""
        return np.array([state[1] for state in self._states])

    def contacts(self) -> Contacts:
        """Return what touched in the last physics step.

        Raises:
            RuntimeError: before the first reset, after ``close``, or in a forked process.
        """
        client = self.client_id
        points = self._bullet.getContactPoints(bodyA=self._robot, physicsClientId=client)
        # Near misses are points as well; what touches has a normal force.
        pressing = [(point[2], point[3]) for point in points if point[9] > 0.0]
        bodies_touched = {body for body, _ in pressing}
        links = {link for _, link in pressing}
        return Contacts(
            toes=tuple(toe in links for toe in self._toes),
            body=not links <= self._feet,
            boxes=tuple(i for i, box in enumerate(self._bodies.boxes) if box in bodies_touched),
            mesh=self._bodies.mesh in bodies_touched,
        )

    def close(self) -> None:
        """End the client; a second time does nothing."""
        if self._client is not None:
            self._client.close()
        self._client, self._world = None, None

    def _load(self, world: World) -> None:
        p, client = self._bullet, self.client_id
        self._world = None  # until it stands
        p.resetSimulation(physicsClientId=client)
        p.setGravity(0.0, 0.0, -GRAVITY, client)
        p.setPhysicsEngineParameter(
            fixedTimeStep=self.time_step, deterministicOverlappingPairs=1, physicsClientId=client
        )
        self._bodies = bodies.build(p, client, world)
        # Its visual meshes cost 30 ms of a load and 40 kB that are never freed.
        flags = p.URDF_IGNORE_VISUAL_SHAPES | p.URDF_USE_INERTIA_FROM_FILE
        try:
            self._robot = p.loadURDF(self._urdf, flags=flags, physicsClientId=client)
        except p.error as error:
            raise _checks.refuse("urdf", "a URDF that PyBullet reads", self._urdf) from error
        self._resolve()
        self._world = world
        self._loads += 1
        if self._loads % LOADS_PER_TRIM == 0:
            _return_memory()

    def _resolve(self) -> None:
        """Find joints and links by name, and make the joints free."""
        p, client, robot = self._bullet, self.client_id, self._robot
        rows = [p.getJointInfo(robot, i, client) for i in range(p.getNumJoints(robot, client))]
        joints = {row[1].decode(): row for row in rows}
        links = {row[12].decode(): row[0] for row in rows}
        absent = [name for name in a1.JOINT_NAMES if name not in joints]
        absent += [name for name in (*a1.TOE_NAMES, *a1.LOWER_LEG_NAMES) if name not in links]
        if absent:
            wanted = "a robot with the A1's joints and links"
            found = _checks.Words(f"{self._urdf} without {', '.join(absent)}")
            raise _checks.refuse("urdf", wanted, found)
        self._joints = [joints[name][0] for name in a1.JOINT_NAMES]
        self._low = np.array([joints[name][8] for name in a1.JOINT_NAMES])
        self._high = np.array([joints[name][9] for name in a1.JOINT_NAMES])
        self._toes = [links[name] for name in a1.TOE_NAMES]
        self._feet = {links[name] for name in (*a1.TOE_NAMES, *a1.LOWER_LEG_NAMES)}
        for toe in self._toes:
            p.changeDynamics(robot, toe, lateralFriction=self._toe_friction, physicsClientId=client)
        # Bullet's own motors hold every joint until their force is taken away.
        p.setJointMotorControlArray(
            robot, self._joints, p.VELOCITY_CONTROL, forces=[0.0] * 12, physicsClientId=client
        )
        # Bullet's pose of the base is that of its principal axes of inertia.
        self._inertial = p.getDynamicsInfo(robot, -1, client)[3:5]
        self._origin = p.invertTransform(*self._inertial)

    def _place(self, position: Vector, yaw: float) -> None:
        p, client, robot = self._bullet, self.client_id, self._robot
        p.resetBasePositionAndOrientation(robot, AWAY, (0.0, 0.0, 0.0, 1.0), client)
        p.performCollisionDetection(client)
        quaternion = p.getQuaternionFromEuler((0.0, 0.0, yaw))
        pose = p.multiplyTransforms(position, quaternion, *self._inertial)
        p.resetBasePositionAndOrientation(robot, *pose, client)
        p.resetBaseVelocity(robot, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), client)
        for joint, angle in zip(self._joints, a1.neutral_pose().tolist(), strict=True):
            p.resetJointState(robot, joint, angle, 0.0, client)
        self._states = p.getJointStates(robot, self._joints, client)
        self._read_base()

    def _read_base(self) -> None:
        p, client = self._bullet, self.client_id
        pose = p.getBasePositionAndOrientation(self._robot, client)
        position, quaternion = p.multiplyTransforms(*pose, *self._origin)
        linear, angular = p.getBaseVelocity(self._robot, client)
        self._rotation = np.array(p.getMatrixFromQuaternion(quaternion)).reshape(3, 3)
        self._position = np.array(position)
        self._linear, self._angular = np.array(linear), np.array(angular)


def _return_memory() -> None:
    """Give freed memory back to the system, where the C library is one that can."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # not glibc; TypeError: Windows takes no None
        return
    trim(0)
