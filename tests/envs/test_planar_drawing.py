"""Pictures of the planar worlds: areas of shapes, what can be seen, and what must not be."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import AddRenderObservation

import iap_gym
from iap_gym.envs.planar import BilliardBall, RobotRemoteControl, Shepherd, drawing
from iap_gym.envs.planar.canvas import Canvas
from iap_gym.registry import PLANAR_WORLDS
from iap_gym.testing import check_env

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
SIZES = [(64, 64), (64, 128), (240, 480), (1024, 1024)]
world_names = pytest.mark.parametrize("name", PLANAR_WORLDS)
sizes = pytest.mark.parametrize("size", SIZES)

ROOMS = [0.1, -0.6, -0.4, 0.3, 0.0]
PASTURE = [0.4, -0.6, 1.6, -0.5, 2.3, 0.9, 0.5, 0, 0, 0, 0, 0.025]
TABLE = [0.3, -0.2, 0.05, 0.0, 0.0, 0.0]


def canvas(size=(100, 200)):
    return Canvas(size, (-2.0, -1.0), (2.0, 1.0), BLACK)


def painted(picture):
    """Return the area that is white, in the world's units of ``canvas()``."""
    return picture.pixels[..., 0].astype(float).sum() / 255 / 50**2


@pytest.mark.parametrize("middle", [(0.0, 0.0), (0.713, -0.377), (1.006, 0.222)])
def test_shapes_have_their_areas_wherever_they_are(middle):
    picture = canvas()
    picture.disc(middle, 0.5, WHITE)
    assert painted(picture) == pytest.approx(np.pi * 0.25, rel=0.01)
    picture = canvas()
    picture.disc(middle, 0.5, WHITE, line=0.1)
    assert painted(picture) == pytest.approx(2 * np.pi * 0.5 * 0.1, rel=0.01)
    picture = canvas()
    picture.box(middle, (0.4, 0.3), WHITE)
    assert painted(picture) == pytest.approx(4 * 0.4 * 0.3, rel=0.01)
    picture = canvas()
    x, y = middle
    picture.segment((x - 0.3, y - 0.4), (x + 0.3, y + 0.4), 0.1, WHITE)
    assert painted(picture) == pytest.approx(1.0 * 0.1 + np.pi * 0.05**2, rel=0.02)


def test_up_is_up_right_is_right_and_a_square_stays_one():
    picture = canvas((300, 200))  # taller than the world: it stands in the middle
    picture.disc((1.0, 0.5), 0.1, WHITE)
    rows, columns = np.nonzero(picture.pixels[..., 0] > 127)
    assert rows.mean() + 0.5 == pytest.approx(150 - 25, abs=0.1)
    assert columns.mean() + 0.5 == pytest.approx(150, abs=0.1)
    assert np.ptp(rows) == np.ptp(columns)


def test_opacity_mixes_and_what_lies_outside_is_not_painted():
    picture = canvas()
    picture.box((0.0, 0.0), (9.0, 9.0), WHITE, opacity=0.4)
    assert np.unique(picture.pixels).tolist() == [102]
    before = picture.copy()
    for far in ((-5.0, 0.0), (5.0, 0.0), (0.0, 4.0), (0.0, -4.0), (1e6, 1e6)):
        picture.disc(far, 0.3, WHITE)
        picture.segment(far, far, 0.1, WHITE)
    np.testing.assert_array_equal(picture.pixels, before.pixels)
    picture.disc((2.0, 0.0), 0.3, BLACK)
    assert (picture.pixels[:, -1] == 0).any()
    assert before.pixels.min() == 102, "a copy is painted on apart"


def draw(world, state, size, past=()):
    return drawing.DRAWERS[type(world)](np.array(state), world, size, [np.array(s) for s in past])


def changed(first, second):
    """Return how many pixels differ clearly."""
    return int((np.abs(first.astype(int) - second.astype(int)).max(-1) > 60).sum())


def moved(state, column, value):
    other = list(state)
    other[column] = value
    return other


@sizes
@pytest.mark.parametrize(
    ("world", "state", "column", "value"),
    [
        (BilliardBall(), TABLE, 0, -0.5),
        (BilliardBall(), TABLE, 1, 0.3),
        (RobotRemoteControl(), ROOMS, 0, -0.7),
        (RobotRemoteControl(), ROOMS, 3, -0.6),
        (Shepherd(), PASTURE, 0, -0.5),  # agent
        (Shepherd(), PASTURE, 2, 2.4),  # cage
        (Shepherd(), PASTURE, 4, 1.4),  # sheep
        (Shepherd(), PASTURE, 6, 0.62),  # wall
        (Shepherd(), PASTURE, 7, 1),  # gate
    ],
)
def test_everything_that_moves_is_seen_at_every_size(world, state, column, value, size):
    before, after = draw(world, state, size), draw(world, moved(state, column, value), size)
    assert before.shape == (*size, 3)
    assert before.dtype == np.uint8
    assert changed(before, after) >= 8


@sizes
def test_everything_that_stands_is_seen_at_every_size(size):
    """Computer, goal, pockets and lever, against a world without or with smaller ones."""
    empty = draw(BilliardBall(pocket_radius=0.0), TABLE, size)
    assert changed(empty, draw(BilliardBall(), TABLE, size)) >= 6 * 4
    for world, state, kind in (
        (RobotRemoteControl, ROOMS, ((120, 220, 235), (52, 168, 83))),
        (Shepherd, PASTURE, ((214, 160, 0), (142, 190, 108), (176, 108, 74), (84, 50, 34))),
    ):
        picture = draw(world(), state, size).astype(int)
        for color in kind:
            assert (np.abs(picture - color).max(-1) < 40).sum() >= 3, color
        if size[0] >= 240:
            larger = draw(world(radius_factor=2.0), state, size)
            assert changed(picture, larger) > 100, "radii are drawn true to scale"


