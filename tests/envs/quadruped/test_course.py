"""Courses and their layouts."""

import itertools
import json
import math

import numpy as np
import pytest

from iap_gym.envs.quadruped.course import Course
from iap_gym.envs.quadruped.looks import PATTERNS, SIDE, sample_texture
from iap_gym.raycast import RayCaster, rotation_from_yaw_pitch


def sample(seed=0, spec=None):
    return Course.from_spec(spec).sample(np.random.default_rng(seed))


def test_default_layout_has_four_walls_on_a_platform():
    layout = sample()
    platform, *walls = layout.boxes
    assert [x for x, _ in layout.gap_centers] == pytest.approx([2.0, 4.2, 6.4, 8.6])
    assert layout.gap_widths == (1.0,) * 4
    assert layout.length == pytest.approx(10.8)
    assert platform.center[2] + platform.half_extents[2] == pytest.approx(0.5)  # its top
    assert platform.center[2] - platform.half_extents[2] == pytest.approx(0.0)
    assert platform.center[0] - platform.half_extents[0] == pytest.approx(-1.0)
    assert platform.center[0] + platform.half_extents[0] == pytest.approx(layout.length)
    assert platform.half_extents[1] == pytest.approx(1.5)
    for box in walls:
        assert box.half_extents[0] == pytest.approx(0.05)
        assert box.half_extents[2] == pytest.approx(0.3)
        assert box.center[2] == pytest.approx(0.5 + 0.3)


@pytest.mark.parametrize("name", Course.PRESETS)
@pytest.mark.parametrize("seed", range(5))
def test_walls_leave_one_gap_and_nothing_else(name, seed):
    layout = sample(seed, name)
    boxes = layout.boxes[1:]
    half = layout.course.platform_width / 2
    for (x, y), width in zip(layout.gap_centers, layout.gap_widths, strict=True):
        low, high = y - width / 2, y + width / 2
        sides = sorted(
            (box.center[1] - box.half_extents[1], box.center[1] + box.half_extents[1])
            for box in boxes
            if box.center[0] == x
        )
        expected = [side for side in ((-half, low), (high, half)) if side[1] - side[0] > 1e-3]
        assert np.allclose(sides, expected)
        assert -half + 0.2 <= low + 1e-9 < high - 1e-9 <= half - 0.2


def test_gap_may_reach_the_edge_when_asked():
    layout = sample(0, {"num_walls": 1, "gap": 2.8, "gap_range": 0.1})
    assert len(layout.boxes) == 3
    layout = sample(0, {"num_walls": 1, "gap": 3.0})
    assert len(layout.boxes) == 1


def test_camera_sees_through_gaps_and_is_stopped_by_walls():
    layout = sample(4, {"num_walls": 20, "gap_range": 1.0})
    caster = RayCaster(layout.scene(), 1, 1, fov=1.0, far=50.0)
    ahead = rotation_from_yaw_pitch(0.0)
    for (x, y), width in zip(layout.gap_centers, layout.gap_widths, strict=True):
        for side in (-1, 1):
            for offset, free in ((width / 2 - 0.02, True), (width / 2 + 0.02, False)):
                if abs(y + side * offset) > 1.48:
                    continue  # off the platform: this gap reaches its edge
                eye = np.array([x - 0.5, y + side * offset, 0.8])
                depth = float(caster.depth(eye, ahead)[0, 0])
                assert depth > 0.7 if free else depth == pytest.approx(0.45, abs=1e-5)


def test_gaps_are_uniform_over_what_the_platform_allows():
    course = Course(num_walls=1000)
    y = np.array([y for _, y in course.sample(np.random.default_rng(1)).gap_centers])
    reach = (3.0 - 1.0) / 2 - 0.2  # 0.2 m of wall beside each gap
    assert np.abs(y).max() <= reach
    assert abs(y.mean()) < 4 * reach / math.sqrt(3 * y.size)
    # The variance of a uniform number in +-a is a^2 / 3, its fourth moment a^4 / 5.
    error = reach**2 * math.sqrt((1 / 5 - 1 / 9) / y.size)
    assert abs(np.mean(y**2) - reach**2 / 3) < 4 * error


