"""The camera distraction: another pose about the camera's own, drawn at each reset or walking."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

from iap_gym.envs.distracting_control.geometry import (
    Array,
    look_upright,
    nearest,
    rotation_about,
    rotation_between,
    to_cartesian,
    to_spherical,
)
from iap_gym.envs.distracting_control.settings import REFERENCE_RADIUS, CameraSettings

_LEVEL = 0.01  # the largest vertical part of the right axis of a camera with a level horizon
_OVERHEAD = 0.98  # the vertical part of a view direction from which a level horizon is unstable


class Mount(enum.Enum):
    """How a camera is held, which decides what it moves about."""

    FIXED = "fixed"  # in the world: about the origin, at a point fixed at the reset
    AIMED = "aimed"  # in the world, turned towards a body: about the origin, at what it follows
    TRACKING = "tracking"  # carried along: about what it tracks, at what it follows
    CARRIED = "carried"  # inside a moving body, as eyes are: turns in its place


@dataclass(frozen=True)
class View:
    """The pose that MuJoCo gives the camera at one moment, and what it looks at."""

    position: Array  # (3,) m
    rotation: Array  # (3, 3), columns right, up, backward
    pivot: Array  # (3,) m, centre of the spherical coordinates
    agent: Array  # (3,) m, centre of mass of the agent

    @property
    def direction(self) -> Array:
        """The unit vector along which the camera looks."""
        return -self.rotation[:, 2]

    @property
    def focus(self) -> Array:
        """The point on the view axis that is as far away as the agent."""
        return self.position + self.direction * np.linalg.norm(self.position - self.agent)


@dataclass(frozen=True)
class Limits:
    """Lowest and highest (radius, azimuth, polar angle), (3,) each, and the largest roll."""

    low: Array
    high: Array
    roll: float


def orbit_limits(start: Array, settings: CameraSettings, above_ground: bool) -> Limits:
    """Return the ranges about a camera's own spherical coordinates.

    Args:
        start: (3,) the camera's own radius, azimuth and polar angle.
        settings: widths of the ranges.
        above_ground: keep the polar angle in [0, pi/2], or where it starts if that is lower.
    """
    radius, azimuth, polar = start
    low = np.array(
        [radius * (1.0 - settings.zoom_in), azimuth - settings.angle, polar - settings.angle]
    )
    high = np.array(
        [radius * (1.0 + settings.zoom_out), azimuth + settings.angle, polar + settings.angle]
    )
    if above_ground:
        low[2] = max(low[2], 0.0)
        high[2] = max(min(high[2], math.pi / 2), polar)
    return Limits(low, high, settings.roll)


def limit_length(vector: Array, longest: float) -> Array:
    """Return ``vector``, shortened to ``longest`` where it is longer."""
    length = float(np.linalg.norm(vector))
    return vector * (longest / length) if length > longest else vector


def advance_orbit(orbit: Array, velocity: Array, limits: Limits) -> tuple[Array, Array]:
    """Move by one step in space, then clip; the velocity becomes the move that was possible.

    Args:
        orbit: (3,) radius, azimuth, polar angle.
        velocity: (3,) m per step.
        limits: ranges of the orbit.
    """
    start = to_cartesian(orbit)
    moved = np.clip(nearest(to_spherical(start + velocity), orbit), limits.low, limits.high)
    return moved, to_cartesian(moved) - start


class CameraDistraction:
    """One camera's orbit, roll and their random walk.

    Args:
        settings: ranges and walk.
        mount: how the camera is held.
    """

    def __init__(self, settings: CameraSettings, mount: Mount) -> None:
        self._settings = settings
        self._mount = mount
        self._rng = np.random.default_rng(0)  # replaced at every reset
        self.orbit = self.start = np.zeros(3)  # radius in m, azimuth and polar angle in rad
        self.roll = 0.0  # rad
        self.limits = Limits(self.orbit, self.orbit, 0.0)

    def reset(self, rng: np.random.Generator, view: View) -> None:
        """Draw a pose about ``view``; ``rng`` also drives the walk from here."""
        settings, self._rng = self._settings, rng
        self._focus = view.focus
        self.start = to_spherical(view.position - view.pivot)
        level = abs(view.rotation[2, 0]) < _LEVEL
        self._upright = level and abs(view.direction[2]) < _OVERHEAD
        if self._mount is Mount.CARRIED:
            # Angles are about the camera's own axes and there is nothing to come nearer to.
            self.start = np.zeros(3)
        above_ground = self._upright and self._mount is not Mount.CARRIED
        self.limits = orbit_limits(self.start, settings, above_ground)
        self.orbit = rng.uniform(self.limits.low, self.limits.high)
        self.roll = float(rng.uniform(-settings.roll, settings.roll))
        # A carried camera has no radius; its angles walk as those of one at unit distance.
        radius = self.start[0] or 1.0
        self._speed_std = settings.speed_std * radius / REFERENCE_RADIUS
        self._max_speed = settings.max_speed * radius / REFERENCE_RADIUS
        heading = rng.normal(size=3)
        heading /= np.linalg.norm(heading)
        self._velocity = heading * rng.uniform(0.0, self._max_speed)
        self._roll_speed = float(rng.uniform(-settings.max_roll_speed, settings.max_roll_speed))

    def advance(self) -> None:
        """Walk by one control step: the velocities change by normal steps, clipped."""
        if not self._max_speed:
            return
        settings, rng = self._settings, self._rng
        kicked = self._velocity + rng.normal(0.0, self._speed_std, 3)
        self._velocity = limit_length(kicked, self._max_speed)
        if self._mount is Mount.CARRIED:
            moved = np.clip(self.orbit + self._velocity, self.limits.low, self.limits.high)
            self._velocity, self.orbit = moved - self.orbit, moved
        else:
            self.orbit, self._velocity = advance_orbit(self.orbit, self._velocity, self.limits)
        roll_speed = self._roll_speed + rng.normal(0.0, settings.roll_std)
        limit = settings.max_roll_speed
        roll_speed = min(max(roll_speed, -limit), limit)
        rolled = min(max(self.roll + roll_speed, -settings.roll), settings.roll)
        self._roll_speed, self.roll = rolled - self.roll, rolled

    def pose(self, view: View) -> tuple[Array, Array]:
        """Return the camera's position (3,) and rotation (3, 3) in place of those of ``view``."""
        roll = rotation_about(np.array([0.0, 0.0, 1.0]), self.roll)
        if self._mount is Mount.CARRIED:
            _, yaw, pitch = self.orbit
            turned = rotation_about(np.array([0.0, 1.0, 0.0]), yaw) @ rotation_about(
                np.array([1.0, 0.0, 0.0]), pitch
            )
            return view.position, view.rotation @ turned @ roll
        position = view.pivot + to_cartesian(self.orbit)
        focus = self._focus if self._mount is Mount.FIXED else view.focus
        direction = focus - position
        if self._upright:
            rotation = look_upright(direction)
        else:
            rotation = rotation_between(view.direction, direction) @ view.rotation
        return position, rotation @ roll
