import gymnasium
import numpy as np
import pytest

from iap_gym.attention import PatchSelector
from iap_gym.wrappers import AttentionOverlay, IAPObservation, mark_patches
from tests.wrappers.pixel_env import HEIGHT, SQUARE, WIDTH, Square

SELECTOR = {"patch_size": 4, "num_selected": 3}
ID = "iap_gym_tests/Square-v0"

if ID not in gymnasium.registry:
    gymnasium.register(ID, "tests.wrappers.pixel_env:Square")


@pytest.fixture
def selector():
    return PatchSelector((8, 12, 1), 2, stride=(2, 4))  # 4 x 3 patches


def test_the_tint_is_a_blend_inside_the_patch_and_nothing_outside(selector):
    frame = np.full((8, 12, 3), 100, np.uint8)
    picture = mark_patches(frame, selector, [0, 5], color=(200, 0, 50), alpha=0.25)
    assert picture is not frame
    assert (frame == 100).all()
    assert picture.dtype == np.uint8
    expected = frame.copy()
    expected[0:2, 0:2] = (200, 0, 50)  # the best, all border at this size
    expected[2:4, 8:10] = (125, 75, 88)  # 0.75 · 100 + 0.25 · color; patch 5 is at row 1, column 2
    np.testing.assert_array_equal(picture, expected)


def test_patches_scale_with_the_picture(selector):
    frame = np.zeros((80, 60, 3), np.uint8)  # 10 and 5 times the image
    picture = mark_patches(frame, selector, [11, 4], alpha=1.0)
    mask = picture.any(axis=-1)
    expected = np.zeros((80, 60), bool)
    expected[60:80, 40:50] = True  # patch 11: image rows 6:8, columns 8:10
    expected[20:40, 20:30] = True  # patch 4: image rows 2:4, columns 4:6
    np.testing.assert_array_equal(mask, expected)


def test_the_best_patch_has_a_solid_border(selector):
    frame = np.zeros((80, 120, 3), np.uint8)
    picture = mark_patches(frame, selector, [0, 1], color=(100, 200, 40), alpha=0.5)
    best = picture[0:20, 0:20]
    border = np.ones((20, 20), bool)
    border[1:-1, 1:-1] = False
    assert (best[border] == (100, 200, 40)).all()
    assert (best[~border] == (50, 100, 20)).all()
    assert (picture[0:20, 40:60] == (50, 100, 20)).all()


def test_a_smaller_picture_still_shows_every_patch(selector):
    frame = np.zeros((3, 4, 3), np.uint8)
    for index in range(selector.num_patches):
        assert mark_patches(frame, selector, [index], alpha=1.0).any()


def test_overlapping_patches_are_tinted_once():
    selector = PatchSelector((4, 6, 1), 4, stride=1, num_selected=3)
    frame = np.full((40, 60, 3), 100, np.uint8)
    picture = mark_patches(frame, selector, [0, 1, 2], color=(0, 0, 0), alpha=0.5)
    assert (picture[:, 45:] == 50).all()
    assert set(np.unique(picture)) == {0, 50}


def test_no_patches_no_change(selector):
    frame = np.random.default_rng(0).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    empty = np.zeros(0, np.int64)
    np.testing.assert_array_equal(mark_patches(frame, selector, empty), frame)
    marked = mark_patches(frame, selector, [3, 4], alpha=0.0)
    assert (marked[0:2, 4:6] == frame[0:2, 4:6]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame": np.zeros((8, 12, 3))}, r"frame: expected uint8 \(h, w, 3\), got .'float64'"),
        ({"frame": np.zeros((8, 12), np.uint8)}, "frame"),
        ({"frame": np.zeros((8, 12, 4), np.uint8)}, r"\(8, 12, 4\)"),
        ({"indices": [12]}, r"indices: expected integers in \[0, 12\)"),
        ({"indices": [[1]]}, r"indices: expected shape \(l,\), got \(1, 1\)"),
        ({"color": (0, 0)}, "color: expected three integers"),
        ({"color": (0, 0, 256)}, r"color: expected an integer in \[0, 255\], got 256"),
        ({"color": "red"}, "color"),
        ({"alpha": 1.5}, r"alpha: expected a number in \[0, 1\], got 1.5"),
        ({"alpha": -0.1}, "alpha"),
    ],
)
def test_bad_arguments_are_named(selector, change, message):
    arguments = {"frame": np.zeros((8, 12, 3), np.uint8), "indices": [0], **change}
    with pytest.raises(ValueError, match=message):
        mark_patches(selector=selector, **arguments)


