"""The film's picture: what it shows, and that taking it changes nothing else."""

import dataclasses
import itertools

import numpy as np
import pytest

from iap_gym.envs.quadruped.drawing import FOV, FRAME, INSET, Painter, _camera, cut, paste
from iap_gym.envs.quadruped.navigation import QuadrupedNavigationEnv
from iap_gym.envs.quadruped.obstacle_course import QuadrupedObstacleCourseEnv
from iap_gym.raycast import Box, Ground, RayCaster, Scene

SMALL = {"render_mode": "rgb_array", "render_size": (90, 120)}


@pytest.fixture(scope="module")
def env():
    env = QuadrupedObstacleCourseEnv(**SMALL)
    yield env
    env.close()


def rollout(env, steps, render):
    """Return all that an episode of random actions gives, and how often it was rendered."""
    seen, rendered = [], []
    if render:
        env.on_control_step = lambda: rendered.append(env.render().shape)
    rng = np.random.default_rng(0)
    observation, _ = env.reset(seed=5)
    for _ in range(steps):
        seen.append(np.concatenate([part.ravel() for part in observation.values()]))
        action = rng.uniform(-1.0, 1.0, env.action_space.shape)
        observation, reward, terminated, truncated, info = env.step(action)
        seen.append(np.array([reward, terminated, truncated, info["collisions"]]))
        if terminated or truncated:
            break
    return np.concatenate([*seen, env.path.ravel()]), len(rendered)


@pytest.mark.parametrize("control", ["pmtg", "latent"])
def test_rendering_changes_nothing(control):
    found = []
    for render in (False, True):
        env = QuadrupedObstacleCourseEnv(control=control, **SMALL)
        rollout(env, 3, render)  # an episode before
        numbers, rendered = rollout(env, 30 if control == "pmtg" else 3, render)
        found.append(numbers)
        assert rendered == (len(env.path) - 1 if render else 0)
        env.close()
    np.testing.assert_array_equal(*found)


def test_a_step_of_latent_can_be_filmed_within():
    env = QuadrupedObstacleCourseEnv(control="latent", **SMALL)
    env.reset(seed=0)
    pictures = []
    env.on_control_step = lambda: pictures.append(env.render())
    seen, _, _, _, info = env.step(np.zeros(2))
    assert len(pictures) == info["control_steps"] > 10
    shown = [picture[env.inset] for picture in pictures]
    first = env.reset(seed=0)[0]["camera"]
    assert all(np.array_equal(each, first) for each in shown)  # what the action was chosen by
    assert not np.array_equal(seen["camera"], first)
    moved = [np.mean(a != b) for a, b in itertools.pairwise(pictures)]
    assert min(moved) > 0
    env.close()


@pytest.mark.parametrize("make", [QuadrupedObstacleCourseEnv, QuadrupedNavigationEnv])
def test_corner_shows_exactly_what_is_observed(make):
    env = make(camera_size=(10, 15), render_mode="rgb_array", render_size=(100, 120))
    observation, _ = env.reset(seed=0)
    picture = env.render()
    shown = picture[env.inset]
    assert shown.shape == (40, 60, 3)
    seen = observation.get("camera", observation.get("depth"))
    if seen.dtype != np.uint8:
        seen = np.round(255 * np.sqrt(seen)).astype(np.uint8).repeat(3, axis=2)
    assert np.array_equal(shown, seen.repeat(4, axis=0).repeat(4, axis=1))
    assert (picture[:FRAME, : 60 + 2 * FRAME] == 255).all()
    assert (picture[40 + FRAME : 40 + 2 * FRAME, : 60 + 2 * FRAME] == 255).all()
    env.close()


@pytest.mark.parametrize("seen", [(1, 1), (32, 32), (64, 200), (500, 400), (4, 4000)])
def test_corner_fits(seen):
    rows, columns = Painter((90, 120), seen).inset
    assert FRAME <= rows.start < rows.stop <= 90 - FRAME
    assert FRAME <= columns.start < columns.stop <= 120 - FRAME
    height, width = rows.stop - rows.start, columns.stop - columns.start
    assert height <= max(1.5 * INSET * 90, 1)
    if min(height, width) >= seen[0] / 10 > 1:
        assert height / width == pytest.approx(seen[0] / seen[1], rel=0.1)


def test_without_a_camera_there_is_no_corner():
    env = QuadrupedObstacleCourseEnv(camera=False, **SMALL)
    env.reset(seed=0)
    assert env.inset is None
    assert not (env.render()[0, 0] == 255).all()
    env.close()


def test_picture_moves_with_the_robot_and_is_the_callers(env):
    env.reset(seed=0)
    first = env.render()
    assert first.shape == (90, 120, 3)
    assert first.dtype == np.uint8
    kept = first.copy()
    first[:] = 0
    assert np.array_equal(env.render(), kept)
    for _ in range(60):
        env.step(np.zeros(16))
    assert np.mean(env.render() != kept) > 0.05


def orange(picture):
    """Return how much of a picture has the colour of the A1's legs."""
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    return np.mean((red > 150) & (green > red / 4) & (green < 0.6 * red) & (blue < 60))


