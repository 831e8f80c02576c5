"""Pictures of the robot, from its own cameras."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs._gl import Context
from iap_gym.envs.fetch.simulation import Array, Simulation, mujoco

# Ours: the name in the model.
CAMERAS = {"front": "external_camera_0", "gripper": "gripper_camera_rgb"}
_MAX_GEOMS = 1000


class Cameras:
    """Draws what a camera sees, at one size; nothing of it changes the simulation.

    The OpenGL context is made by the first picture.

    Args:
        simulation: what is looked at.
        height: of a picture, pixels.
        width: of a picture, pixels.
    """

    def __init__(self, simulation: Simulation, height: int, width: int) -> None:
        self._simulation = simulation
        self._size = height, width
        self._scene = mujoco.MjvScene(simulation.model, _MAX_GEOMS)
        self._option, self._perturb = mujoco.MjvOption(), mujoco.MjvPerturb()
        self._views = {name: self._view(given) for name, given in CAMERAS.items()}
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), np.uint8)  # bottom row first, as OpenGL has it
        self._context: Context | None = None

    def draw(self, camera: str, target: Array) -> NDArray[np.uint8]:
        """Return a new picture, uint8 (height, width, 3), C-contiguous, with the target in red.

        Raises:
            RuntimeError: rendering does not work, or this is a fork of a process that renders.
        """
        if self._context is None:
            self._context = self._make_context()
        self._simulation.show_target(target)
        mujoco.mjv_updateScene(
            self._simulation.model,
            self._simulation.data,
            self._option,
            self._perturb,
            self._views[camera],
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        with self._context.current() as context:
            mujoco.mjr_render(self._rect, self._scene, context)
            mujoco.mjr_readPixels(self._pixels, None, self._rect, context)
        return np.ascontiguousarray(self._pixels[::-1])

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        if self._context is not None:
            self._context.close()
            self._context = None

    def _view(self, name: str) -> object:
        view = mujoco.MjvCamera()
        view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        kind = mujoco.mjtObj.mjOBJ_CAMERA
        view.fixedcamid = mujoco.mj_name2id(self._simulation.model, kind, name)
        return view

    def _make_context(self) -> Context:
        # Only the making of a context reads these.
        buffer = self._simulation.model.vis.global_
        buffer.offheight, buffer.offwidth = self._size
        return Context(self._simulation.model)