def test_jitter_stays_in_its_range_and_differs_from_wall_to_wall():
    spec = {"num_walls": 200, "gap_jitter": 0.2, "spacing_jitter": 0.3, "gap_range": 0.5}
    layout = sample(2, spec)
    x, y = np.array(layout.gap_centers).T
    moved = x - (2.0 + 2.2 * np.arange(200))
    widths = np.array(layout.gap_widths)
    for values, middle, reach in ((moved, 0.0, 0.3), (widths, 1.0, 0.2), (y, 0.0, 0.5)):
        assert 0.9 * reach < np.abs(values - middle).max() <= reach
    assert abs(np.corrcoef(moved, widths)[0, 1]) < 0.3


def test_layout_follows_from_its_generator_and_settings_do_not_shift_the_numbers():
    assert sample(3).gap_centers == sample(3).gap_centers != sample(4).gap_centers
    narrow = sample(3, {"gap_range": 0.5, "spacing_jitter": 0.1, "textures": "noise"})
    ratios = [b[1] / a[1] for a, b in zip(sample(3).gap_centers, narrow.gap_centers, strict=True)]
    assert ratios == pytest.approx([0.5 / 0.8] * 4)


def test_start_is_at_the_origin_unless_asked():
    assert (sample().start_y, sample().start_yaw) == (0.0, 0.0)
    starts = [sample(seed, {"start_y": 0.3, "start_yaw": 0.2}) for seed in range(50)]
    assert 0.2 < max(abs(layout.start_y) for layout in starts) <= 0.3
    assert 0.15 < max(abs(layout.start_yaw) for layout in starts) <= 0.2
    assert (sample().turn_factor, sample().turn_drift) == (1.0, 0.0)
    uneven = [sample(seed, {"turn_scatter": 0.4, "turn_drift": 0.1}) for seed in range(50)]
    factors = [math.log(layout.turn_factor) for layout in uneven]
    assert -0.4 <= min(factors) < -0.3 < 0.3 < max(factors) <= 0.4
    assert 0.07 < max(abs(layout.turn_drift) for layout in uneven) <= 0.1
    assert [each.gap_centers for each in uneven] == [each.gap_centers for each in starts]


@pytest.mark.parametrize("spec", [None, *Course.PRESETS, {"preset": "hard", "gap": 0.9}])
def test_course_survives_json(spec):
    course = Course.from_spec(spec)
    assert Course.from_spec(json.loads(json.dumps(course.to_dict()))) == course
    assert Course.from_spec(course) is course


def test_preset_can_be_changed():
    assert Course.from_spec({"preset": "hard", "num_walls": 2}) == Course.preset(
        "hard", num_walls=2
    )
    assert Course.preset("medium") == Course() == Course.from_spec({})


