"""The obstacle course: a raised platform with walls across it, each with one gap."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from iap_gym import _checks
from iap_gym.envs.quadruped.looks import PATTERNS, Looks, sample_looks
from iap_gym.envs.quadruped.settings import misfit
from iap_gym.raycast import Box, Ground, Scene

Point = tuple[float, float]

_NARROWEST_GAP = 0.4  # m, the robot is 0.3 wide
_WALL = 0.2  # m of wall on both sides of a gap
_NOSE = 0.5  # m before the origin that the robot, its nose and first stride take
_DRAWS = 3  # uniform numbers of each wall: gap's place, gap's width, wall's place


@dataclass(frozen=True)
class Course:
    """How hard a course is; ``sample`` draws one of its layouts.

    The robot starts at the origin, looks along x and is paid for x. A platform reaches from
    ``-platform_back`` to ``length``; walls stand across it, each with one gap. The paper (section
    5.3) has "a raised platform" and "a series of walls" and gives no measures: all are settings.

    Attributes:
        num_walls: walls.
        gap: width of each gap, m.
        spacing: from wall to wall, m.
        first_wall: x of the first wall, m.
        gap_range: the middle of a gap is uniform in +-this, m; None leaves 0.2 m of wall at least
            on both sides of it.
        gap_jitter: a gap's width is uniform in ``gap`` +- this, m.
        spacing_jitter: a wall's x is uniform in its place +- this, m.
        platform_width: m.
        platform_height: above the ground, m.
        platform_back: platform behind the origin, m.
        length: x of the platform's end, m; None is one ``spacing`` after the last wall.
        wall_height: above the platform, m.
        wall_thickness: m.
        start_y: the robot starts at y uniform in +- this, m.
        start_yaw: and turned by an angle uniform in +- this, rad.
        turn_scatter: the surrogate ("kinematic") turns exp(s) times as fast, s uniform in +- this.
        turn_drift: and by a rate uniform in +- this as well, rad/s. Physics reads neither.
        textures: "plain" colours that are always the same, or patterns "checker", "noise" or
            "mixed", drawn anew for each layout.

    Raises:
        ValueError: a number out of its range, or walls and gaps that do not fit the platform.
    """

    num_walls: int = 4
    gap: float = 1.0
    spacing: float = 2.2
    first_wall: float = 2.0
    gap_range: float | None = None
    gap_jitter: float = 0.0
    spacing_jitter: float = 0.0
    platform_width: float = 3.0
    platform_height: float = 0.5
    platform_back: float = 1.0
    length: float | None = None
    wall_height: float = 0.6
    wall_thickness: float = 0.1
    start_y: float = 0.0
    start_yaw: float = 0.0
    turn_scatter: float = 0.0
    turn_drift: float = 0.0
    textures: str = "plain"

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "flat": {"num_walls": 0, "platform_width": 12.0, "length": 12.0},
        "easy": {"num_walls": 3, "gap": 1.3, "spacing": 2.6},
        "medium": {},
        "hard": {
            "num_walls": 5,
            "gap": 0.8,
            "spacing": 1.8,
            "gap_jitter": 0.1,
            "spacing_jitter": 0.2,
            "textures": "mixed",
        },
    }

    def __post_init__(self) -> None:
        _checks.integer("num_walls", self.num_walls, 0, 1000)
        for name in ("spacing", "first_wall", "platform_height", "wall_height", "wall_thickness"):
            _checks.real(name, getattr(self, name), 0.0, 100.0, exclusive=True)
        _checks.real("platform_width", self.platform_width, 0.5, 100.0)
        _checks.real("platform_back", self.platform_back, _NOSE, 100.0)
        widest = self.platform_width
        _checks.real("gap_jitter", self.gap_jitter, 0.0, (widest - _NARROWEST_GAP) / 2)
        narrowest = _NARROWEST_GAP + self.gap_jitter
        gap = _checks.real("gap", self.gap)
        if not narrowest <= gap <= widest - self.gap_jitter:
            room = min(gap - _NARROWEST_GAP, widest - gap)
            raise self._misfit(
                gap=f"a finite number in [{narrowest:g}, {widest - self.gap_jitter:g}]",
                gap_jitter=f"a number in [0, {room:g}], as the gap is {gap:g} m",
                platform_width=f"a number >= {gap + self.gap_jitter:g}, the widest gap",
            )
        free = (self.platform_width - self.gap - self.gap_jitter) / 2
        if self.gap_range is not None:
            _checks.real("gap_range", self.gap_range, 0.0, free)
        jitter = _checks.real("spacing_jitter", self.spacing_jitter, 0.0, 100.0)
        thickness, room = self.wall_thickness, self.spacing - 2 * jitter
        if self.spacing < 2 * jitter + thickness:
            most = max((self.spacing - thickness) / 2, 0.0)
            raise self._misfit(
                spacing=f"a number >= {2 * jitter + thickness:g}, 2 spacing_jitter + "
                "wall_thickness",
                spacing_jitter=f"a number in [0, {most:g}], (spacing - wall_thickness) / 2",
                wall_thickness=f"a number in (0, {max(room, 0.0):g}], spacing - 2 spacing_jitter",
            )
        if self.first_wall < _NOSE + jitter:
            raise self._misfit(
                first_wall=f"a number >= {_NOSE + jitter:g}, {_NOSE:g} + spacing_jitter",
                spacing_jitter=f"a number in [0, {max(self.first_wall - _NOSE, 0.0):g}], "
                f"first_wall - {_NOSE:g}",
            )
        if self.length is not None:
            length = _checks.real("length", self.length)
            least = self._last_wall + jitter + _NOSE
            if length < least:
                names = ("num_walls", "spacing", "first_wall", "spacing_jitter")
                wanted = f"walls that end before length - {_NOSE:g} = {length - _NOSE:g}"
                limits = dict.fromkeys(names, wanted)
                raise self._misfit(length=f"a number >= {least:g}, beyond the last wall", **limits)
        _checks.real("start_y", self.start_y, 0.0, self.platform_width / 2)
        _checks.real("start_yaw", self.start_yaw, 0.0, np.pi)
        _checks.real("turn_scatter", self.turn_scatter, 0.0, 1.0)
        _checks.real("turn_drift", self.turn_drift, 0.0, 1.0)
        _checks.one_of("textures", self.textures, PATTERNS)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Course:
        """Return the course that a name of ``PRESETS`` stands for.

        Args:
            name: "flat" (no walls), "easy", "medium" (the defaults) or "hard".
            **changes: settings that differ.

        Raises:
            ValueError: no such name or setting, or a setting that does not fit.
        """
        settings = {**cls.PRESETS[_checks.one_of("course", name, tuple(cls.PRESETS))], **changes}
        known = [field.name for field in dataclasses.fields(cls)]
        for setting in settings:
            if setting not in known:
                raise _checks.refuse("course", f"settings among {', '.join(known)}", setting)
        return cls(**settings)

    @classmethod
    def from_spec(cls, spec: str | Mapping[str, Any] | Course | None) -> Course:
        """Return the course that a JSON value stands for.

        Args:
            spec: a preset's name; a dict of settings, with "preset" to start from one; a course;
                or None for the defaults.

        Raises:
            ValueError: anything else, or what ``preset`` refuses.
        """
        if spec is None or isinstance(spec, Course):
            return spec or cls()
        if isinstance(spec, str):
            return cls.preset(spec)
        if not isinstance(spec, Mapping):
            raise _checks.refuse(
                "course", "a preset's name, a dict of settings, a Course or None", spec
            )
        settings = {str(name): value for name, value in spec.items()}
        return cls.preset(settings.pop("preset", "medium"), **settings)

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, of JSON types; ``from_spec`` takes them back."""
        return dataclasses.asdict(self)

    def _misfit(self, **limits: str) -> ValueError:
        return misfit(self, limits, self.PRESETS.values())

    @property
    def _last_wall(self) -> float:
        return self.first_wall + max(self.num_walls - 1, 0) * self.spacing

    def sample(self, rng: np.random.Generator) -> Layout:
        """Draw a layout: where gaps and walls are, then looks, then start and unevenness.

        Every setting reads the same numbers of ``rng``, so that courses that differ in one setting
        are comparable layout by layout.

        Raises:
            ValueError: ``rng`` is no generator.
        """
        _checks.instance("rng", rng, np.random.Generator, "a numpy.random.Generator")
        draws = 2.0 * rng.random((self.num_walls, _DRAWS)) - 1.0
        looks = sample_looks(self.textures, rng)
        start = 2.0 * rng.random(2) - 1.0
        turns = 2.0 * rng.random(2) - 1.0
        widths = self.gap + self.gap_jitter * draws[:, 1]
        reach = np.maximum((self.platform_width - widths) / 2 - _WALL, 0.0)
        if self.gap_range is not None:
            reach = np.full(self.num_walls, self.gap_range)
        x = self.first_wall + self.spacing * np.arange(self.num_walls)
        x = x + self.spacing_jitter * draws[:, 2]
        length = self.length
        if length is None:
            length = self._last_wall + self.spacing
        return Layout(
            course=self,
            gap_centers=tuple(zip(x.tolist(), (reach * draws[:, 0]).tolist(), strict=True)),
            gap_widths=tuple(widths.tolist()),
            length=length,
            start_y=self.start_y * float(start[0]),
            start_yaw=self.start_yaw * float(start[1]),
            turn_factor=math.exp(self.turn_scatter * float(turns[0])),
            turn_drift=self.turn_drift * float(turns[1]),
            looks=looks,
        )


