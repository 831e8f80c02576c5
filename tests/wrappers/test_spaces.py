"""What is taken for an image, and which shapes have their channels first."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from iap_gym.baselines.image_spaces import layout_of
from iap_gym.wrappers import IAPObservation
from iap_gym.wrappers._spaces import find_image, is_image


def bytes_of(*shape):
    return spaces.Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize(
    "shape",
    [
        (1, 84, 84),
        (3, 32, 48),
        (4, 64, 256),
        (3, 8, 8),
        (5, 64, 64),
        (9, 84, 84),
        (9, 60, 80),
        (12, 32, 32),
        (12, 80, 60),
        (27, 84, 84),
        (9, 16, 16),
        (12, 20, 20),
        (8, 11, 11),
    ],
)
def test_shapes_that_are_plainly_channels_first_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(C, H, W\); np.moveaxis\(image, 0, -1\)") as caught:
        find_image(bytes_of(*shape), None)
    assert f"got '{shape}, which looks like" in str(caught.value)
    # What the message says to do is taken.
    last = np.moveaxis(np.zeros(shape, np.uint8), 0, -1).shape
    assert find_image(bytes_of(*last), None)[1].shape == last


@pytest.mark.parametrize(
    "shape",
    [
        (84, 84, 9),
        (7, 7, 20),  # grids, one channel for each kind of object
        (5, 9, 26),
        (21, 79, 64),
        (7, 7, 512),
        (64, 64, 200),  # many colours
        (60, 80, 64),
        (8, 400, 3),  # a strip
        (1, 84, 3),
        (2, 2, 2),
        (3, 3, 3),
    ],
)
def test_odd_shapes_with_channels_last_are_taken(shape):
    assert find_image(bytes_of(*shape), None)[1].shape == shape


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (bytes_of(4, 5, 3), True),
        (bytes_of(4, 5), True),
        (spaces.Box(0.0, 1.0, (32, 40), np.float32), True),
        (spaces.Box(0.0, 0.5, (84, 84), np.float64), True),
        (spaces.Box(0.0, 1.0, (31, 84), np.float32), False),
        (spaces.Box(0.0, 255.0, (84, 84), np.float32), False),
        (spaces.Box(-1.0, 1.0, (84, 84), np.float32), False),
        (spaces.Box(0, 1, (84, 84), np.int8), False),
        (bytes_of(4), False),
        (bytes_of(4, 84, 84, 3), False),
        (spaces.Discrete(3), False),
    ],
)
def test_what_is_an_image_without_being_named(space, expected):
    assert is_image(space) == expected
    if expected:
        assert find_image(spaces.Dict({"a": spaces.Discrete(2), "eye": space}), None)[0] == "eye"


@pytest.mark.parametrize("channels", range(5, 70))
@pytest.mark.parametrize("side", [7, 16, 36, 84])
def test_squares_have_their_channels_where_policies_of_ppo_see_them(side, channels):
    if channels == side:
        return
    assert layout_of(bytes_of(channels, side, side)).channels_first
    with pytest.raises(ValueError, match=r"which looks like \(C, H, W\)"):
        find_image(bytes_of(channels, side, side), None)
    assert not layout_of(bytes_of(side, side, channels)).channels_first
    assert find_image(bytes_of(side, side, channels), None)[1].shape == (side, side, channels)


def test_an_image_of_another_kind_is_refused_for_that():
    space = spaces.Box(-1.0, 1.0, (4, 11, 11), np.float32)
    with pytest.raises(ValueError, match="expected an image of uint8, or of floats bounded by"):
        find_image(space, None)


class Camera(gymnasium.Env):
    """Says one dtype and gives the images that it is told."""

    action_space = spaces.Discrete(2)

    def __init__(self, space, image):
        self.observation_space, self.image = space, image

    def reset(self, *, seed=None, options=None):
        return self.image, {}


@pytest.mark.parametrize("value", [-5e-7, 1 + 5e-7])
def test_what_resizing_leaves_outside_the_range_is_taken(value):
    space = spaces.Box(0.0, 1.0, (16, 24, 3), np.float32)
    env = IAPObservation(Camera(space, np.full(space.shape, value, np.float32)), {"patch_size": 4})
    assert np.isfinite(env.reset()[0]).all()


UNIT = spaces.Box(0.0, 1.0, (16, 24, 3), np.float32)


@pytest.mark.parametrize(
    ("space", "image", "message"),
    [
        (UNIT, np.ones(UNIT.shape, np.uint8), "expected float32 as its space says, got dtype"),
        (UNIT, np.ones(UNIT.shape, np.int64), "expected float32 as its space says, got dtype"),
        (UNIT, np.full(UNIT.shape, 255.0), r"expected finite floats in \[0, 1\], got 'values from"),
        (UNIT, np.full(UNIT.shape, np.nan), r"expected finite floats in \[0, 1\]"),
        (bytes_of(16, 24, 3), np.ones(UNIT.shape, np.float32), "expected uint8 as its space says"),
    ],
)
def test_images_of_another_kind_than_their_space_says_are_refused(space, image, message):
    env = IAPObservation(Camera(space, image), {"patch_size": 4})
    with pytest.raises(ValueError, match=f"^observation: {message}"):
        env.reset()
    both = spaces.Dict({"eye": space, "v": spaces.Box(-1, 1, (1,))})
    env = IAPObservation(Camera(both, {"eye": image, "v": np.zeros(1)}), {"patch_size": 4})
    with pytest.raises(ValueError, match=f"^observation 'eye': {message}"):
        env.reset()
