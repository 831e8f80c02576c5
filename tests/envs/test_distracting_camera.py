import math

import numpy as np
import pytest

from iap_gym.envs.distracting_control.camera import (
    CameraDistraction,
    Mount,
    View,
    advance_orbit,
    limit_length,
    orbit_limits,
)
from iap_gym.envs.distracting_control.geometry import (
    look_upright,
    rotation_about,
    to_cartesian,
    to_spherical,
)
from iap_gym.envs.distracting_control.settings import DIFFICULTIES, camera_settings

# The table of the published suite: degrees of azimuth, polar angle and roll, and the radius.
TABLE = {"easy": (9, 0.95, 1.15), "medium": (18, 0.90, 1.30), "hard": (27, 0.85, 1.45)}


def view(position=(0.0, -3.0, 1.0), at=(0.0, 0.0, 0.5), agent=(0.0, 0.0, 0.4)):
    position = np.array(position)
    rotation = look_upright(np.array(at) - position)
    return View(position, rotation, np.zeros(3), np.array(agent))


def overhead():
    return View(np.array([0.0, 0.0, 0.75]), np.eye(3), np.zeros(3), np.array([0.1, 0.0, 0.01]))


def make(difficulty, mount=Mount.FIXED, dynamic=False):
    return CameraDistraction(camera_settings(DIFFICULTIES[difficulty].scale, dynamic), mount)


@pytest.mark.parametrize("difficulty", TABLE)
@pytest.mark.parametrize("seen", [view(), overhead()], ids=["side", "overhead"])
def test_draws_cover_the_table_and_stay_in_it(difficulty, seen):
    degrees, nearest, farthest = TABLE[difficulty]
    camera, rng = make(difficulty), np.random.default_rng(0)
    draws = []
    for _ in range(4000):
        camera.reset(rng, seen)
        draws.append([*(camera.orbit - camera.start), camera.roll])
        draws[-1][0] = camera.orbit[0] / camera.start[0]
    low, high = np.min(draws, axis=0), np.max(draws, axis=0)
    angle = math.radians(degrees)
    polar = to_spherical(seen.position)[2]
    polar_high = min(angle, math.pi / 2 - polar)  # not below the horizon
    wanted_low = np.array([nearest, -angle, -angle, -angle])
    wanted_high = np.array([farthest, angle, polar_high, angle])
    assert (low >= wanted_low - 1e-9).all()
    assert (high <= wanted_high + 1e-9).all()
    # 4000 uniform draws leave no gap of 1 % of the range at an end, up to 1 in 1e17.
    margin = 0.01 * (wanted_high - wanted_low)
    assert (low < wanted_low + margin).all()
    assert (high > wanted_high - margin).all()
    # and are uniform: their mean is within 5 standard errors of the middle.
    errors = (wanted_high - wanted_low) / math.sqrt(12 * len(draws))
    assert (abs(np.mean(draws, axis=0) - (wanted_low + wanted_high) / 2) < 5 * errors).all()


def test_static_pose_stays_and_draws_nothing():
    camera, rng = make("hard"), np.random.default_rng(1)
    camera.reset(rng, view())
    orbit, roll, state = camera.orbit.copy(), camera.roll, rng.bit_generator.state
    for _ in range(10):
        camera.advance()
    assert np.array_equal(camera.orbit, orbit)
    assert camera.roll == roll
    assert rng.bit_generator.state == state


@pytest.mark.parametrize("difficulty", TABLE)
@pytest.mark.parametrize("seen", [view(), overhead()], ids=["side", "overhead"])
def test_dynamic_pose_walks_within_limits_of_speed_and_place(difficulty, seen):
    scale = DIFFICULTIES[difficulty].scale
    camera, rng = make(difficulty, dynamic=True), np.random.default_rng(2)
    radius = np.linalg.norm(seen.position)
    speeds = []
    for _ in range(3):
        camera.reset(rng, seen)
        for _ in range(400):
            before, roll = to_cartesian(camera.orbit), camera.roll
            camera.advance()
            speeds.append(np.linalg.norm(to_cartesian(camera.orbit) - before))
            assert (camera.orbit >= camera.limits.low).all()
            assert (camera.orbit <= camera.limits.high).all()
            assert abs(camera.roll) <= camera.limits.roll
            assert abs(camera.roll - roll) <= math.pi / 50 * scale + 1e-12
    assert np.mean(speeds) > 0
    # Clipping is in angles: it may move a camera a little farther than its velocity would.
    assert np.quantile(speeds, 0.95) <= 0.4 * scale * radius / 4 * (1 + 1e-9)


def test_first_velocity_is_scaled_by_the_radius():
    near, far = view((0, -0.4, 0.1), agent=(0, 0, 0)), view((0, -40.0, 10.0), agent=(0, 0, 0))
    moves = []
    for seen in (near, far):
        camera = make("easy", dynamic=True)
        camera.reset(np.random.default_rng(3), seen)
        camera.orbit = camera.start  # away from the limits
        before = to_cartesian(camera.orbit)
        camera.advance()
        moves.append(np.linalg.norm(to_cartesian(camera.orbit) - before))
    assert moves[1] / moves[0] == pytest.approx(100, rel=1e-6)