@dataclass(frozen=True)
class Layout:
    """One course as it stands: for the physics, for the camera and for those who may know it.

    Heights are above the ground below the platform.

    Attributes:
        course: that it was drawn from.
        gap_centers: (x, y) of the middle of each gap, in the order of the walls, m.
        gap_widths: m.
        length: x of the platform's end, m.
        start_y: of the robot, m.
        start_yaw: rad.
        turn_factor: of how fast the surrogate turns.
        turn_drift: how fast it turns by itself, rad/s.
        looks: textures.
    """

    course: Course
    gap_centers: tuple[Point, ...]
    gap_widths: tuple[float, ...]
    length: float
    start_y: float
    start_yaw: float
    turn_factor: float
    turn_drift: float
    looks: Looks

    @property
    def boxes(self) -> tuple[Box, ...]:
        """The platform, then each wall as the one or two boxes beside its gap."""
        course = self.course
        top, half = course.platform_height, course.platform_width / 2
        middle = (self.length - course.platform_back) / 2
        platform = Box(
            center=(middle, 0.0, top / 2),
            half_extents=(middle + course.platform_back, half, top / 2),
            texture=self.looks.platform,
        )
        walls: list[Box] = []
        gaps = zip(self.gap_centers, self.gap_widths, strict=True)
        for index, ((x, y), width) in enumerate(gaps):
            texture = self.looks.walls[index % len(self.looks.walls)]
            for low, high in ((-half, y - width / 2), (y + width / 2, half)):
                if high - low < 1e-3:  # the gap reaches the edge
                    continue
                walls.append(
                    Box(
                        center=(x, (low + high) / 2, top + course.wall_height / 2),
                        half_extents=(
                            course.wall_thickness / 2,
                            (high - low) / 2,
                            course.wall_height / 2,
                        ),
                        texture=texture,
                    )
                )
        return (platform, *walls)

    def scene(self) -> Scene:
        """Return what the ray caster draws: ``boxes``, the ground below and the sky."""
        ground = Ground(height=0.0, texture=self.looks.ground)
        return Scene(
            self.boxes, ground=ground, sky=self.looks.sky, textures=dict(self.looks.textures)
        )
