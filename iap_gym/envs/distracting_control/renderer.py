"""Frames of one MuJoCo camera."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs._gl import Context
from iap_gym.envs.distracting_control.geometry import Array
from iap_gym.envs.distracting_control.settings import RenderQuality

# Its names come from compiled modules, which a type checker cannot see.
mujoco: Any = importlib.import_module("mujoco")


class Renderer:
    """Draws what a camera sees, at one size.

    The OpenGL context is made by the first frame, from the model as it is then.

    Args:
        model: ``mujoco.MjModel``.
        data: ``mujoco.MjData``.
        camera: index of the camera.
        height: of a frame, pixels.
        width: of a frame, pixels.
        quality: what to spend.
    """

    def __init__(
        self, model: Any, data: Any, camera: int, height: int, width: int, quality: RenderQuality
    ) -> None:
        self._model, self._data, self._camera = model, data, camera
        self._size, self._quality = (height, width), quality
        self._scene = mujoco.MjvScene(model, _max_geoms(model))
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] &= quality.shadows
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] &= quality.reflections
        self._option = mujoco.MjvOption()
        # dm_control draws no range finders either.
        self._option.flags[mujoco.mjtVisFlag.mjVIS_RANGEFINDER] = False
        self._perturb = mujoco.MjvPerturb()
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._view.fixedcamid = camera
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), np.uint8)  # bottom row first, as OpenGL has it
        self._context: Context | None = None
        self._stale: set[int] = set()  # textures to upload

    def texture_changed(self, texture_id: int) -> None:
        """Upload a texture before the next frame."""
        self._stale.add(texture_id)

    def new_episode(self) -> None:
        """Upload what a task changes at a reset: height fields."""
        if self._context is not None and self._model.nhfield:
            with self._context.current() as context:
                for index in range(self._model.nhfield):
                    mujoco.mjr_uploadHField(self._model, context, index)

    def draw(self, pose: tuple[Array, Array] | None = None) -> NDArray[np.uint8]:
        """Return a new frame, uint8 of shape (height, width, 3), C-contiguous.

        Args:
            pose: position (3,) and rotation (3, 3) of the camera in place of the model's.
        """
        if self._context is None:
            self._context = self._make_context()
            self._stale.clear()
        self._update_scene(pose)
        with self._context.current() as context:
            while self._stale:
                mujoco.mjr_uploadTexture(self._model, context, self._stale.pop())
            mujoco.mjr_render(self._rect, self._scene, context)
            mujoco.mjr_readPixels(self._pixels, None, self._rect, context)
        return np.ascontiguousarray(self._pixels[::-1])

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        if self._context is not None:
            self._context.close()
            self._context = None

    def _make_context(self) -> Context:
        # Only the making of a context reads these; physics.render of dm_control keeps its own.
        wanted = {
            "offsamples": self._quality.offsamples,
            "shadowsize": None if self._quality.shadows else 0,
            "numslices": self._quality.numslices,
            "numstacks": self._quality.numstacks,
            "numquads": self._quality.numquads,
        }
        quality, buffer = self._model.vis.quality, self._model.vis.global_
        own = {name: getattr(quality, name) for name in wanted}
        own_size = buffer.offheight, buffer.offwidth
        try:
            for name, value in wanted.items():
                setattr(quality, name, own[name] if value is None else value)
            buffer.offheight, buffer.offwidth = self._size
            return Context(self._model)
        finally:
            for name, value in own.items():
                setattr(quality, name, value)
            buffer.offheight, buffer.offwidth = own_size

    def _update_scene(self, pose: tuple[Array, Array] | None) -> None:
        position = self._data.cam_xpos[self._camera]
        rotation = self._data.cam_xmat[self._camera]
        own = position.copy(), rotation.copy()
        if pose is not None:
            position[:], rotation[:] = pose[0], pose[1].reshape(-1)
        mujoco.mjv_updateScene(
            self._model,
            self._data,
            self._option,
            self._perturb,
            self._view,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        position[:], rotation[:] = own


def _max_geoms(model: Any) -> int:
    # Room for every geom, site, tendon and skin, and what is drawn for contacts; never below 1000.
    return max(1000, 8 * (model.ngeom + model.nsite + model.ntendon + model.nskin + model.nbody))