def test_presets_get_harder():
    easy, medium, hard = (Course.preset(name) for name in ("easy", "medium", "hard"))
    assert easy.gap > medium.gap > hard.gap
    assert easy.spacing > medium.spacing > hard.spacing
    assert Course.preset("flat").num_walls == 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hilly", "course: expected one of 'flat', 'easy', 'medium', 'hard', got 'hilly'"),
        (3, "course: expected a preset's name, a dict of settings, a Course or None, got 3"),
        ({"walls": 4}, "course: expected settings among num_walls, .*, got 'walls'"),
        ({"num_walls": -1}, "num_walls: expected"),
        ({"num_walls": 2.0}, "num_walls: expected an integer"),
        ({"gap": 0.3}, r"gap: expected a finite number in \[0.4, 3\]"),
        ({"gap": 0.45, "gap_jitter": 0.1}, r"gap: expected a finite number in \[0.5, 2.9\]"),
        ({"gap": 3.5}, r"gap: expected a finite number in \[0.4, 3\]"),
        ({"gap_jitter": 1.4}, r"gap_jitter: expected a finite number in \[0, 1.3\]"),
        ({"gap_range": 1.2}, r"gap_range: expected a finite number in \[0, 1\]"),
        (
            {"spacing": 0.3, "spacing_jitter": 0.2},
            r"spacing: expected a number >= 0.5, 2 spacing_jitter \+",
        ),
        ({"spacing_jitter": 5.0}, r"spacing_jitter: expected a number in \[0, 1.05\], .* got 5.0"),
        ({"wall_thickness": 5}, r"wall_thickness: expected a number in \(0, 2.2\], .* got 5"),
        ({"preset": "hard", "wall_thickness": 5}, "wall_thickness: expected .* got 5"),
        ({"preset": "hard", "spacing": 0.3}, "spacing: expected a number >= 0.5, .* got 0.3"),
        ({"spacing": 9, "spacing_jitter": 3, "gap": 1.0}, "spacing"),
        ({"preset": "flat", "num_walls": 9}, "num_walls: expected walls that end before .* got 9"),
        ({"gap_jitter": 1.0}, r"gap_jitter: expected a number in \[0, 0.6\], .* got 1.0"),
        (
            {"platform_width": 0.9},
            "platform_width: expected a number >= 1, .* got 0.9",
        ),
        ({"first_wall": 0.4}, r"first_wall: expected a number >= 0.5, 0.5 \+ spacing_jitter, got"),
        ({"length": 8.0}, "length: expected a number >= 9.1, beyond the last wall, got 8.0"),
        ({"platform_width": math.nan}, "platform_width: expected"),
        ({"platform_back": 0.1}, "platform_back: expected"),
        ({"wall_height": 0.0}, "wall_height: expected"),
        ({"start_y": 2.0}, "start_y: expected"),
        ({"turn_scatter": 2.0}, "turn_scatter: expected"),
        ({"turn_drift": -0.1}, "turn_drift: expected"),
        ({"textures": "marble"}, "textures: expected one of 'plain', 'checker'"),
    ],
)
def test_what_makes_no_course_is_named(spec, message):
    with pytest.raises(ValueError, match=message):
        Course.from_spec(spec)


def test_walls_may_stand_as_close_as_they_fit():
    course = Course(spacing=0.5, spacing_jitter=0.2)
    assert course.spacing == 2 * course.spacing_jitter + course.wall_thickness


@pytest.mark.parametrize("rng", [3, None, np.random.RandomState(0)])
def test_what_is_no_generator_is_named(rng):
    with pytest.raises(ValueError, match="rng: expected a numpy.random.Generator, got"):
        Course().sample(rng)


@pytest.mark.parametrize("pattern", PATTERNS[1:])
def test_patterns_are_drawn_anew_for_each_layout(pattern):
    first, again, other = (sample(seed, {"textures": pattern}).looks for seed in (0, 0, 1))
    for name, picture in first.textures.items():
        assert picture.dtype == np.uint8
        assert picture.shape == (SIDE, SIDE, 3)
        assert np.array_equal(picture, again.textures[name])
        assert not np.array_equal(picture, other.textures[name])
    assert len({picture.tobytes() for picture in first.textures.values()}) == len(first.textures)


def test_plain_colours_are_always_the_same_and_walls_take_turns():
    assert sample(0).looks == sample(1).looks
    assert not sample(0).looks.textures
    boxes = sample(0).boxes[1:]
    colors = {box.center[0]: box.texture for box in boxes}
    assert len(set(colors.values())) == 2
    walls = sorted(colors)
    assert all(colors[a] != colors[b] for a, b in itertools.pairwise(walls))


def test_opposite_sides_of_a_pattern_fit():
    for seed in range(20):
        picture = sample_texture("noise", np.random.default_rng(seed)).astype(int)
        for axis in (0, 1):
            steps = np.abs(np.diff(picture, axis=axis, append=picture.take([0], axis)))
            seam = steps.take(-1, axis)
            assert seam.mean() < 2 * steps.mean() + 1
