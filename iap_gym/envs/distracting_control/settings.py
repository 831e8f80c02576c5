"""The table of the Distracting Control Suite (Stone et al. 2021): difficulty to ranges.

Angles are in radians, lengths in metres, colours in [0, 1], and everything dynamic is per control
step. A scale of 1 would let the camera move by 90 degrees.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

DISTRACTIONS = ("background", "camera", "color")
SPLITS = ("train", "val")


@dataclass(frozen=True)
class Difficulty:
    """How strong all distractions are, and how many clips the background draws from."""

    scale: float
    num_clips: int | None  # None: every clip of the split


DIFFICULTIES = {
    "easy": Difficulty(scale=0.1, num_clips=4),
    "medium": Difficulty(scale=0.2, num_clips=8),
    "hard": Difficulty(scale=0.3, num_clips=None),
}


@dataclass(frozen=True)
class CameraSettings:
    """Ranges of the camera about its own pose, and its random walk inside them."""

    angle: float  # rad, azimuth and polar angle vary by plus or minus this
    roll: float  # rad, likewise
    zoom_in: float  # the radius goes down to (1 - zoom_in) of its own
    zoom_out: float  # and up to (1 + zoom_out)
    speed_std: float  # m, for a camera at a radius of REFERENCE_RADIUS
    max_speed: float  # m, likewise
    roll_std: float  # rad
    max_roll_speed: float  # rad


REFERENCE_RADIUS = 4.0  # m, speeds scale with the camera's radius over this


def camera_settings(scale: float, dynamic: bool) -> CameraSettings:
    """Return the camera's row of the table."""
    moving = scale if dynamic else 0.0
    return CameraSettings(
        angle=math.pi / 2 * scale,
        roll=math.pi / 2 * scale,
        zoom_in=0.5 * scale,
        zoom_out=1.5 * scale,
        speed_std=0.1 * moving,
        max_speed=0.4 * moving,
        roll_std=math.pi / 300 * moving,
        max_roll_speed=math.pi / 50 * moving,
    )


@dataclass(frozen=True)
class ColorSettings:
    """Range of every material's red, green and blue about its own, and the walk inside it."""

    delta: float
    step_std: float


def color_settings(scale: float, dynamic: bool) -> ColorSettings:
    """Return the colour's row of the table."""
    return ColorSettings(delta=scale, step_std=0.03 * scale if dynamic else 0.0)


@dataclass(frozen=True)
class BackgroundSettings:
    """What replaces the sky, and how much of the floor hides it."""

    clips: tuple[str, ...]  # names, in the order that the draw is over
    dynamic: bool
    alpha: float  # weight of the picture against the original sky
    floor_alpha: float  # of the material that the floor has


FLOOR_MATERIAL = "grid"
_FLOOR_ALPHA = {"reacher": 0.0, "walker": 1.0, "cheetah": 1.0}


def floor_alpha(domain: str) -> float:
    """Return the floor's opacity under a replaced sky; the published default is 0.3."""
    return _FLOOR_ALPHA.get(domain, 0.3)


@dataclass(frozen=True)
class DistractionSettings:
    """The settings in force in one environment; None where a distraction is off."""

    difficulty: str | None
    dynamic: bool
    split: str
    background: BackgroundSettings | None
    camera: CameraSettings | None
    color: ColorSettings | None


def distraction_settings(
    domain: str,
    difficulty: str | None,
    *,
    dynamic: bool,
    split: str,
    distractions: Collection[str],
    clips: tuple[str, ...],
    background_alpha: float,
) -> DistractionSettings:
    """Return the settings in force; ``clips`` are the names of the background's clips."""
    on = set(distractions) if difficulty is not None else set[str]()
    scale = DIFFICULTIES[difficulty].scale if difficulty is not None else 0.0
    return DistractionSettings(
        difficulty=difficulty,
        dynamic=dynamic,
        split=split,
        background=BackgroundSettings(clips, dynamic, background_alpha, floor_alpha(domain))
        if "background" in on
        else None,
        camera=camera_settings(scale, dynamic) if "camera" in on else None,
        color=color_settings(scale, dynamic) if "color" in on else None,
    )


@dataclass(frozen=True)
class RenderQuality:
    """What MuJoCo spends on a frame; None keeps the model's own value."""

    offsamples: int | None = None  # samples per pixel
    shadows: bool = True
    reflections: bool = True
    numslices: int | None = None  # tessellation of round shapes
    numstacks: int | None = None
    numquads: int | None = None
    moving_texture_size: int | None = None  # pixels of a moving background's side


RENDER_QUALITIES = {
    "reference": RenderQuality(),
    "fast": RenderQuality(
        offsamples=0,
        shadows=False,
        reflections=False,
        numslices=10,
        numstacks=6,
        numquads=2,
        # A moving picture is uploaded at every step, in time with its area.
        moving_texture_size=400,
    ),
}
