"""Pictures of the robot alone, with their depth, to be put into pictures of its scene."""

from __future__ import annotations

import importlib.util
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.mover import Pose
from iap_gym.envs.quadruped.tiny import TinyRenderer
from iap_gym.raycast import Box, RayCaster, Scene

Array = NDArray[np.float64]
Picture = tuple[NDArray[np.uint8], NDArray[np.float32]]  # (H, W, 3), and depth (H, W) m

TRUNK_COLOR = (60, 62, 68)
LIMB_RADIUS = 0.018  # m
LEFT, RIGHT = (222, 160, 40), (60, 120, 200)  # colors


class RobotView(Protocol):
    """A camera that sees the robot and nothing else."""

    def see(self, eye: Array, axes: Array, pose: Pose, joint_angles: Array) -> Picture:
        """Return colours and depth (the farthest there is, where the robot is not).

        Args:
            eye: place of the camera, (3,) m.
            axes: its forward, left and up, (3, 3).
            pose: of the robot.
            joint_angles: (12,) rad.
        """
        ...

    def close(self) -> None:
        """Free what is held; again is nothing."""
        ...


def make_robot_view(width: int, height: int, fov: float, near: float, far: float) -> RobotView:
    """Return a camera of the A1's own meshes, or of boxes where PyBullet is not installed.

    Args:
        width: pixels.
        height: pixels.
        fov: vertical field of view, degrees.
        near: m.
        far: m.
    """
    if importlib.util.find_spec("pybullet") is None:
        return BoxRobot(width, height, fov, near, far)
    return MeshRobot(width, height, fov, near, far)


class MeshRobot(TinyRenderer):
    """The meshes of the A1's URDF, drawn by TinyRenderer in a client of their own.

    They are loaded once: poses and angles come from outside, and no physics is stepped.

    Args:
        width: pixels.
        height: pixels.
        fov: vertical field of view, degrees.
        near: m.
        far: m.
    """

    def __init__(self, width: int, height: int, fov: float, near: float, far: float) -> None:
        super().__init__(Scene(), width, height, fov, near, far)
        p, client = self._bullet, self._client.id
        self._robot = p.loadURDF(a1.urdf_path(), physicsClientId=client)
        rows = [
            p.getJointInfo(self._robot, i, client)
            for i in range(p.getNumJoints(self._robot, client))
        ]
        numbers = {row[1].decode(): row[0] for row in rows}
        self._joints = [numbers[name] for name in a1.JOINT_NAMES]
        self._inertial = p.getDynamicsInfo(self._robot, -1, client)[3:5]

    def see(self, eye: Array, axes: Array, pose: Pose, joint_angles: Array) -> Picture:
        """Return colours and depth; see ``RobotView``."""
        p, client = self._bullet, self._client.id
        quaternion = p.getQuaternionFromEuler((pose.roll, pose.pitch, pose.yaw))
        place = p.multiplyTransforms(pose.position.tolist(), quaternion, *self._inertial)
        p.resetBasePositionAndOrientation(self._robot, *place, client)
        for joint, angle in zip(self._joints, joint_angles.tolist(), strict=True):
            p.resetJointState(self._robot, joint, angle, 0.0, client)
        colors, buffer = self._image(eye, axes)
        return colors[..., :3], self._meters(buffer)


class BoxRobot:
    """Trunk, thighs and shanks as boxes.

    Args:
        width: pixels.
        height: pixels.
        fov: vertical field of view, degrees.
        near: m.
        far: m.
    """

    def __init__(self, width: int, height: int, fov: float, near: float, far: float) -> None:
        self._caster = RayCaster(Scene(), width, height, fov, near, far)

    def see(self, eye: Array, axes: Array, pose: Pose, joint_angles: Array) -> Picture:
        """Return colours and depth; see ``RobotView``."""
        self._caster.scene = Scene(robot_boxes(pose, joint_angles))
        frame = self._caster.render(eye, axes)
        return frame.rgb, frame.depth

    def close(self) -> None:
        """Do nothing: nothing is held."""


def robot_boxes(pose: Pose, joint_angles: Array) -> tuple[Box, ...]:
    """Return trunk, thighs and shanks of an A1 whose joints have these angles (12,), rad."""
    position, rotation = pose.position, pose.rotation
    trunk = tuple(side / 2 for side in a1.TRUNK_SIZE)
    boxes = [Box(position, trunk, rotation, TRUNK_COLOR)]  # type: ignore[arg-type]
    for leg, angles in zip(a1.LEGS, joint_angles.reshape(4, 3), strict=True):
        color = LEFT if leg.endswith("L") else RIGHT
        for start, end, axes in leg_segments(leg, angles):
            half = (LIMB_RADIUS, LIMB_RADIUS, float(np.linalg.norm(end - start)) / 2)
            center = position + rotation @ ((start + end) / 2)
            boxes.append(Box(center, half, rotation @ axes, color))  # type: ignore[arg-type]
    return tuple(boxes)


def leg_segments(leg: str, angles: Array) -> list[tuple[Array, Array, Array]]:
    """Return where thigh and shank of a leg are on the trunk.

    Args:
        leg: of ``a1.LEGS``.
        angles: abduction, hip and knee, rad.

    Returns:
        For each its upper end (3,), its lower end (3,) and its axes (3, 3), in the trunk's frame.
    """
    abduction, hip, knee = (float(angle) for angle in angles)
    front, side = (1.0 if leg[0] == "F" else -1.0), (1.0 if leg[1] == "L" else -1.0)
    axes = _about_x(abduction)
    origin = np.array([front * a1.HIP_ORIGIN[0], side * a1.HIP_ORIGIN[1], 0.0])
    joint = origin + axes @ [0.0, side * a1.HIP_OFFSET, 0.0]
    segments: list[tuple[Array, Array, Array]] = []
    for angle in (hip, knee):
        axes = axes @ _about_y(angle)
        end = joint + axes @ [0.0, 0.0, -a1.LINK_LENGTH]
        segments.append((joint, end, axes))
        joint = end
    return segments


def _about_x(angle: float) -> Array:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])


def _about_y(angle: float) -> Array:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