def test_what_is_nearer_hides_the_robot(env):
    env.reset(seed=0)
    pose, angles = env.mover.pose(), env.mover.joint_angles()
    floor = env.place.floor_height
    found = []
    for x in (None, -0.4, 0.0, 0.8):  # no wall, or one behind, through and before the robot
        boxes = () if x is None else (Box((x, 0.0, floor + 0.3), (0.02, 0.5, 0.3)),)
        scene = Scene((env.place.scene.boxes[0], *boxes))
        place = dataclasses.replace(env.place, scene=scene)
        painter = Painter((90, 120), None)
        found.append(orange(painter.paint(place, pose, angles, env.path, None)))
        painter.close()
    free, behind, through, before = found
    assert free > 0.007
    assert behind > 0.9 * free  # cut away
    assert through < 0.8 * free
    assert before == pytest.approx(free, rel=0.1)


def test_walls_and_ceilings_do_not_hide_the_robot():
    env = QuadrupedNavigationEnv(**SMALL)
    for seed in range(6):
        env.reset(seed=seed)
        assert orange(env.render()) > 0.007
    env.close()


def green(picture):
    """Return where a picture is greener than a grey floor."""
    red, green, blue = np.moveaxis(picture.astype(int), -1, 0)
    return (green > red + 40) & (green > blue + 40)


def test_goal_is_painted_where_it_is(env):
    env.reset(seed=0)
    pose, angles, floor = env.mover.pose(), env.mover.joint_angles(), env.place.floor_height
    scene = Scene((), ground=Ground(floor, (200, 200, 200)))
    found = []
    for goal in (
        None,
        ((1.5, 0.5), 0.2),
        ((1.5, -0.5), 0.2),
        ((1.5, 0.5), 0.4),
        ((-4.0, 0.0), 1.0),
    ):
        painter = Painter((90, 120), None)
        place = dataclasses.replace(env.place, scene=scene, goal=goal)
        found.append(green(painter.paint(place, pose, angles, env.path, None)))
        painter.close()
    nothing, left, right, large, behind = found
    assert not nothing.any()
    assert not behind.any()
    assert large.sum() / left.sum() == pytest.approx(4.0, rel=0.2)  # the area of twice the radius
    middles = [np.argwhere(each).mean(axis=0) for each in (left, right)]
    assert middles[0][1] < 60 < middles[1][1]
    # Where a pinhole camera has the middle of the disc.
    eye, axes = _camera(env.path, floor)
    ahead, to_left, up = (np.array([1.5, 0.5, floor]) - eye) @ axes
    focal = 45 / np.tan(np.radians(FOV) / 2)
    expected = (44.5 - focal * up / ahead, 59.5 - focal * to_left / ahead)
    np.testing.assert_allclose(middles[0], expected, atol=1.0)


def test_goal_of_navigation_is_seen_from_near():
    env = QuadrupedNavigationEnv(goal_distance=(0.5, 1.0), start_yaw=0.0, **SMALL)
    seen = 0
    for seed in range(5):
        env.reset(seed=seed)
        assert env.place.goal == (tuple(env.task.goal), 0.4)
        seen += green(env.render()).mean() > 0.01
    env.close()
    assert seen >= 4  # furniture may stand before it


def test_cut_leaves_what_is_below():
    boxes = (
        Box((0, 0, 1.25), (0.1, 2, 1.25), 0.3, (10, 0, 0)),  # a wall
        Box((1, 0, 2.2), (0.1, 1, 0.2)),  # a lintel
        Box((3, 0, 0.2), (0.1, 1, 0.2)),  # something low
        Box((5, 0, 0.5), (0.5, 0.1, 0.5), np.array([[0.6, 0, 0.8], [0, 1, 0], [-0.8, 0, 0.6]])),
    )
    scene = Scene(boxes, ground=Ground(0.0), sky=(1, 2, 3))
    low = cut(scene, 0.6)
    wall, rest, tilted = low.boxes
    assert wall.center == pytest.approx((0, 0, 0.3))
    assert wall.half_extents == pytest.approx((0.1, 2, 0.3))
    assert wall.texture == (10, 0, 0)
    assert rest == boxes[2]
    assert tilted is boxes[3]
    assert (low.sky, low.ground) == (scene.sky, scene.ground)
    down = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)
    depth = RayCaster(low, 9, 9).depth((0, 0, 3.0), down)
    assert depth[4, 4] == pytest.approx(2.4)


def test_depth_is_shown_as_its_root():
    picture = np.zeros((60, 80, 3), np.uint8)
    paste(picture, np.full((10, 10, 1), 0.25, np.float32), (slice(2, 22), slice(2, 22)))
    assert (picture[2:22, 2:22] == 128).all()
    assert (picture[:24, :2] == 255).all()
    assert not picture[24:].any()


def test_surrogate_is_drawn_too():
    env = QuadrupedObstacleCourseEnv(control="latent", physics="kinematic", **SMALL)
    env.reset(seed=0)
    assert orange(env.render()) > 0.007
    env.close()


def test_close_frees_the_drawn_robot():
    import pybullet

    env = QuadrupedObstacleCourseEnv(**SMALL)
    env.reset(seed=0)
    env.render()
    client = env._painter._robot._client.id
    assert pybullet.isConnected(client)
    env.close()
    assert not pybullet.isConnected(client)


@pytest.mark.slow
def test_memory_does_not_grow():
    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    env = QuadrupedNavigationEnv(render_mode="rgb_array", render_size=(48, 64))
    for number in range(350):
        env.reset(seed=number)
        env.render()
        if number == 50:
            before = used()
    assert used() - before < 8e6
    env.close()
