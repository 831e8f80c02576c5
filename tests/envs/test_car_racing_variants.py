"""The variants of CarRacing against the constants of AttentionAgent's published code."""

import functools
import importlib.util
import math
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from iap_gym.testing import check_env

pytestmark = pytest.mark.skipif(
    # To import it in order to look would crash where warnings are errors, as they are here.
    importlib.util.find_spec("Box2D") is None,
    reason="extra carracing is not installed",
)
ID = "iap_gym.envs.car_racing_variants:iap_gym/CarRacing-v0"
STILL = np.zeros(3, np.float32)
GAS = np.array([0, 0.5, 0], np.float32)


def first_frames(variant, seed=0, steps=60):
    """Return the environment and the picture after the camera has come down."""
    env = gymnasium.make(ID, variant=variant)
    env.reset(seed=seed)
    for _ in range(steps):
        image = env.step(STILL)[0]
    return env, image.astype(int)


@pytest.fixture(scope="module")
def plain():
    return first_frames(None)


def share(mask):
    return float(np.mean(mask))


def test_the_contract_holds():
    ran = check_env(functools.partial(gymnasium.make, ID, variant="color"))
    assert {"seeding", "spec", "actions", "observations"} <= set(ran)


def test_without_a_variant_it_is_gymnasiums(plain):
    theirs = gymnasium.make("CarRacing-v3")
    theirs.reset(seed=0)
    for _ in range(60):
        expected = theirs.step(STILL)[0]
    np.testing.assert_array_equal(plain[1], expected)


@pytest.mark.parametrize("variant", ["color", "bar", "blob"])
def test_a_seed_gives_the_same_track_in_every_variant(variant, plain):
    env, image = first_frames(variant)
    assert env.unwrapped.track == plain[0].unwrapped.track
    assert share((image != plain[1]).any(-1)) > 0.01


def test_colors_shift_by_up_to_a_fifth_of_the_range_at_every_reset():
    env = gymnasium.make(ID, variant="color").unwrapped
    shifts = []
    for seed in range(12):
        env.reset(seed=seed)
        road, grass = env.road_color - 102, env.bg_color - np.array([102, 204, 102])
        for shift in (road, grass):
            assert np.ptp(shift) < 1e-9, "the three channels move together"
            assert abs(shift[0]) <= 51
        shifts.append((road[0], grass[0]))
        lightest = max(tile.color[0] for tile in env.road)
        # Tiles differ by up to 2 % of the range among each other, as in the original.
        assert lightest == pytest.approx(102 + road[0] + 0.02 * 255, abs=1e-9)
        assert env.grass_color.tolist() == [102, 230, 102]
    spread = np.std(shifts, axis=0)
    assert (np.abs(spread - 51 / math.sqrt(3)) < 12).all(), "uniform, standard deviation 29"
    assert abs(np.corrcoef(np.transpose(shifts))[0, 1]) < 0.7, "road and grass are independent"


def test_tiles_keep_the_shifted_color_when_they_are_driven_over():
    env, _ = first_frames("color", steps=1)
    for _ in range(50):
        image = env.step(GAS)[0]
    inner = env.unwrapped
    touched = {tile for wheel in inner.car.wheels for tile in wheel.tiles}
    assert touched
    for tile in touched:
        np.testing.assert_allclose(tile.color, inner.road_color)
    assert share((np.abs(image.astype(int) - inner.road_color) < 8).all(-1)) > 0.02


def test_bars_are_black_and_as_wide_as_published(plain):
    _, image = first_frames("bar")
    columns = 96 * 3 / 40  # 7.2: seven columns and a part of the next
    above = image[: 96 - 13]
    assert not above[:, :7].any()
    assert not above[:, -7:].any()
    np.testing.assert_array_equal(above[:, 9:-9], plain[1][: 96 - 13, 9:-9])
    edge = above[:, 7].mean() / plain[1][: 96 - 13, 7].mean()
    assert edge == pytest.approx(1 - (columns - 7), abs=0.15)


def test_the_blob_stays_where_it_is_in_the_frame_of_the_car():
    env, image = first_frames("blob")
    twin, without = first_frames(None)
    rows, columns = np.nonzero((image != without).any(-1))
    middle = rows.mean(), columns.mean()
    red = image[round(middle[0]), round(middle[1])]
    np.testing.assert_allclose(red, [204, 0, 0], atol=3)
    # 8 m at 16.2 pixels of 1000 x 800 a metre, in a picture of 96 x 96.
    assert np.ptp(columns) + 1 == pytest.approx(8 * 16.2 * 96 / 1000, abs=2)
    assert np.ptp(rows) + 1 == pytest.approx(8 * 16.2 * 96 / 800, abs=2)
    # Its middle is 25 m to the right of the car and 11.6 m ahead; the car is at 1/2 and 3/4.
    assert middle[1] == pytest.approx(48 + 25 * 16.2 * 96 / 1000, abs=1)
    assert middle[0] == pytest.approx(96 * 3 / 4 - 11.6 * 16.2 * 96 / 800, abs=1)
    for turn in range(60):
        action = np.array([0.5, 0.5 if turn < 30 else 0.0, 0])
        image, without = env.step(action)[0], twin.step(action)[0]
    assert abs(env.unwrapped.car.hull.angle - env.unwrapped.track[0][1]) > 0.1, "it has turned"
    rows, columns = np.nonzero((image != without).any(-1))
    np.testing.assert_allclose([rows.mean(), columns.mean()], middle, atol=1)


def test_an_episode_of_negative_rewards_is_cut_short():
    env = gymnasium.make(ID, max_negative_rewards=20)
    env.reset(seed=0)
    env.step(STILL)  # the tiles under the car are visited now
    for step in range(1, 22):
        _, reward, terminated, truncated, _ = env.step(STILL)
        assert reward == pytest.approx(-0.1)
        assert not terminated
        assert truncated == (step == 21)
    env.reset(seed=0)
    assert not any(env.step(GAS)[3] for _ in range(25)), "the count starts again with the episode"


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="variant: expected one of None, 'color', 'bar', 'blob'"):
        gymnasium.make(ID, variant="noise")
    with pytest.raises(ValueError, match="max_negative_rewards: expected an integer >= 1"):
        gymnasium.make(ID, max_negative_rewards=0)


def test_an_absent_package_is_named_with_its_extra():
    code = "import sys; sys.modules['Box2D'] = None\nimport iap_gym.envs.car_racing_variants"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "iap-gym[carracing]"' in found.stderr


def test_other_renderers_of_the_process_go_on():
    """A window without a screen would end EGL for MuJoCo; no render mode may open one."""
    import iap_gym  # noqa: F401

    other = gymnasium.make("iap_gym/DistractingCartpoleBalance-v0", height=16, width=16)
    before, _ = other.reset(seed=0)
    env = gymnasium.make(ID, render_mode="rgb_array")
    assert "human" not in env.metadata["render_modes"]
    env.reset(seed=0)
    assert env.render().any()
    env.close()
    after, _ = other.reset(seed=0)
    np.testing.assert_array_equal(before, after)
    other.close()
    with pytest.raises(ValueError, match="render_mode: expected one of None, 'rgb_array'"):
        type(env.unwrapped)(render_mode="human")
