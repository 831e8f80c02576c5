"""What policies of evolution strategies take for an image, and observations that they refuse."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from iap_gym.baselines import EvolutionStrategies
from iap_gym.baselines.evolution.policies import make_policy

ACTION = spaces.Discrete(2)
RGB = spaces.Box(0, 255, (32, 40, 3), np.uint8)
GRAY = spaces.Box(0, 255, (32, 40), np.uint8)
DEPTH = spaces.Box(0.0, 1.0, (32, 40), np.float32)
UNIT = spaces.Box(0.0, 1.0, (32, 40, 1), np.float32)
STACK = spaces.Box(0, 255, (4, 32, 40, 3), np.uint8)
VECTOR = spaces.Box(-1, 1, (2,), np.float32)
SMALL = {
    "LinearPolicy": {"velocity": None, "selector": {"patch_size": 4, "num_selected": 3}},
    "CnnPolicy": {"channels": [2], "strides": 2, "feature_size": 6},
}
IMAGES = pytest.mark.parametrize(
    "image", [RGB, GRAY, DEPTH, UNIT], ids=["rgb", "gray", "depth", "unit"]
)
POLICIES = pytest.mark.parametrize("policy", list(SMALL))


def build(policy, space, **kwargs):
    return make_policy(policy, space, ACTION, {**SMALL[policy], **kwargs})


def sample(space, size=2):
    space.seed(0)
    if isinstance(space, spaces.Dict):
        return {key: sample(part, size) for key, part in space.items()}
    return np.stack([space.sample() for _ in range(size)])


@POLICIES
@IMAGES
def test_every_kind_of_image_is_read_as_one(policy, image):
    alone = build(policy, image)
    assert alone._features.size == 6  # three places, or six features; no pixels
    assert alone.images(sample(image)).shape == (2, 32, 40, (*image.shape, 1)[2])
    assert alone.act(sample(image))[0].shape == (2,)
    beside = build(policy, spaces.Dict({"a": VECTOR, "eye": image}))
    assert beside._features.size == 6 + 2


@POLICIES
@IMAGES
def test_no_pixels_of_a_second_image_come_beside_the_first(policy, image):
    both = spaces.Dict({"eye": image, "other": DEPTH, "third": RGB, "vector": VECTOR})
    for key in ("eye", "other"):
        assert build(policy, both, image_key=key)._features.size == 6 + 2
    with pytest.raises(ValueError, match=r"^image_key: expected one of the images \['eye', 'oth"):
        build(policy, both)


def test_an_image_that_only_its_key_names_is_not_beside_itself():
    table = spaces.Box(0.0, 1.0, (6, 7), np.float32)
    features = build("CnnPolicy", spaces.Dict({"t": table, "v": VECTOR}), image_key="t")._features
    assert features.size == 6 + 2


@pytest.mark.parametrize(
    "table",
    [
        spaces.Box(0.0, 1.0, (10, 10), np.float32),
        spaces.Box(-1.0, 1.0, (9, 9), np.float32),
        spaces.Box(0, 1, (9, 9), np.int8),
    ],
    ids=["small", "signed", "integers"],
)
def test_a_table_of_numbers_is_no_image(table):
    policy = make_policy("LinearPolicy", table, ACTION)
    assert policy._features.size == np.prod(table.shape)
    assert policy.selector is None


@POLICIES
def test_a_small_table_is_an_image_where_the_user_says_so(policy):
    table = spaces.Box(0.0, 1.0, (10, 12), np.float32)
    assert build(policy, table)._features.size == 6
    both = spaces.Dict({"t": table, "v": VECTOR})
    assert build(policy, both, image_key="t")._features.size == 6 + 2
    beside = spaces.Dict({"eye": RGB, "t": table})
    assert build(policy, beside)._features.size == 6 + 120


def test_a_selector_without_an_image_is_named():
    for space in (VECTOR, spaces.Dict({"v": VECTOR})):
        with pytest.raises(ValueError, match="^selector: expected an observation with an image"):
            build("LinearPolicy", space)


def test_plain_numbers_may_have_four_axes():
    numbers = spaces.Box(-1.0, 1.0, (2, 2, 2, 2))
    assert make_policy("LinearPolicy", numbers, ACTION)._features.size == 16
    both = spaces.Dict({"eye": RGB, "n": numbers})
    assert build("LinearPolicy", both)._features.size == 6 + 16


NESTED = spaces.Dict({"b": VECTOR, "c": RGB})
PAIR = spaces.Tuple([VECTOR, spaces.Discrete(2)])


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (PAIR, "^observation: expected no spaces inside.*FlattenObservation.* got Tuple"),
        (spaces.OneOf([VECTOR, spaces.Discrete(2)]), "^observation: expected no spaces inside"),
        (spaces.Dict({"a": NESTED}), "^observation 'a': expected no spaces inside.* got Dict"),
        (spaces.Dict({"a": PAIR, "v": VECTOR}), "^observation 'a': expected no spaces inside"),
        (STACK, r"^observation: expected at most three axes: one image \(H, W, C\), the frames"),
        (spaces.Dict({"s": STACK}), "^observation 's': expected at most three axes"),
    ],
    ids=["tuple", "one of", "nested", "tuple in dict", "stack", "stack in dict"],
)
def test_spaces_that_are_not_read_are_named_before_a_search(space, message):
    class Still(gymnasium.Env):
        observation_space, action_space = space, ACTION

    with pytest.raises(ValueError, match=message):
        EvolutionStrategies("LinearPolicy", Still)
    if isinstance(space, spaces.Dict):
        with_image = spaces.Dict({**space.spaces, "eye": RGB})
        for policy in SMALL:
            with pytest.raises(ValueError, match=message):
                build(policy, with_image)


def test_a_flattened_tuple_is_taken():
    class Cards(gymnasium.Env):
        observation_space, action_space = PAIR, ACTION

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return (np.zeros(2, np.float32), 1), {}

        def step(self, action):
            return (np.zeros(2, np.float32), 1), 1.0, True, False, {}

    es = EvolutionStrategies(
        "LinearPolicy", gymnasium.wrappers.FlattenObservation(Cards()), population_size=2, seed=0
    )
    assert es.learn(1).num_timesteps == 3


def wrong(space, kind):
    """A batch that is not of the space."""
    if kind == "shape":
        return np.swapaxes(sample(space), 1, 2)
    if kind == "more":
        return np.stack([sample(space)] * 2, axis=1)
    if kind == "size":
        return np.concatenate([sample(space)] * 2, axis=1)
    if kind == "dtype":
        images = sample(space)
        return (images / 255).astype(np.float32) if space.dtype == np.uint8 else _bytes(images)
    if kind == "integers":
        return sample(space).astype(np.int64)
    images = sample(space)
    images[0, 0, 0] = {"large": 255.0, "negative": -0.1, "nan": np.nan}[kind]
    return images


def _bytes(images):
    return (images * 255).astype(np.uint8)


ANY_KIND = ("shape", "more", "size", "dtype", "integers")
OF_FLOATS = ("large", "negative", "nan")
WRONG = [(image, kind) for image in (RGB, GRAY, DEPTH, UNIT) for kind in ANY_KIND]
WRONG += [(image, kind) for image in (DEPTH, UNIT) for kind in OF_FLOATS]


@POLICIES
@pytest.mark.parametrize(("image", "kind"), WRONG)
@pytest.mark.parametrize("in_dict", [False, True])
def test_images_that_are_not_what_the_space_says_are_refused(policy, image, in_dict, kind):
    space, batch, name = image, wrong(image, kind), "observation"
    if in_dict:
        space, name = spaces.Dict({"eye": image, "v": VECTOR}), "observation 'eye'"
        batch = {"eye": batch, "v": sample(VECTOR)}
    wanted = {"dtype": str(image.dtype), "integers": str(image.dtype)}
    wanted |= dict.fromkeys(OF_FLOATS, r"finite floats in \[0, 1\]")
    actor = build(policy, space)
    with pytest.raises(ValueError, match=f"^{name}: expected {wanted.get(kind, 'shape')}"):
        actor.act(batch)


@POLICIES
def test_floats_may_come_in_another_precision(policy):
    actor, images = build(policy, DEPTH), sample(DEPTH)
    expected = actor.act(images)[0]
    np.testing.assert_array_equal(actor.act(images.astype(np.float64))[0], expected)
