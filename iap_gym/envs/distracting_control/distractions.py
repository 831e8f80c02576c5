"""The distractions of one environment together, and what they do to its model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from iap_gym.envs.distracting_control.background import BackgroundDistraction, Sky
from iap_gym.envs.distracting_control.camera import CameraDistraction, Mount, View
from iap_gym.envs.distracting_control.clips import Clip
from iap_gym.envs.distracting_control.color import ColorDistraction
from iap_gym.envs.distracting_control.geometry import Array
from iap_gym.envs.distracting_control.renderer import Renderer, mujoco
from iap_gym.envs.distracting_control.settings import FLOOR_MATERIAL, DistractionSettings

_AGENT = 1  # body 1, the first after the world, is the root of the agent in every domain
_MODES = mujoco.mjtCamLight


class Distractions:
    """Background, camera and colour, those that the settings have.

    Args:
        model: ``mujoco.MjModel``.
        data: ``mujoco.MjData``.
        camera: index of the agent's camera.
        settings: which are on, and their ranges.
        clips: what the background draws from; not empty where it is on.
        renderer: what draws the pictures, None where nothing renders.
        texture_size: pixels of a picture's side, None for the model's own.
    """

    num_generators = 3  # that ``reset`` takes, one for each distraction, whichever are on

    def __init__(
        self,
        model: Any,
        data: Any,
        camera: int,
        settings: DistractionSettings,
        clips: Sequence[Clip],
        renderer: Renderer | None,
        texture_size: int | None,
    ) -> None:
        self._model, self._data, self._camera_id = model, data, camera
        self._background = self._camera = self._color = self._sky = None
        if settings.background is not None:
            self._background = BackgroundDistraction(clips, settings.background.dynamic)
            if renderer is not None:
                self._sky = Sky(model, settings.background.alpha, renderer, texture_size)
            floor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_MATERIAL, FLOOR_MATERIAL)
            if floor >= 0:
                model.mat_rgba[floor, 3] = settings.background.floor_alpha
        if settings.camera is not None:
            self._camera = CameraDistraction(settings.camera, mount(model, camera))
        if settings.color is not None:
            self._color = ColorDistraction(settings.color, model.mat_rgba[:, :3])

    def reset(self, generators: Sequence[np.random.Generator]) -> None:
        """Draw everything anew, after the physics was reset."""
        background, camera, color = generators
        if self._background is not None:
            self._background.reset(background)
        if self._camera is not None:
            self._camera.reset(camera, self._view())
        if self._color is not None:
            self._color.reset(color)

    def advance(self) -> None:
        """Go on by one control step."""
        for distraction in (self._background, self._camera, self._color):
            if distraction is not None:
                distraction.advance()

    def apply(self) -> tuple[Array, Array] | None:
        """Write colours and picture into the model for the next frame; return the camera's pose.

        Returns:
            Position (3,) and rotation (3, 3), or None for the model's own.
        """
        if self._color is not None:
            self._model.mat_rgba[:, :3] = self._color.rgb
        if self._background is not None and self._sky is not None:
            self._sky.show(self._background.clip, self._background.frame)
        return None if self._camera is None else self._camera.pose(self._view())

    def info(self) -> dict[str, str | int | float]:
        """Return what is shown now; angles in radians, the radius in metres."""
        info: dict[str, str | int | float] = {}
        if self._background is not None:
            info["background_clip"] = self._background.clip.name
            info["background_frame"] = self._background.frame
        if self._camera is not None:
            names = ("camera_radius", "camera_azimuth", "camera_polar")
            info |= zip(names, self._camera.orbit.tolist(), strict=True)
            info["camera_roll"] = self._camera.roll
        return info

    def _view(self) -> View:
        model, data, camera = self._model, self._data, self._camera_id
        agent = data.subtree_com[_AGENT].copy()
        pivot = np.zeros(3)
        if model.cam_mode[camera] == _MODES.mjCAMLIGHT_TRACKCOM:
            pivot = agent
        elif model.cam_mode[camera] == _MODES.mjCAMLIGHT_TRACK:
            pivot = data.xpos[model.cam_bodyid[camera]].copy()
        return View(
            position=data.cam_xpos[camera].copy(),
            rotation=data.cam_xmat[camera].reshape(3, 3).copy(),
            pivot=pivot,
            agent=agent,
        )


def mount(model: Any, camera: int) -> Mount:
    """Return how a camera of a ``mujoco.MjModel`` is held."""
    mode = model.cam_mode[camera]
    if mode in (_MODES.mjCAMLIGHT_TRACK, _MODES.mjCAMLIGHT_TRACKCOM):
        return Mount.TRACKING
    if model.body_weldid[model.cam_bodyid[camera]] != 0:
        return Mount.CARRIED
    return Mount.FIXED if mode == _MODES.mjCAMLIGHT_FIXED else Mount.AIMED
