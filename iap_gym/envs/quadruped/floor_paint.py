"""What a picture gets on its floor: the shadow of the robot, and the goal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.quadruped.mover import Pose

Array = NDArray[np.float64]

SHADOW = (0.26, 0.15, 0.5)  # m along and across, darkest
BELOW = 0.25  # m from the trunk to the floor, at about
GOAL_COLOR, GOAL_SHARE = (70, 200, 90), 0.6  # mixed into the floor's own
BUMPS = 0.1  # m that a floor may be off its height


class Taken(NamedTuple):
    """A picture with its depth, and the camera that took it."""

    picture: NDArray[np.uint8]  # (height, width, 3), painted on
    depth: NDArray[np.float32]  # (height, width) m
    eye: Array  # (3,) m
    axes: Array  # (3, 3), columns: forward, left, up
    fov: float  # degrees, vertical

    def around(self, corners: Array) -> tuple[tuple[slice, slice], Array] | None:
        """Return the part of the picture that holds corners (n, 3), and the points (m) it shows.

        Returns:
            Rows and columns, and points (rows, columns, 3); None if a corner is not before the
            camera.
        """
        height, width = self.depth.shape
        slope = np.tan(np.radians(self.fov) / 2) / height * 2
        seen = (corners - self.eye) @ self.axes
        if (seen[:, 0] < 0.1).any():
            return None
        row = height / 2 - seen[:, 2] / seen[:, 0] / slope
        column = width / 2 - seen[:, 1] / seen[:, 0] / slope
        rows = slice(max(0, int(row.min())), max(0, min(height, int(row.max()) + 1)))
        columns = slice(max(0, int(column.min())), max(0, min(width, int(column.max()) + 1)))
        ups = (height / 2 - np.arange(height)[rows] - 0.5) * slope
        lefts = (width / 2 - np.arange(width)[columns] - 0.5) * slope
        axes = self.axes
        rays = axes[:, 0] + ups[:, None, None] * axes[:, 2] + lefts[:, None] * axes[:, 1]
        return (rows, columns), self.eye + self.depth[rows, columns, None] * rays


def shade(taken: Taken, pose: Pose) -> None:
    """Darken what lies below the trunk: softly, so that the robot stands on something."""
    ahead = np.array([np.cos(pose.yaw), np.sin(pose.yaw), 0.0])
    left = np.array([-ahead[1], ahead[0], 0.0])
    along, across, darkest = SHADOW
    center = pose.position - [0.0, 0.0, BELOW]
    part = taken.around(_corners(center, 2.5 * along * ahead, 2.5 * across * left))
    if part is None:
        return
    points = part[1] - pose.position
    far = ((points @ ahead) / along) ** 2 + ((points @ left) / across) ** 2
    light = 1.0 - darkest * np.exp(-far) * (points[..., 2] < 0.0)
    picture = taken.picture
    picture[part[0]] = np.round(picture[part[0]] * light[..., None]).astype(np.uint8)


def mark_goal(taken: Taken, goal: tuple[float, float], radius: float, floor_height: float) -> None:
    """Color the floor around a goal (x, y), m, up to a radius, m."""
    center = np.array([*goal, floor_height])
    corners = _corners(center, np.array([radius, 0.0, 0.0]), np.array([0.0, radius, 0.0]))
    part = taken.around(corners)
    if part is None:
        return
    region, points = part
    off = points - center
    near = (np.hypot(off[..., 0], off[..., 1]) <= radius) & (np.abs(off[..., 2]) < BUMPS)
    shown = taken.picture[region]
    mixed = (1.0 - GOAL_SHARE) * shown[near] + GOAL_SHARE * np.array(GOAL_COLOR)
    shown[near] = np.round(mixed).astype(np.uint8)


def _corners(center: Array, along: Array, across: Array) -> Array:
    return np.array([center + a * along + b * across for a in (-1, 1) for b in (-1, 1)])
