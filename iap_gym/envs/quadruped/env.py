"""A quadruped robot with a camera as a Gymnasium environment; a task makes one of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import observation
from iap_gym.envs.quadruped.control import (
    CONTROLS,
    Gait,
    LatentControl,
    Weights,
    as_low_level,
    fitting,
)
from iap_gym.envs.quadruped.drawing import Painter
from iap_gym.envs.quadruped.low_level import LowLevel
from iap_gym.envs.quadruped.mover import Mover, Place, Pose, make_mover
from iap_gym.envs.quadruped.observation import Camera, Senses
from iap_gym.envs.quadruped.task import Task, checked_task, observed, outcome, started, told

Observation = dict[str, NDArray[Any]]

EPISODE_STEPS = 1000  # control steps, 10 s
DURATION_RANGE = (10, 25)  # control steps of one latent command
LARGEST_PICTURE = 4096  # pixels of a side of what ``render`` returns, drawn twice as fine
LARGEST_TILT = 0.8  # rad of roll or pitch; beyond it the robot has fallen
LOWEST_TRUNK = 0.12  # m of the trunk's origin above the floor; below it the robot has fallen


class QuadrupedEnv(gymnasium.Env[Any, NDArray[np.float32]]):
    """The Unitree A1 in PyBullet, which sees with a camera and walks by a gait.

    ## Action Space
    `Box(-1, 1, (n,), float32)`; an action with another shape or with a number that is not finite
    raises `ValueError`, one out of range is clipped.

    | `control` | n | numbers |
    |---|---|---|
    | "pmtg" | 16 | frequency, amplitude, height and turn of the gait, then 12 residuals |
    | "motors" | 12 | targets of the motors around the neutral pose |
    | "latent" | 1 + L | how long to hold the command, linear in `duration_range`, then it |

    "pmtg": residuals are of abduction, swing and extension for each of FR, FL, RR, RL; zeros are
    the gait itself, straight ahead (`PMTGController`). "motors": ±0.4 rad of abduction, ±0.75 of
    hip, ±0.65 of knee, reached by PD control (`MotorControl`). "latent": a low level reads the
    command of L numbers, with what the robot feels, at each control step (`LowLevel`).

    ## Observation Space
    `Dict` of

    | key | space |
    |---|---|
    | `camera` | `Box(0, 255, (H, W, 3), uint8)` |
    | `depth` | `Box(0, 1, (H, W, 1), float32)`, in its place where `image_key` says so |
    | `proprio` | `Box((18,), float32)`; with "motors" (16,), as there is no gait |

    `proprio` holds roll, pitch (rad), roll rate and pitch rate (rad/s), twelve motor angles from
    the neutral pose (rad, FR, FL, RR, RL x abduction, hip, knee) and two numbers of the gait's
    phase (`TrajectoryGenerator.state`). The task may add entries. The camera sits before the
    robot's nose and looks straight ahead.

    ## Steps
    A control step is 0.01 s (`simulation` changes it). `step` takes one, with "latent" as many as
    the action says: rewards are summed, and the camera looks once, afterwards. An episode is
    truncated after `episode_steps` control steps.

    ## Episode End
    Terminates by a fall (|roll| or |pitch| above 0.8 rad, or the trunk's origin less than 0.12 m
    above the floor), and as the task says.

    ## Info
    `position` (3,) m; `yaw` rad; `speed` m/s, horizontal, over this step; `collisions`, control
    steps so far in this episode in which a wall was touched, or anything by a part above the lower
    legs; `control_steps` of this step; `success`; `end`, in the last step of an episode, why it
    ended ("fall", "time" or one of the task's); and the task's own, by other names.

    Attributes:
        task: what is to be done.
        mover: what moves: the robot in its physics.
        place: of this episode: its world, its scene.
        given_low_level: the low level that the environment was made with, whatever
            `set_low_level` has put in its place since; None without an argument `low_level`.
        on_control_step: called after each control step if it is not None, before the camera looks
            again: for films, which `render` within a step of "latent".

    Args:
        task: what is to be done: an object with what `Task` has.
        control: "pmtg", "motors" or "latent".
        gait: of "pmtg" and "latent": "trot", "walk", a dict of `GaitParameters`, or one; None is
            "trot". The surrogate trots, whichever it is.
        low_level: of "latent": a `LowLevel`, the path of its file, or None for one that turns by
            0.3 times the first latent number.
        latent_size: of "latent"; None is the low level's own, or 1.
        duration_range: of "latent": fewest and most control steps of a command; None is (10, 25).
        command_time: of "latent": s, time constant of a low-pass of the latent command; None is 0,
            without. Commands that jump make the feet slip.
        camera: whether the observation has a picture; without one nothing is rendered.
        camera_size: (H, W) pixels, at most 8192, or one number for both.
        camera_every: a picture is rendered when so many control steps have passed since the last
            one, which is given again until then.
        camera_fov: vertical field of view, degrees.
        renderer: of the camera: "raycast", or "tiny" for PyBullet's TinyRenderer, to compare with,
            in scenes of plain colours.
        episode_steps: control steps until truncation. `max_episode_steps` of `gymnasium.make`
            counts calls of `step`; raise both for longer episodes.
        physics: "bullet", or for "latent" "kinematic", a surrogate without dynamics.
        simulation: arguments of `Simulation`: `time_step`, `action_repeat`, `kp` and so on.
        render_mode: "rgb_array" for `render`.
        render_size: (height, width) of `render`, 32 to 4096 pixels.
        image_key: "camera", or "depth" of `depth_range`.
        depth_range: (low, high) m that are 0 and 1 in a depth picture.

    Raises:
        ValueError: an argument outside of this.
        gymnasium.error.DependencyNotInstalled: pybullet is not installed.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium's name)

    def __init__(
        self,
        task: Task,
        *,
        control: str = "pmtg",
        gait: Gait | None = None,
        low_level: Weights | None = None,
        latent_size: int | None = None,
        duration_range: Sequence[int] | None = None,
        command_time: float | None = None,
        camera: bool = True,
        camera_size: int | Sequence[int] = (32, 32),
        camera_every: int = 1,
        camera_fov: float = observation.FOV,
        renderer: str = "raycast",
        episode_steps: int = EPISODE_STEPS,
        physics: str = "bullet",
        simulation: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
        render_size: Sequence[int] = (360, 480),
        image_key: str = "camera",
        depth_range: Sequence[float] = observation.DEPTH_RANGE,
    ) -> None:
        self.task = checked_task(task)
        self._control: str = _checks.one_of("control", control, CONTROLS)
        if duration_range is not None and control != "latent":
            wanted = f'None unless control is "latent", it is "{control}"'
            raise _checks.refuse("duration_range", wanted, duration_range)
        self._durations = _duration_range(duration_range)
        eye = Camera(image_key, camera_size, camera_fov, renderer, depth_range)
        self._senses = Senses(
            eye if _checks.boolean("camera", camera) else None, camera_every, control != "motors"
        )
        self._episode_steps = _checks.integer("episode_steps", episode_steps, 1)
        self.render_mode = _checks.one_of("render_mode", render_mode, ("rgb_array", None))
        self._painter = Painter(
            _checks.pair("render_size", render_size, 32, LARGEST_PICTURE),
            eye.size if camera else None,
        )
        self.mover: Mover = make_mover(
            physics, control, gait, low_level, latent_size, simulation, command_time
        )
        self.given_low_level: LowLevel | None = None
        controller = self.mover.controller
        if low_level is not None and isinstance(controller, LatentControl):
            self.given_low_level = controller.low_level

        held = int(control == "latent")
        self._action_shape = (held + self.mover.command_size,)
        self.action_space = spaces.Box(-1.0, 1.0, self._action_shape, np.float32)
        self.observation_space = spaces.Dict({**self._senses.spaces, **task.spaces})
        seconds = self.mover.control_dt * (sum(self._durations) / 2 if held else 1)
        self.metadata = {**type(self).metadata, "render_fps": max(1, round(1 / seconds))}

        self.on_control_step: Callable[[], object] | None = None
        self.place: Place | None = None
        self._pose: Pose | None = None  # None while no episode is under way
        self._closed = False
        self._steps = 0  # control steps of this episode
        self._collisions = 0
        self._path: list[tuple[float, float, float]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: starts the stream of random numbers; None goes on with it.
            options: not used.

        Returns:
            The observation and info.

        Raises:
            gymnasium.error.ClosedEnvironmentError: after ``close``.
            RuntimeError: this is a fork of a process that simulates.
            ValueError: the task or the renderer does not fit.
        """
        self._check_open("reset")
        super().reset(seed=seed)
        self._pose = None  # no episode is under way where one of these fails
        self.place = started(self.task, self.np_random)
        self.mover.reset(self.place)
        self._pose = pose = self.mover.pose()
        self._steps = self._collisions = 0
        self._path = [(float(pose.position[0]), float(pose.position[1]), pose.yaw)]
        self._senses.enter(self.place.scene, pose)
        return self._observe(pose), self._info(pose, 0, 0.0, None)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take a control step, or with "latent" as many as the action says, until the end at most.

        Args:
            action: finite numbers of the action's shape, clipped to [-1, 1].

        Returns:
            Observation, reward, terminated, truncated and info.

        Raises:
            ValueError: another shape, or a number that is not finite; the task gives no reward.
            gymnasium.error.ResetNeeded: before the first reset or after the end of an episode.
            gymnasium.error.ClosedEnvironmentError: after ``close``.
            RuntimeError: this is a fork of a process that simulates.
        """
        command = self._checked(action)
        self._check_open("step")
        if self._pose is None:
            raise ResetNeeded("step: call reset first, no episode is under way")
        wanted = 1
        if self._control == "latent":
            wanted, command = self._duration(float(command[0])), command[1:]
        mover, task, dt = self.mover, self.task, self.mover.control_dt
        x, y = self._path[-1][:2]
        total, end, taken = 0.0, None, 0
        pose = self._pose
        while end is None and taken < wanted:
            mover.step(command)
            taken += 1
            pose = mover.pose()
            self._path.append((float(pose.position[0]), float(pose.position[1]), pose.yaw))
            self._collisions += mover.collides()
            reward, end = outcome(task.advance(pose, dt))
            total += reward
            if end is None and self._fallen(pose):
                end = "fall"
            elif end is None and self._steps + taken >= self._episode_steps:
                end = "time"
            if self.on_control_step is not None:
                self.on_control_step()
        self._steps += taken
        self._pose = pose if end is None else None
        self._senses.advance(taken, pose)
        speed = math.hypot(self._path[-1][0] - x, self._path[-1][1] - y) / (taken * dt)
        truncated = end == "time"
        info = self._info(pose, taken, speed, end)
        return self._observe(pose), total, end is not None and not truncated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Return the robot from behind, with what it sees in a corner, uint8 (height, width, 3).

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
            gymnasium.error.ClosedEnvironmentError: after ``close``.
        """
        self._check_open("render")
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
            return None
        if self.place is None:
            raise ResetNeeded("render: call reset first, there is nothing to see")
        mover = self.mover
        return self._painter.paint(
            self.place, mover.pose(), mover.joint_angles(), self.path, self._senses.frame
        )

    def close(self) -> None:
        """Free the physics and the camera; a second call does nothing."""
        self._closed = True
        self.mover.close()
        self._senses.close()
        self._painter.close()

    def set_low_level(self, low_level: LowLevel) -> None:
        """Put another low level in the place of the one that reads the latent commands.

        Raises:
            ValueError: it reads another number of latent numbers, or ``control`` is not "latent".
        """
        controller = self.mover.controller
        if not isinstance(controller, LatentControl):
            raise _checks.refuse("low_level", 'none unless control is "latent"', low_level)
        controller.low_level = fitting(as_low_level(low_level, None), controller.size)

    @property
    def inset(self) -> tuple[slice, slice] | None:
        """Rows and columns of what ``render`` returns that show the observation's picture.

        None without a camera.
        """
        return self._painter.inset

    @property
    def path(self) -> NDArray[np.float64]:
        """Where this episode went: x and y (m) and yaw (rad).

        float64 (1 + control steps, 3), at the start and after each control step.
        """
        return np.array(self._path, np.float64).reshape(-1, 3)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "this environment cannot be copied or pickled, its physics lives outside Python; make "
            "another one from its spec"
        )

    def _check_open(self, verb: str) -> None:
        if self._closed:
            raise ClosedEnvironmentError(f"{verb}: this environment is closed")

    def _checked(self, action: Any) -> NDArray[np.float64]:
        numbers = _checks.array("action", action, self._action_shape)
        return np.minimum(np.maximum(numbers, -1.0), 1.0)

    def _duration(self, number: float) -> int:
        low, high = self._durations
        return round(low + (high - low) * (number + 1.0) / 2.0)

    def _fallen(self, pose: Pose) -> bool:
        assert self.place is not None
        tilt = max(abs(pose.roll), abs(pose.pitch))
        height = float(pose.position[2]) - self.place.floor_height
        return tilt > LARGEST_TILT or height < LOWEST_TRUNK

    def _observe(self, pose: Pose) -> Observation:
        return {
            **self._senses.observe(self.mover.proprioception()),
            **observed(self.task, pose),
        }

    def _info(self, pose: Pose, taken: int, speed: float, end: str | None) -> dict[str, Any]:
        info = {
            "position": pose.position.copy(),
            "yaw": pose.yaw,
            "speed": speed,
            "collisions": self._collisions,
            "control_steps": taken,
            "success": end in self.task.successes,
            **told(self.task, pose),
        }
        if end is not None:
            info["end"] = end
        return info


def _duration_range(value: Any) -> tuple[int, int]:
    if value is None:
        return DURATION_RANGE
    durations = _checks.integers("duration_range", value, 1)
    if len(durations) != 2 or durations[0] > durations[1]:
        raise _checks.refuse("duration_range", "two integers (fewest, most)", value)
    return durations[0], durations[1]