@sizes
def test_the_picture_tells_no_more_than_the_observation(size):
    hidden = moved(moved(PASTURE, 10, 1.0), 5, 0.0)
    world = Shepherd()
    for x in (1.5, 2.0, 2.5):
        elsewhere = draw(world, moved(hidden, 4, x), size)
        np.testing.assert_array_equal(elsewhere, draw(world, hidden, size))
    assert changed(draw(world, hidden, size), draw(world, moved(hidden, 10, 0.0), size)) > 0
    for column in (8, 9, 11):  # carried, caught, speed
        np.testing.assert_array_equal(
            draw(world, PASTURE, size), draw(world, moved(PASTURE, column, 0.5), size)
        )
    robot = RobotRemoteControl()
    np.testing.assert_array_equal(draw(robot, ROOMS, size), draw(robot, moved(ROOMS, 4, 1), size))
    table = BilliardBall()
    for column in (2, 3, 5):
        np.testing.assert_array_equal(
            draw(table, TABLE, size), draw(table, moved(TABLE, column, 0.9), size)
        )


@sizes
def test_a_trail_shows_the_way_and_nothing_else(size):
    past = [moved(TABLE, 0, x) for x in np.linspace(-0.6, 0.2, 8)]
    bare, trail = draw(BilliardBall(), TABLE, size), draw(BilliardBall(), TABLE, size, past)
    rows = np.nonzero((bare != trail).any((1, 2)))[0]
    assert len(rows)
    assert len(rows) <= max(3, size[1] * 0.03)
    sheep = [moved(PASTURE, 4, x) for x in (1.5, 2.0, 2.5)]
    np.testing.assert_array_equal(
        draw(Shepherd(), PASTURE, size), draw(Shepherd(), PASTURE, size, sheep)
    )


def test_a_start_outside_the_walls_is_drawn_where_the_next_step_puts_it():
    outside = [-4.0, -2.0, -4.02, -1.97, *PASTURE[4:]]
    inside = [-0.95, -0.95, -0.95, -0.95, *PASTURE[4:]]
    size = (128, 256)
    np.testing.assert_array_equal(draw(Shepherd(), outside, size), draw(Shepherd(), inside, size))


def make(name, **kwargs):
    return gymnasium.make(f"iap_gym/{name}-v0", render_mode="rgb_array", **kwargs)


@world_names
def test_render_gives_pictures_of_the_callers_own(name):
    env = make(name, height=64, width=96, trail=3)
    with pytest.raises(ResetNeeded):
        env.unwrapped.render()
    env.reset(seed=0)
    frames = []
    for _ in range(8):
        env.step(env.action_space.sample())
        frames.append(env.render())
        np.testing.assert_array_equal(frames[-1], env.render())
        env.render()[:] = 0
    assert frames[0].shape == (64, 96, 3)
    assert any((frame != frames[0]).any() for frame in frames)
    world = env.unwrapped.world
    state = env.unwrapped.get_state()
    env.unwrapped.set_state(state)
    np.testing.assert_array_equal(env.render(), draw(world, state, (64, 96)), "no past any more")


def test_without_a_render_mode_there_is_no_picture():
    for env in (
        gymnasium.make("iap_gym/Shepherd-v0"),
        gymnasium.make_vec("iap_gym/Shepherd-v0", num_envs=2),
    ):
        env.reset(seed=0)
        with pytest.warns(UserWarning, match='render_mode="rgb_array"'):
            assert env.unwrapped.render() is None


@world_names
def test_the_vector_environment_draws_what_single_ones_draw(name):
    kwargs = {"render_mode": "rgb_array", "height": 48, "width": 64, "max_episode_steps": 15}
    env_id = f"iap_gym/{name}-v0"
    ours = gymnasium.make_vec(env_id, num_envs=3, **kwargs)
    theirs = gymnasium.make_vec(env_id, num_envs=3, vectorization_mode="sync", **kwargs)
    ours.action_space.seed(0)
    for env in (ours, theirs):
        env.reset(seed=1)
    for _ in range(35):
        actions = ours.action_space.sample()
        for env in (ours, theirs):
            env.step(actions)
        for one, two in zip(ours.render(), theirs.render(), strict=True):
            np.testing.assert_array_equal(one, two)


@world_names
def test_pictures_as_observations_keep_the_contract(name):
    def make_pixels():
        env = make(name, height=64, width=64, trail=0)
        return AddRenderObservation(env, render_only=True)

    assert make_pixels().observation_space == gymnasium.spaces.Box(0, 255, (64, 64, 3), np.uint8)
    ran = check_env(make_pixels)
    assert {"seeding", "observations", "spec"} <= set(ran)


def test_patch_attention_looks_at_them():
    from iap_gym.wrappers import IAPObservation

    pixels = AddRenderObservation(make("Shepherd", height=64, width=128, trail=0), render_only=True)
    env = IAPObservation(pixels, {"patch_size": 8, "num_selected": 5})
    observation, _ = env.reset(seed=0)
    assert observation.shape == (10,)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"height": 0}, "height: expected an integer >= 1"),
        ({"width": 2.5}, "width: expected an integer >= 1"),
        ({"trail": -1}, "trail: expected an integer >= 0"),
    ],
)
def test_bad_sizes_are_named(kwargs, message):
    for cls in (iap_gym.envs.planar.ShepherdEnv, iap_gym.envs.planar.ShepherdVectorEnv):
        with pytest.raises(ValueError, match=message):
            cls(**kwargs)