def make(scale=1, **options):
    env = IAPObservation(Square("dict", scale=scale, render_mode="rgb_array"), SELECTOR)
    return AttentionOverlay(gymnasium.wrappers.TimeLimit(env, 5), **options)


@pytest.mark.parametrize("scale", [1, 3])
def test_render_marks_the_patches_of_the_last_observation(scale):
    env = make(scale)
    env.reset(seed=0)
    for _ in range(4):
        env.step(0)
        inner = env.env.env
        plain = env.unwrapped.render()
        expected = mark_patches(plain, inner.selector, inner.last_indices)
        picture = env.render()
        np.testing.assert_array_equal(picture, expected)
        changed = (picture != plain).any(axis=-1)
        assert 0 < changed.sum() <= 3 * (4 * scale) ** 2


def test_the_marked_patch_is_where_the_square_is():
    env = make(color=[0, 255, 0], alpha=1.0)
    selector = env.get_wrapper_attr("selector")
    selector.set_vector(np.ones(selector.num_parameters))  # brightness
    env.reset(seed=0)
    row, column = env.unwrapped.place
    green = (env.render() == (0, 255, 0)).all(axis=-1)
    assert green[row : row + SQUARE, column : column + SQUARE].mean() > 0.4


def test_before_a_reset_nothing_is_marked():
    env = make()
    env.unwrapped.reset(seed=0)
    np.testing.assert_array_equal(env.render(), env.unwrapped.render())


def test_the_spec_builds_it_again():
    inner = IAPObservation(gymnasium.make(ID, render_mode="rgb_array"), SELECTOR)
    env = AttentionOverlay(inner, color=(0, 0, 255), alpha=0.8)
    twin = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    env.reset(seed=3)
    twin.reset(seed=3)
    np.testing.assert_array_equal(env.render(), twin.render())


def test_it_records_frames():
    env = gymnasium.wrappers.RenderCollection(make(scale=2))
    env.reset(seed=0)
    env.step(1)
    frames = env.render()
    assert [frame.shape for frame in frames] == [(2 * HEIGHT, 2 * WIDTH, 3)] * 2


def test_what_it_needs_is_named():
    plain = Square(render_mode="rgb_array")
    with pytest.raises(ValueError, match="env: expected an environment with an IAPObservation"):
        AttentionOverlay(plain)
    with pytest.raises(ValueError, match="render_mode='rgb_array', got None"):
        AttentionOverlay(IAPObservation(Square(), SELECTOR))
    attended = IAPObservation(plain, SELECTOR)
    with pytest.raises(ValueError, match="alpha"):
        AttentionOverlay(attended, alpha=2.0)
    with pytest.raises(ValueError, match="color"):
        AttentionOverlay(attended, color=(1, 2))


def test_an_empty_selection_marks_nothing(selector):
    frame = np.full((*selector.image_shape[:2], 3), 7, np.uint8)
    marked = mark_patches(frame, selector, [])
    np.testing.assert_array_equal(marked, frame)
    assert marked is not frame


class Cornered(gymnasium.Wrapper):
    """Renders the observation in a corner, and says where."""

    inset = (slice(3, 3 + 2 * HEIGHT), slice(5, 5 + 2 * WIDTH))

    @property
    def unwrapped(self):
        return self

    def render(self):
        picture = np.full((100, 120, 3), 90, np.uint8)
        picture[self.inset] = self.env.render().repeat(2, axis=0).repeat(2, axis=1)
        return picture


def test_patches_are_marked_in_the_corner_that_shows_the_observation():
    inner = Cornered(gymnasium.make(ID, render_mode="rgb_array"))
    env = AttentionOverlay(IAPObservation(inner, selector=SELECTOR))
    env.reset(seed=0)
    plain, marked = inner.render(), env.render()
    attention = env.env
    wanted = plain.copy()
    region = wanted[inner.inset]
    wanted[inner.inset] = mark_patches(region, attention.selector, attention.last_indices)
    np.testing.assert_array_equal(marked, wanted)
    changed = (marked != plain).any(axis=-1)
    assert changed.sum() == 3 * 8 * 8  # patches of 4 x 4, twice as large
    env.close()
