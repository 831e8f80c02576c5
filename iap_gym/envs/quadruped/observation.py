"""What the robot observes: its camera, and what it feels of itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.mover import Pose
from iap_gym.envs.quadruped.tiny import TinyRenderer
from iap_gym.envs.quadruped.view import View
from iap_gym.raycast import RayCaster, Scene
from iap_gym.raycast.camera import LARGEST_SIDE
from iap_gym.raycast.geometry import LARGEST

Array = NDArray[np.float64]

FOV = 60.0  # degrees, vertical
NEAR = 0.01  # m; what is nearer is not seen
FAR = 30.0  # m, of the colour camera
DEPTH_RANGE = (0.0, 5.0)  # m
KINDS = {"camera": "rgb", "depth": "depth"}  # of the observation's key
RENDERERS = ("raycast", "tiny")

# Largest roll and pitch, their rates, motor angles from the neutral pose: beyond what the robot
# does, and clipped to it.
_FELT = (math.pi, math.pi, 100.0, 100.0)
_FELT_ANGLE = 4.0


def proprioception_space(phase: bool) -> spaces.Box:
    """Return the space of what the robot feels of itself, float32.

    Roll and pitch (rad), roll rate and pitch rate (rad/s, about the trunk's axes), twelve motor
    angles from the neutral pose (rad, in the order of ``a1.JOINT_NAMES``) and, with ``phase``, the
    gait's ``((cos phi + 1) / 2, (sin phi + 1) / 2)``.
    """
    high = [*_FELT, *[_FELT_ANGLE] * len(a1.JOINT_NAMES)]
    low = [-each for each in high]
    if phase:
        high, low = [*high, 1.0, 1.0], [*low, 0.0, 0.0]
    return spaces.Box(np.array(low, np.float32), np.array(high, np.float32), dtype=np.float32)


class Camera:
    """The camera before the robot's nose, looking straight ahead.

    Args:
        key: "camera" for colours, uint8 (H, W, 3), or "depth", float32 (H, W, 1) in [0, 1] of
            ``depth_range``.
        size: H and W, or one number for both, at most ``LARGEST_SIDE``.
        fov: vertical field of view, degrees.
        renderer: "raycast", or "tiny" for PyBullet's TinyRenderer.
        depth_range: depths (m) that are shown as 0 and 1; what is nearer or farther is clipped.
            The second is above ``NEAR`` and at most 1e9.

    Raises:
        ValueError: an argument is none of this.
    """

    def __init__(
        self,
        key: str = "camera",
        size: int | Sequence[int] = (32, 32),
        fov: float = FOV,
        renderer: str = "raycast",
        depth_range: Sequence[float] = DEPTH_RANGE,
    ) -> None:
        self.key = _checks.one_of("image_key", key, tuple(KINDS))
        self.size = _checks.pair("camera_size", size, 1, LARGEST_SIDE)
        self._fov = _checks.real("camera_fov", fov, 1.0, 170.0)
        self._renderer = _checks.one_of("renderer", renderer, RENDERERS)
        self._low, self._high = _depth_range(depth_range)
        self._offset = np.array(a1.CAMERA_POSITION)
        self._scene: Scene | View | None = None
        self._caster: Any = None

    @property
    def space(self) -> spaces.Box:
        """Of a picture."""
        if self.key == "camera":
            return spaces.Box(0, 255, (*self.size, 3), np.uint8)
        return spaces.Box(0.0, 1.0, (*self.size, 1), np.float32)

    def enter(self, scene: Scene | View) -> None:
        """Look at a scene from now on.

        Raises:
            ValueError: the renderer "tiny" cannot draw it.
        """
        if scene is self._scene:
            return
        if self._renderer == "tiny" and not (isinstance(scene, Scene) and not scene.textures):
            raise no_tiny("a scene with textures or of a mesh")
        if isinstance(scene, Scene) and isinstance(self._scene, Scene):
            self._caster.scene = scene
        else:
            self.close()
            height, width = self.size
            far = FAR if self.key == "camera" else self._high
            settings = (width, height, self._fov, NEAR, far)
            if isinstance(scene, Scene):
                caster = TinyRenderer if self._renderer == "tiny" else RayCaster
                self._caster = caster(scene, *settings)
            else:
                self._caster = scene.make_caster(*settings)
        self._scene = scene

    def look(self, pose: Pose) -> NDArray[Any]:
        """Return what the robot sees, a new array of ``space``."""
        position = pose.position + pose.rotation @ self._offset
        if self.key == "camera":
            return self._caster.rgb(position, pose.rotation)
        depth = self._caster.depth(position, pose.rotation)[..., None]
        return np.clip((depth - self._low) / (self._high - self._low), 0.0, 1.0, dtype=np.float32)

    def close(self) -> None:
        """Free the renderer; again is nothing."""
        if isinstance(self._caster, TinyRenderer):
            self._caster.close()
        self._caster = self._scene = None


def no_tiny(scene: str) -> ValueError:
    """Return the error of the renderer "tiny" in a scene that it cannot draw."""
    return _checks.refuse("renderer", f'"raycast" in {scene}', "tiny")


class Senses:
    """Camera and proprioception together: the entries of an observation that every task has.

    Args:
        camera: None leaves the picture out.
        every: a picture is rendered when so many control steps have passed since the last one.
        phase: whether the robot has a gait, whose phase it feels.

    Raises:
        ValueError: ``every`` is no integer of at least 1.
    """

    def __init__(self, camera: Camera | None, every: int, phase: bool) -> None:
        self._camera = camera
        self._every = _checks.integer("camera_every", every, 1)
        self._felt = proprioception_space(phase)
        self._low = self._felt.low.astype(np.float64)
        self._high = self._felt.high.astype(np.float64)
        self._since = 0  # control steps since the last picture
        self.frame: NDArray[Any] | None = None  # the last picture

    @property
    def spaces(self) -> dict[str, spaces.Space[Any]]:
        """Of the entries."""
        if self._camera is None:
            return {"proprio": self._felt}
        return {"proprio": self._felt, self._camera.key: self._camera.space}

    def enter(self, scene: Scene | View, pose: Pose) -> None:
        """Look at another scene; see ``Camera.enter``."""
        if self._camera is not None:
            self._camera.enter(scene)
            self._look(self._camera, pose)

    def advance(self, steps: int, pose: Pose) -> None:
        """Let control steps pass that led to a pose; look again if it is time."""
        self._since += steps
        if self._camera is not None and self._since >= self._every:
            self._look(self._camera, pose)

    def observe(self, felt: Array) -> dict[str, NDArray[Any]]:
        """Return the entries, new arrays.

        Args:
            felt: proprioception, clipped to its space.
        """
        clipped = np.minimum(np.maximum(felt, self._low), self._high)
        observed: dict[str, NDArray[Any]] = {"proprio": clipped.astype(np.float32)}
        if self._camera is not None and self.frame is not None:
            observed[self._camera.key] = self.frame.copy()
        return observed

    def close(self) -> None:
        """Free the camera; again is nothing."""
        if self._camera is not None:
            self._camera.close()

    def _look(self, camera: Camera, pose: Pose) -> None:
        self.frame = camera.look(pose)
        self._since = 0


def _depth_range(value: Any) -> tuple[float, float]:
    wanted = f"two numbers (low, high) with 0 <= low < high and {NEAR:g} < high <= {LARGEST:g}"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise _checks.refuse("depth_range", wanted, value)
    low, high = (_checks.real(f"depth_range[{i}]", each, 0.0) for i, each in enumerate(value))
    fits = low < high and NEAR < high <= LARGEST
    if not fits or np.float32(low) == np.float32(high):  # which depths are
        raise _checks.refuse("depth_range", wanted, value)
    return low, high
