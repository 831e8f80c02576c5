"""The background distraction: a picture or a moving clip in place of the sky."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.distracting_control.clips import Clip
from iap_gym.envs.distracting_control.renderer import Renderer

_SKYBOX = 2  # mujoco.mjtTexture.mjTEXTURE_SKYBOX
_CHANNELS = 3


def blend(picture: NDArray[np.uint8], sky: NDArray[np.uint8], alpha: float) -> NDArray[np.uint8]:
    r"""Return $\alpha\,\mathrm{picture} + (1 - \alpha)\,\mathrm{sky}$, rounded down, as uint8."""
    if alpha == 1.0:
        return picture
    mixed = alpha * picture.astype(np.float64) + (1.0 - alpha) * sky.astype(np.float64)
    return mixed.astype(np.uint8)


def reflect(index: int, direction: int, count: int) -> tuple[int, int]:
    """Return the next frame number and direction, turning round at both ends of ``count``."""
    if count == 1:
        return 0, direction
    if not 0 <= index + direction < count:
        direction = -direction
    return index + direction, direction


class BackgroundDistraction:
    """Which frame is behind the scene.

    Args:
        clips: what to draw from.
        dynamic: play the clip, one frame for each control step.
    """

    def __init__(self, clips: Sequence[Clip], dynamic: bool) -> None:
        self._clips = tuple(clips)
        self._dynamic = dynamic
        self.clip, self.frame, self._direction = self._clips[0], 0, 1

    def reset(self, rng: np.random.Generator) -> None:
        """Draw a clip, a frame of it and the direction of play, each uniformly."""
        self.clip = self._clips[int(rng.integers(len(self._clips)))]
        self.frame = int(rng.integers(len(self.clip)))
        self._direction = 1 if rng.integers(2) else -1

    def advance(self) -> None:
        """Go on by one frame, back and forth between the clip's ends."""
        if self._dynamic:
            self.frame, self._direction = reflect(self.frame, self._direction, len(self.clip))


class Sky:
    """The model's skybox, one picture for all its six faces.

    Args:
        model: the ``mujoco.MjModel``, before a rendering context is made of it.
        alpha: weight of a picture against the sky that the model came with.
        renderer: told of a new picture.
        size: pixels of a face's side, None for the model's own.

    Raises:
        ValueError: the model has no skybox, so that no background can be seen.
    """

    def __init__(
        self, model: Any, alpha: float, renderer: Renderer, size: int | None = None
    ) -> None:
        skies = np.flatnonzero(np.asarray(model.tex_type) == _SKYBOX)
        if not len(skies):
            raise ValueError(
                "distractions: 'background' needs a model with a skybox and this one has none; "
                "leave it out of distractions"
            )
        self.texture_id = int(skies[0])
        width = int(model.tex_width[self.texture_id])
        self._size = min(width, size or width)
        self._alpha, self._renderer = alpha, renderer
        start = int(model.tex_adr[self.texture_id])
        # The six faces lie one below the other; a square texture serves all six.
        face = model.tex_data[start : start + width * width * _CHANNELS]
        self._original = face.reshape(width, width, _CHANNELS)[
            np.ix_(*2 * [np.arange(self._size) * width // self._size])
        ]
        model.tex_width[self.texture_id] = model.tex_height[self.texture_id] = self._size
        self._data = model.tex_data[start : start + self._size**2 * _CHANNELS]
        self._shown: tuple[Clip, int] | None = None

    def show(self, clip: Clip, frame: int) -> None:
        """Write a frame into the model's texture, where it is not there yet."""
        if self._shown == (clip, frame):
            return
        texture = blend(clip.texture(frame, self._size), self._original, self._alpha)
        self._data[:] = texture.reshape(-1)
        self._renderer.texture_changed(self.texture_id)
        self._shown = (clip, frame)
