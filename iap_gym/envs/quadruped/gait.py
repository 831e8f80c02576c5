"""The gait: a trajectory generator for four legs, and the map from leg to joint angles.

Policies Modulating Trajectory Generators (Iscen et al., CoRL 2018, appendix): a policy changes the
generator's parameters at every step and adds residuals to what comes out (``pmtg.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1

Array = NDArray[np.float64]

# Where each leg is in the cycle, by name: sources of gaits order legs in their own ways.
OFFSETS: dict[str, dict[str, float]] = {
    "walk": {"FL": 0.0, "RL": 0.25, "FR": 0.5, "RR": 0.75},
    "trot": {"FL": 0.0, "RL": 0.5, "FR": 0.5, "RR": 0.0},
}

CYCLE = 2.0 * math.pi  # rad

# What the knee's limits leave to the extension E = knee + pi / 2.
EXTENSION_LOW = a1.JOINT_LOW[2] + math.pi / 2
EXTENSION_HIGH = a1.JOINT_HIGH[2] + math.pi / 2

TURN_TIME = 0.2  # s, of the low-pass of the turn
RAMP_TIME = 0.5  # s, in which the gait comes up from standing
AMPLITUDE_RATE = 1.0  # rad/s, of a commanded amplitude


@dataclass(frozen=True)
class GaitParameters:
    """The constants of a gait.

    Attributes:
        frequency: f, cycles per second.
        amplitude: alpha, of the swing, rad.
        height: h, extension of the legs around which they move, rad; 0 is the neutral pose.
        lift: how far a leg bends in the middle of its swing phase, rad.
        stance_extension: how far a leg extends in the middle of its stance, rad.
        stance: beta, the part of a cycle that a foot is on the ground.
        swing_center: C_s, around which the legs swing, rad; positive is forward.
        abduction: of all legs outward, rad.
        offsets: of FR, FL, RR, RL, in cycles.
    """

    frequency: float = 2.0
    amplitude: float = 0.15
    height: float = 0.0
    lift: float = 0.4
    stance_extension: float = 0.0
    stance: float = 0.5
    swing_center: float = 0.0
    abduction: float = 0.0
    offsets: tuple[float, float, float, float] = (0.5, 0.0, 0.0, 0.5)

    def __post_init__(self) -> None:
        """Check the parameters.

        Raises:
            ValueError: one is out of range.
        """
        _checks.real("frequency", self.frequency, 0.0)
        _checks.real("amplitude", self.amplitude, 0.0)
        for name in ("height", "lift", "stance_extension", "swing_center", "abduction"):
            _checks.real(name, getattr(self, name))
        stance = _checks.real("stance", self.stance, 0.0, 1.0, exclusive=True)
        if stance == 1.0:
            raise _checks.refuse("stance", "a part of the cycle below 1", stance)
        offsets = _checks.array("offsets", self.offsets, (len(a1.LEGS),))
        object.__setattr__(self, "offsets", tuple(offsets.tolist()))


def offsets_of(gait: str) -> tuple[float, float, float, float]:
    """Return the offsets of a gait of ``OFFSETS`` in the order FR, FL, RR, RL, cycles."""
    named = OFFSETS[gait]
    return named["FR"], named["FL"], named["RR"], named["RL"]


# Found by random search in simulation for a straight and steady path that a turn does not slow.
PRESETS: dict[str, GaitParameters] = {
    "trot": GaitParameters(
        frequency=3.54,
        amplitude=0.27,
        height=-0.053,
        lift=0.372,
        stance_extension=-0.047,
        stance=0.522,
        swing_center=0.121,
        abduction=0.062,
        offsets=offsets_of("trot"),
    ),
    "walk": GaitParameters(
        frequency=3.86,
        amplitude=0.229,
        height=-0.127,
        lift=0.255,
        stance_extension=0.125,
        stance=0.78,
        swing_center=0.185,
        abduction=-0.046,
        offsets=offsets_of("walk"),
    ),
}


def gait_parameters(parameters: str | GaitParameters | Mapping[str, Any]) -> GaitParameters:
    """Return a preset by its name, or parameters as they are.

    Args:
        parameters: name of a preset, parameters, or a mapping of their fields (from JSON), where
            the entry "preset" names what the other fields change.

    Raises:
        ValueError: no preset has that name, or no field.
    """
    if isinstance(parameters, GaitParameters):
        return parameters
    if isinstance(parameters, Mapping):
        changes = dict(parameters)
        base = gait_parameters(changes.pop("preset")) if "preset" in changes else GaitParameters()
        names = sorted(field.name for field in fields(GaitParameters))
        for name in changes:
            _checks.one_of("gait", name, names)
        return replace(base, **changes)
    if not isinstance(parameters, str):
        names = ", ".join(repr(name) for name in PRESETS)
        wanted = f"one of {names}, a dict of GaitParameters, or a GaitParameters"
        raise _checks.refuse("gait", wanted, parameters)
    return PRESETS[_checks.one_of("gait", parameters, PRESETS)]


def leg_map(abduction: Array, swing: Array, extension: Array) -> Array:
    """Return the joint angles (12,), rad, of legs with given swings and extensions.

    ``knee = -pi / 2 + E`` and ``hip = -knee / 2 - S``, exact for thighs as long as shanks: the foot
    is at ``x = l sin S`` ahead of its hip and ``z = -l cos S`` below, ``l = 0.4 cos(knee / 2)`` m.

    Args:
        abduction: (4,) rad, in the order of ``a1.LEGS``; positive is to the left.
        swing: S, (4,) rad; positive is forward.
        extension: E, (4,) rad, clipped to what the knee's limits allow; positive is longer.
    """
    targets = np.empty((4, 3))
    knee = np.minimum(np.maximum(extension, EXTENSION_LOW), EXTENSION_HIGH) - math.pi / 2
    targets[:, 0] = abduction
    targets[:, 1] = -0.5 * knee - swing
    targets[:, 2] = knee
    return targets.reshape(12)


class TrajectoryGenerator:
    """Swing and extension of four legs, over a phase.

    The phase advances by ``phi <- (phi + 2 pi f dt) mod 2 pi``; a leg is at
    ``phi_l = (phi + 2 pi offset) mod 2 pi``, warped so that its stance, the first half of
    ``t'``, takes the part ``beta`` of a cycle:
    ``t' = phi_l / (2 beta)`` if ``phi_l < 2 pi beta``, else
    ``t' = 2 pi - (2 pi - phi_l) / (2 (1 - beta))``. Then

    ``S = C_s + I alpha (1 -+ turn) cos t'`` (minus for left legs: they stride shorter in a left
    turn) and ``E = h + I A sin t'``, with A = ``stance_extension`` in stance and ``lift`` in swing.

    The intensity I rises from 0 to 1 in the first 0.5 s after a reset and follows a commanded
    intensity no faster; a commanded amplitude is followed at 1 rad/s at most; the turn is
    low-passed with a time constant of 0.2 s, since feet slip when it jumps.

    Args:
        parameters: of the gait; a name of ``PRESETS``, or a mapping, too.
    """

    def __init__(self, parameters: str | GaitParameters | Mapping[str, Any] = "trot") -> None:
        self.parameters = gait_parameters(parameters)
        self._offsets = [CYCLE * offset for offset in self.parameters.offsets]
        self.abduction: Array = self.parameters.abduction * np.array(a1.OUTWARD)
        self.reset()

    def reset(self, phase: float = 0.0) -> None:
        """Stand still at a phase (rad)."""
        self._phase = _checks.real("phase", phase) % CYCLE
        self._intensity = 0.0
        self._turn = 0.0
        self._amplitude = self.parameters.amplitude

    @property
    def phase(self) -> float:
        """The phase phi, rad in [0, 2 pi)."""
        return self._phase

    @property
    def state(self) -> Array:
        """What a policy sees of the phase: ``((cos phi + 1) / 2, (sin phi + 1) / 2)``, (2,)."""
        return np.array([0.5 * (math.cos(self._phase) + 1.0), 0.5 * (math.sin(self._phase) + 1.0)])

    @property
    def turn(self) -> float:
        """The turn after its low-pass."""
        return self._turn

    def step(
        self,
        dt: float,
        frequency: float | None = None,
        amplitude: float | None = None,
        height: float | None = None,
        turn: float = 0.0,
        intensity: float = 1.0,
    ) -> Array:
        """Advance by ``dt`` and return swing and extension (4, 2), rad, in ``a1.LEGS``' order.

        Args:
            dt: s.
            frequency: f, Hz; None for the gait's.
            amplitude: alpha, rad; None for the gait's.
            height: h, rad; None for the gait's.
            turn: positive turns left; the yaw rate of the presets is about 1.9 turn rad/s, of the
                trot up to 0.5, of the walk up to 0.3.
            intensity: 0 stands, 1 walks.
        """
        gait = self.parameters
        frequency = gait.frequency if frequency is None else frequency
        amplitude = gait.amplitude if amplitude is None else amplitude
        height = gait.height if height is None else height
        self._phase = (self._phase + CYCLE * frequency * dt) % CYCLE
        self._intensity = _toward(self._intensity, intensity, dt / RAMP_TIME)
        self._amplitude = _toward(self._amplitude, amplitude, dt * AMPLITUDE_RATE)
        self._turn += (turn - self._turn) * (1.0 - math.exp(-dt / TURN_TIME))
        stride = self._intensity * self._amplitude
        legs: list[tuple[float, float]] = []
        for offset, outward in zip(self._offsets, a1.OUTWARD, strict=True):
            warped = warp((self._phase + offset) % CYCLE, gait.stance)
            sine = math.sin(warped)
            bend = gait.stance_extension if sine >= 0.0 else gait.lift
            swing = gait.swing_center + stride * (1.0 - self._turn * outward) * math.cos(warped)
            legs.append((swing, height + self._intensity * bend * sine))
        return np.array(legs)


def warp(phase: float, stance: float) -> float:
    """Return the warped phase t' of a leg's phase in [0, 2 pi); see ``TrajectoryGenerator``."""
    if phase < CYCLE * stance:
        return phase / (2.0 * stance)
    return CYCLE - (CYCLE - phase) / (2.0 * (1.0 - stance))


def _toward(value: float, target: float, most: float) -> float:
    """Move a value to a target, by ``most`` at most."""
    return value + min(max(target - value, -most), most)