def test_velocity_changes_by_normal_steps():
    # Where no limit is near, velocity(t+1) - velocity(t) ~ N(0, (0.1 s r0/4)^2).
    seen, scale = view((0, -4.0, 0.0), agent=(0, 0, 0)), DIFFICULTIES["hard"].scale
    camera, rng = make("hard", dynamic=True), np.random.default_rng(4)
    changes = []
    for _ in range(1500):
        camera.reset(rng, seen)
        camera.orbit = camera.start + np.array([0.0, 0.0, -0.2])
        camera._velocity = np.zeros(3)
        before = to_cartesian(camera.orbit)
        camera.advance()
        changes.append(to_cartesian(camera.orbit) - before)
    std = 0.1 * scale * 4 / 4
    assert np.std(changes) == pytest.approx(std, rel=0.05)


def test_camera_looks_at_its_focus():
    seen = view()
    camera = make("hard")
    camera.reset(np.random.default_rng(5), seen)
    position, rotation = camera.pose(seen)
    np.testing.assert_allclose(position, to_cartesian(camera.orbit))
    # The focus lies on the original axis, as far away as the agent.
    distance = np.linalg.norm(seen.position - seen.agent)
    focus = seen.position - seen.rotation[:, 2] * distance
    wanted = (focus - position) / np.linalg.norm(focus - position)
    np.testing.assert_allclose(-rotation[:, 2], wanted, atol=1e-12)
    # Without its roll the horizon is level.
    level = rotation @ rotation_about(np.array([0.0, 0.0, 1.0]), -camera.roll)
    assert abs(level[2, 0]) < 1e-12


def test_no_distraction_of_scale_zero_gives_the_own_pose():
    for seen in (view(), overhead()):
        camera = CameraDistraction(camera_settings(0.0, False), Mount.FIXED)
        camera.reset(np.random.default_rng(6), seen)
        position, rotation = camera.pose(seen)
        np.testing.assert_allclose(position, seen.position, atol=1e-12)
        np.testing.assert_allclose(rotation, seen.rotation, atol=1e-12)


def test_fixed_camera_keeps_its_focus_and_tracking_camera_moves_along():
    start = view()
    shift = np.array([5.0, 0.0, 0.2])
    later = View(start.position + shift, start.rotation, shift, start.agent + shift)
    fixed, tracking = make("medium"), make("medium", Mount.TRACKING)
    for camera in (fixed, tracking):
        camera.reset(np.random.default_rng(7), start)
    before, after = tracking.pose(start), tracking.pose(later)
    np.testing.assert_allclose(after[0], before[0] + shift)
    np.testing.assert_allclose(after[1], before[1], atol=1e-12)
    moved = View(start.position, start.rotation, start.pivot, start.agent + shift)
    np.testing.assert_allclose(fixed.pose(moved)[1], fixed.pose(start)[1])


def test_carried_camera_turns_in_its_place():
    seen = view()
    camera = make("hard", Mount.CARRIED, dynamic=True)
    camera.reset(np.random.default_rng(8), seen)
    angles = []
    for _ in range(200):
        position, rotation = camera.pose(seen)
        np.testing.assert_array_equal(position, seen.position)
        angles.append(math.acos(min(1.0, -rotation[:, 2] @ seen.direction)))
        camera.advance()
    assert np.ptp(angles) > 0
    # Yaw and pitch of 27 degrees each.
    assert max(angles) <= math.radians(math.hypot(27, 27)) + 1e-9


def test_limits_stay_above_the_ground_but_contain_the_start():
    settings = camera_settings(0.3, False)
    low = orbit_limits(np.array([1.0, 0.0, math.radians(100)]), settings, True)
    assert low.high[2] == pytest.approx(math.radians(100))
    free = orbit_limits(np.array([1.0, 0.0, 0.0]), settings, False)
    assert free.low[2] == pytest.approx(-math.radians(27))


def test_orbit_stops_at_its_limit_and_keeps_only_the_move_that_was_possible():
    settings = camera_settings(0.1, True)
    start = np.array([2.0, -math.pi / 2, 1.0])
    limits = orbit_limits(start, settings, True)
    orbit, velocity = advance_orbit(start, np.array([0.0, -50.0, 0.0]), limits)
    assert orbit[0] == limits.high[0]
    np.testing.assert_allclose(velocity, to_cartesian(orbit) - to_cartesian(start))


def test_limit_length_keeps_the_direction():
    np.testing.assert_allclose(limit_length(np.array([3.0, 4.0, 0.0]), 1.0), [0.6, 0.8, 0.0])
    np.testing.assert_array_equal(limit_length(np.array([0.3, 0.4, 0.0]), 1.0), [0.3, 0.4, 0.0])
