"""What an action means to the legs: three kinds of control, each turning it into joint targets."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.gait import GaitParameters
from iap_gym.envs.quadruped.low_level import LowLevel
from iap_gym.envs.quadruped.pmtg import ACTION_SIZE, PMTGController
from iap_gym.envs.quadruped.simulation import Simulation

Array = NDArray[np.float64]
Gait = str | Mapping[str, Any] | GaitParameters
Weights = str | os.PathLike[str] | LowLevel

DEFAULT_GAIT = "trot"
CONTROLS = ("pmtg", "motors", "latent")
# Of an action of 1: abduction, hip and knee from the neutral pose, rad; inside their limits.
MOTOR_RANGE = (0.4, 0.75, 0.65)
# Turn of the gait for a first latent number of 1, of PMTGController's largest: 0.3 of 0.5. Faster
# turns, changed often, make the feet slip.
STEERING_GAIN = 0.6


class Controller(Protocol):
    """What turns the command of a control step into joint targets."""

    size: int  # numbers of a command

    def reset(self) -> None:
        """Forget the past."""
        ...

    def targets(self, command: Array, simulation: Simulation) -> Array:
        """Return joint targets (12,), rad, for a command (size,) in [-1, 1]."""
        ...

    def phase_state(self) -> Array:
        """Return what a policy sees of the gait's phase, (2,), or (0,) where there is no gait."""
        ...


class MotorControl:
    """Commands are targets of the motors, around the neutral pose by ``MOTOR_RANGE``."""

    size = len(a1.JOINT_NAMES)

    def __init__(self) -> None:
        self._neutral = a1.neutral_pose()
        self._range = np.tile(np.array(MOTOR_RANGE), len(a1.LEGS))

    def reset(self) -> None:
        """Do nothing: there is no past."""

    def targets(self, command: Array, simulation: Simulation) -> Array:
        """Return ``neutral + range * command``."""
        return self._neutral + self._range * command

    def phase_state(self) -> Array:
        """Return no numbers."""
        return np.zeros(0)


class GaitControl:
    """Commands modulate a gait: see ``PMTGController``."""

    size = ACTION_SIZE

    def __init__(self, gait: Gait) -> None:
        self._pmtg = PMTGController(gait)

    def reset(self) -> None:
        """Start the gait from standing, at phase 0."""
        self._pmtg.reset()

    def targets(self, command: Array, simulation: Simulation) -> Array:
        """Advance the gait by a control step."""
        return self._pmtg.targets(command, simulation.control_dt)

    def phase_state(self) -> Array:
        """Return the two numbers of ``TrajectoryGenerator.state``."""
        return self._pmtg.state


class Smoothing:
    """A low-pass of first order: each step of dt closes 1 - exp(-dt / T) of the gap.

    Args:
        time: T, s; 0 changes nothing.
    """

    def __init__(self, time: float) -> None:
        self._time = _checks.real("command_time", time, 0.0)
        self.reset()

    def reset(self) -> None:
        """Start from zeros."""
        self._value: Array | float = 0.0

    def __call__(self, command: Array, dt: float) -> Array:
        """Return what is left of a command, of the same shape, in a step of ``dt`` (s)."""
        if self._time == 0.0:
            return command
        self._value = self._value + (command - self._value) * (1.0 - math.exp(-dt / self._time))
        return self._value


class LatentControl:
    """Commands are latent: a low level reads them, with what the robot senses, at every step.

    Args:
        gait: that the low level modulates.
        low_level: reads the commands.
        command_time: s, time constant of a low-pass that commands go through first; 0 is none.
    """

    def __init__(self, gait: Gait, low_level: LowLevel, command_time: float = 0.0) -> None:
        self._gait = GaitControl(gait)
        self.low_level = low_level
        self.size = low_level.latent_size
        self._smoothed = Smoothing(command_time)

    def reset(self) -> None:
        """Start the gait from standing, at phase 0."""
        self._gait.reset()
        self._smoothed.reset()

    def targets(self, command: Array, simulation: Simulation) -> Array:
        """Let the low level choose the gait's command."""
        command = self._smoothed(command, simulation.control_dt)
        action = self.low_level(
            command, imu(simulation), simulation.joint_angles, self._gait.phase_state()
        )
        return self._gait.targets(action, simulation)

    def phase_state(self) -> Array:
        """Return the two numbers of ``TrajectoryGenerator.state``."""
        return self._gait.phase_state()


def imu(simulation: Simulation) -> Array:
    """Return roll, pitch (rad), roll rate and pitch rate (rad/s) about the trunk's axes, (4,)."""
    return np.concatenate([simulation.roll_pitch_yaw[:2], simulation.angular_velocity[:2]])


def as_low_level(low_level: Weights | None, latent_size: int | None) -> LowLevel:
    """Return the low level of the control "latent".

    Args:
        low_level: one, the path of a file of ``LowLevel.save``, or None for one that steers the
            gait by the first latent number.
        latent_size: numbers in the latent command; None is the low level's own, or 1.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: neither of these, a damaged file, or another latent size.
    """
    if latent_size is not None:
        _checks.integer("latent_size", latent_size, 1)
    if low_level is None:
        return LowLevel.steering(latent_size or 1, STEERING_GAIN)
    if isinstance(low_level, str | os.PathLike):
        return LowLevel.load(low_level, latent_size)
    wanted = "a LowLevel, the path of one, or None"
    return fitting(_checks.instance("low_level", low_level, LowLevel, wanted), latent_size)


def fitting(low_level: LowLevel, latent_size: int | None) -> LowLevel:
    """Return a low level if it reads so many latent numbers, or any number with None.

    Raises:
        ValueError: it reads another number.
    """
    if latent_size is not None and low_level.latent_size != latent_size:
        wanted = f"a low level with latent_size {latent_size}"
        raise _checks.refuse(
            "low_level", wanted, _checks.Words(f"latent_size {low_level.latent_size}")
        )
    return low_level


def make_controller(
    control: str,
    gait: Gait | None,
    low_level: Weights | None,
    latent_size: int | None,
    command_time: float | None = None,
) -> Controller:
    """Return the controller that one of ``CONTROLS`` names.

    Raises:
        ValueError: an argument is wrong, or has no part in this control.
    """
    walk = DEFAULT_GAIT if gait is None else gait
    if _checks.one_of("control", control, CONTROLS) == "latent":
        smoothing = 0.0 if command_time is None else command_time
        return LatentControl(walk, as_low_level(low_level, latent_size), smoothing)
    for name, value in (
        ("low_level", low_level),
        ("latent_size", latent_size),
        ("command_time", command_time),
    ):
        if value is not None:
            raise _checks.refuse(name, f'None unless control is "latent", it is "{control}"', value)
    if control == "pmtg":
        return GaitControl(walk)
    if gait is not None:
        raise _checks.refuse("gait", 'None with the control "motors"', gait)
    return MotorControl()
