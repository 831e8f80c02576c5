"""The Distracting Control Suite as a Gymnasium environment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.distracting_control.clips import Clip
from iap_gym.envs.distracting_control.distractions import Distractions
from iap_gym.envs.distracting_control.renderer import Renderer
from iap_gym.envs.distracting_control.settings import (
    DIFFICULTIES,
    DISTRACTIONS,
    RENDER_QUALITIES,
    SPLITS,
    distraction_settings,
)
from iap_gym.envs.distracting_control.simulator import Simulator
from iap_gym.envs.distracting_control.sources import existing_path, find_clips

OBSERVATIONS = ("pixels", "state", "both")
_SEED_LIMIT = 2**32  # what np.random.RandomState takes is below


class DistractingControlEnv(gymnasium.Env[Any, NDArray[np.float32]]):
    """A task of the DeepMind control suite behind visual distractions (Stone et al. 2021).

    ## Observation Space
    | `observation` | space |
    |---|---|
    | "pixels" | `Box(0, 255, (height, width, 3), uint8)`, a new C-contiguous array at each step |
    | "state" | `Box(-inf, inf, (S,), float32)`, dm_control's observations, in their order |
    | "both" | `Dict(pixels=..., state=...)` |

    ## Action Space
    `Box(low, high, (A,), float32)` with the bounds of the task's actuators. An action with another
    shape or with a number that is not finite raises `ValueError`; one out of range is clipped.

    ## Rewards
    The task's own, in [0, 1] for each control step, summed over `action_repeat` control steps.

    ## Episode End
    Truncation after 1000 control steps, the time limit of dm_control. A task that ends its episode
    earlier by itself terminates.

    ## Randomness
    Everything in an episode follows from four integers that `reset` draws from `np_random` below
    2^32: the seed of dm_control's `RandomState` for the task, then one each for background, camera
    and colour. A distraction that is off changes nothing for the others.

    ## Info
    `background_clip` (str) and `background_frame` (int) name the picture; `camera_radius` (m),
    `camera_azimuth`, `camera_polar` and `camera_roll` (rad) are the pose; each where it is on.

    Distractions advance by one step with each control step, so that `action_repeat` does not
    change their speed.

    Attributes:
        domain: the domain of the control suite.
        task: the task.
        settings: the ranges in force, a frozen `DistractionSettings`.
        physics: dm_control's `Physics`.

    Args:
        domain: a domain of the control suite.
        task: one of its tasks.
        difficulty: "easy", "medium", "hard", or None for the plain task.
        dynamic: distractions walk inside an episode; otherwise they are drawn at each reset.
        distractions: which of "background", "camera", "color" are on.
        background: where pictures come from, None for those that scikit-image installs; else a
            DAVIS folder, a folder of pictures, one of folders of pictures, or a video file. It has
            to exist also where the background is off.
        background_alpha: weight of a picture against the original sky, in [0, 1].
        split: "train" or "val", which share no pictures.
        height: of a frame, pixels.
        width: of a frame, pixels.
        camera_id: number or name of the camera that the agent sees through.
        action_repeat: control steps for each step.
        render_quality: "reference" renders as dm_control does; "fast" without multisampling,
            shadows and reflections, with coarser round shapes and moving pictures.
        observation: "pixels", "state" or "both".
        render_mode: "rgb_array": `render` returns what the agent's camera sees.

    Raises:
        ValueError: an argument outside of this.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium's name)

    def __init__(
        self,
        domain: str,
        task: str,
        *,
        difficulty: str | None = "medium",
        dynamic: bool = False,
        distractions: Sequence[str] = DISTRACTIONS,
        background: str | os.PathLike[str] | None = None,
        background_alpha: float = 1.0,
        split: str = "train",
        height: int = 240,
        width: int = 320,
        camera_id: int | str = 0,
        action_repeat: int = 1,
        render_quality: str = "reference",
        observation: str = "pixels",
        render_mode: str | None = None,
    ) -> None:
        _checks.one_of("difficulty", difficulty, (*DIFFICULTIES, None))
        _checks.boolean("dynamic", dynamic)
        _checks.one_of("split", split, SPLITS)
        _checks.one_of("render_quality", render_quality, tuple(RENDER_QUALITIES))
        _checks.one_of("render_mode", render_mode, ("rgb_array", None))
        self._observation = _checks.one_of("observation", observation, OBSERVATIONS)
        self._action_repeat = _checks.integer("action_repeat", action_repeat, 1)
        shape = _checks.integer("height", height, 1), _checks.integer("width", width, 1)
        names = _distraction_names(distractions)
        alpha = _checks.real("background_alpha", background_alpha, 0)
        if alpha > 1:
            raise _checks.refuse("background_alpha", "a number in [0, 1]", background_alpha)
        if not isinstance(background, str | os.PathLike | None) or background == "":
            raise _checks.refuse("background", "a path or None", background)
        path = None if background is None else os.fspath(background)
        if path is not None:
            existing_path(path)  # also where the background is off and nothing reads it

        self.domain, self.task = domain, task
        self.render_mode = render_mode
        self._simulator = Simulator(domain, task)
        self.physics = self._simulator.physics
        model, data = self.physics.model.ptr, self.physics.data.ptr
        camera = _camera_index(self.physics, camera_id)

        quality = RENDER_QUALITIES[render_quality]
        self._renderer = None
        if observation != "state" or render_mode is not None:
            self._renderer = Renderer(model, data, camera, *shape, quality)
        clips: tuple[Clip, ...] = ()
        if difficulty is not None and "background" in names:
            clips = find_clips(path, split, DIFFICULTIES[difficulty].num_clips)
        self.settings = distraction_settings(
            domain,
            difficulty,
            dynamic=dynamic,
            split=split,
            distractions=names,
            clips=tuple(clip.name for clip in clips),
            background_alpha=alpha,
        )
        texture_size = quality.moving_texture_size if dynamic else None
        self._distractions = Distractions(
            model, data, camera, self.settings, clips, self._renderer, texture_size
        )

        seconds = self._simulator.control_timestep * self._action_repeat
        self.metadata = {
            **type(self).metadata,
            "render_fps": max(1, round(1 / seconds)),
        }
        self.action_space = spaces.Box(
            self._simulator.action_low.astype(np.float32),
            self._simulator.action_high.astype(np.float32),
            dtype=np.float32,
        )
        self.observation_space = _observation_space(
            observation, (*shape, 3), self._simulator.state_size
        )
        self._state = np.zeros(self._simulator.state_size, np.float32)
        self._frame: NDArray[np.uint8] | None = None  # of this step, once it is drawn
        self._begun = False  # an episode has begun; there is something to see
        self._closed = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: starts the stream of random numbers; None goes on with it.
            options: not used.

        Returns:
            The observation and info.

        Raises:
            gymnasium.error.ClosedEnvironmentError: after ``close``.
            RuntimeError: rendering does not work, or this is a fork of a process that renders.
        """
        self._check_open("reset")
        super().reset(seed=seed)
        seeds = self.np_random.integers(_SEED_LIMIT, size=1 + Distractions.num_generators)
        self._frame = None
        self._state = self._simulator.reset(int(seeds[0]))
        if self._renderer is not None:
            self._renderer.new_episode()
        self._distractions.reset([np.random.default_rng(int(seed)) for seed in seeds[1:]])
        self._begun = True
        return self._observe(), self._distractions.info()

    def step(self, action: NDArray[np.float32]) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action for ``action_repeat`` control steps, or until the episode ends.

        Args:
            action: (A,) finite numbers, clipped to the action space.

        Returns:
            Observation, summed reward, terminated, truncated and info.

        Raises:
            ValueError: another shape, or a number that is not finite.
            gymnasium.error.ResetNeeded: before the first reset or after the end of an episode.
            gymnasium.error.ClosedEnvironmentError: after ``close``.
            RuntimeError: rendering does not work, or this is a fork of a process that renders.
        """
        clipped = self._clipped(action)
        self._check_open("step")
        if self._simulator.over:
            raise ResetNeeded("step: call reset first, no episode is under way")
        self._frame = None
        total, terminated, truncated = 0.0, False, False
        for _ in range(self._action_repeat):
            self._state, reward, terminated, truncated = self._simulator.step(clipped)
            self._distractions.advance()
            total += reward
            if terminated or truncated:
                break
        return self._observe(), total, terminated, truncated, self._distractions.info()

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Return what the agent's camera sees, uint8 of shape (height, width, 3).

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
            gymnasium.error.ClosedEnvironmentError: after ``close``.
            RuntimeError: rendering does not work, or this is a fork of a process that renders.
        """
        self._check_open("render")
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
            return None
        if not self._begun:
            raise ResetNeeded("render: call reset first, there is nothing to see")
        return self._pixels()

    def close(self) -> None:
        """Free the physics and the rendering context; a second call does nothing."""
        self._closed = True
        if self._renderer is not None:
            self._renderer.close()
        self._simulator.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "this environment cannot be copied or pickled, its physics and its rendering context "
            "live outside Python; make another one from its spec"
        )

    def _check_open(self, verb: str) -> None:
        if self._closed:
            raise ClosedEnvironmentError(f"{verb}: this environment is closed")

    def _observe(self) -> Any:
        if self._observation == "state":
            return self._state
        if self._observation == "pixels":
            return self._pixels()
        return {"pixels": self._pixels(), "state": self._state}

    def _pixels(self) -> NDArray[np.uint8]:
        assert self._renderer is not None
        if self._frame is None:
            self._frame = self._renderer.draw(self._distractions.apply())
        return self._frame.copy()

    def _clipped(self, action: Any) -> NDArray[np.float64]:
        low, high = self._simulator.action_low, self._simulator.action_high
        return np.clip(_checks.array("action", action, low.shape), low, high)


def _distraction_names(distractions: Any) -> tuple[str, ...]:
    wanted = f"a list of names from {', '.join(map(repr, DISTRACTIONS))}"
    if isinstance(distractions, str) or not isinstance(distractions, Sequence):
        raise _checks.refuse("distractions", wanted, distractions)
    for name in distractions:
        if name not in DISTRACTIONS:
            raise _checks.refuse("distractions", wanted, distractions)
    return tuple(distractions)


def _camera_index(physics: Any, camera_id: Any) -> int:
    count = physics.model.ncam
    if isinstance(camera_id, str):
        names = [physics.model.id2name(index, "camera") for index in range(count)]
        return names.index(_checks.one_of("camera_id", camera_id, names))
    return _checks.integer("camera_id", camera_id, 0, count - 1)


def _observation_space(
    observation: str, frame_shape: tuple[int, int, int], state_size: int
) -> spaces.Space[Any]:
    pixels = spaces.Box(0, 255, frame_shape, np.uint8)
    state = spaces.Box(-np.inf, np.inf, (state_size,), np.float32)
    if observation == "both":
        return spaces.Dict({"pixels": pixels, "state": state})
    return pixels if observation == "pixels" else state
