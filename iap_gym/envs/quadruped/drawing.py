"""The robot seen by a camera that follows it, with its own picture in a corner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.quadruped.floor_paint import Taken, mark_goal, shade
from iap_gym.envs.quadruped.mover import Place, Pose
from iap_gym.envs.quadruped.robot_view import RobotView, make_robot_view
from iap_gym.envs.quadruped.view import Caster, View
from iap_gym.raycast import Box, RayCaster, Scene, look_at

Array = NDArray[np.float64]

# Of the camera from the robot, m: behind and ahead along the way it faces, above the floor.
BEHIND, ABOVE = 1.5, 1.7
AHEAD, AT = 0.8, 0.25  # of what it looks at
FOLLOWED = 50  # control steps over which it averages where the robot faces, which a gait shakes
STEADY = 20  # and where it is
FOV = 45.0  # degrees, vertical
NEAR, FAR = 0.1, 40.0  # m
CUT = 0.6  # m above the floor at which what stands is cut off: rooms are open to the camera
FINER = 2  # pixels across that are averaged to one
INSET = 0.36  # of the height, at most about
FRAME = 2  # pixels of white around the inset


class Painter:
    """Draws the robot in its scene.

    It has cameras and a robot of its own: painting changes nothing but the picture.

    Args:
        size: (height, width) pixels.
        seen: (height, width) of what the robot sees, for the corner; None for nothing.

    Attributes:
        inset: rows and columns of the picture that show what the robot sees.
    """

    def __init__(self, size: tuple[int, int], seen: tuple[int, int] | None) -> None:
        self._size = size
        self.inset = None if seen is None else _inset(size, seen)
        self._scene: Scene | View | None = None
        self._caster: Caster | None = None
        self._robot: RobotView | None = None

    def paint(
        self, place: Place, pose: Pose, joint_angles: Array, path: Array, frame: NDArray[Any] | None
    ) -> NDArray[np.uint8]:
        """Return a picture, uint8 (height, width, 3).

        Args:
            place: of the episode.
            pose: of the robot.
            joint_angles: (12,) rad.
            path: (n, 3) where it was up to now: x, y and yaw.
            frame: what the robot sees: uint8 (H, W, 3), float (H, W, 1) in [0, 1], or None.
        """
        caster, robot = self._enter(place)
        eye, axes = _camera(path, place.floor_height)
        picture, depth = caster.rgb(eye, axes).copy(), caster.depth(eye, axes)
        taken = Taken(picture, depth, eye, axes, FOV)
        if place.goal is not None:
            mark_goal(taken, *place.goal, place.floor_height)
        shade(taken, pose)
        body, distance = robot.see(eye, axes, pose, joint_angles)
        nearer = distance < depth
        picture[nearer] = body[nearer]
        picture = _shrunk(picture, len(picture) // self._size[0])
        if frame is not None and self.inset is not None:
            paste(picture, frame, self.inset)
        return picture

    def close(self) -> None:
        """Free the cameras; again is nothing."""
        self._leave()
        if self._robot is not None:
            self._robot.close()
        self._robot = None

    def _enter(self, place: Place) -> tuple[Caster, RobotView]:
        """Return cameras of the place's scene and of the robot."""
        scene, finer = place.scene, FINER
        if isinstance(scene, View):
            finer = 1  # Embree is slower than boxes are
        height, width = (finer * side for side in self._size)
        if scene is not self._scene or self._caster is None:
            self._leave()
            settings = (width, height, FOV, _nearest(), FAR)
            if isinstance(scene, View):
                self._caster = scene.make_caster(*settings)
            else:
                self._caster = RayCaster(cut(scene, place.floor_height + CUT), *settings)
            self._scene = scene
        if self._robot is None:
            self._robot = make_robot_view(width, height, FOV, NEAR, FAR)
        return self._caster, self._robot

    def _leave(self) -> None:
        close = getattr(self._caster, "close", None)  # TinyRenderer holds a client
        if close is not None:
            close()
        self._scene = self._caster = None


def cut(scene: Scene, height: float) -> Scene:
    """Return a scene whose boxes end at a height (m), without those that begin above it.

    Boxes that are tilted stay whole.
    """
    boxes: list[Box] = []
    for box in scene.boxes:
        reach = float(np.abs(box.matrix[2]) @ box.half_extents)
        low, high = box.center[2] - reach, box.center[2] + reach
        if low >= height:
            continue
        if high > height and box.matrix[2, 2] > 1.0 - 1e-9:
            center = (*box.center[:2], (low + height) / 2)
            box = replace(
                box, center=center, half_extents=(*box.half_extents[:2], (height - low) / 2)
            )
        boxes.append(box)
    return replace(scene, boxes=tuple(boxes))


def paste(picture: NDArray[np.uint8], frame: NDArray[Any], region: tuple[slice, slice]) -> None:
    """Put what the robot sees into a region of a picture, pixel by pixel, framed in white.

    Depth is shown as its root: most of what stands in a room is in the first fifth of the range.
    """
    rows, columns = region
    height, width = rows.stop - rows.start, columns.stop - columns.start
    down = np.arange(height) * frame.shape[0] // height
    across = np.arange(width) * frame.shape[1] // width
    inset = frame[down][:, across]
    if inset.dtype != np.uint8:  # depth in [0, 1]
        inset = np.round(255.0 * np.sqrt(inset)).astype(np.uint8)
    picture[: rows.stop + FRAME, : columns.stop + FRAME] = 255
    picture[region] = inset


def _inset(size: tuple[int, int], seen: tuple[int, int]) -> tuple[slice, slice]:
    """Return the region of the upper left corner: whole multiples of pixels, if they fit."""
    scale = min(INSET * size[0] / seen[0], (size[1] - 2 * FRAME) / seen[1])
    if scale >= 1.0:
        scale = round(scale) if round(scale) * seen[1] <= size[1] - 2 * FRAME else int(scale)
    height, width = (max(1, int(scale * side)) for side in seen)
    return slice(FRAME, FRAME + height), slice(FRAME, FRAME + width)


def _camera(path: Array, floor_height: float) -> tuple[Array, Array]:
    """Return place and axes of the camera that follows the robot."""
    x, y = path[-STEADY:, :2].mean(axis=0)
    yaws = path[-FOLLOWED:, 2]
    ahead = np.array([np.cos(yaws).mean(), np.sin(yaws).mean(), 0.0])
    ahead /= np.linalg.norm(ahead)
    foot = np.array([x, y, floor_height])
    eye = foot - BEHIND * ahead + [0.0, 0.0, ABOVE]
    return eye, look_at(eye, foot + AHEAD * ahead + [0.0, 0.0, AT])


def _nearest() -> float:
    """Return the depth from which on the scene is seen, m: that of the floor in the lowest row.

    What stands between camera and robot is cut away by it, but for what is low.
    """
    ahead, down = np.array([BEHIND + AHEAD, ABOVE - AT]) / np.hypot(BEHIND + AHEAD, ABOVE - AT)
    falls = down + np.tan(np.radians(FOV) / 2) * ahead  # of the lowest ray, for each m of depth
    return 0.97 * float(ABOVE / falls)  # floors of scans are bumpy


def _shrunk(picture: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Average squares of pixels."""
    height, width = (side // factor for side in picture.shape[:2])
    squares = picture.reshape(height, factor, width, factor, 3)
    return np.round(squares.mean(axis=(1, 3))).astype(np.uint8)
