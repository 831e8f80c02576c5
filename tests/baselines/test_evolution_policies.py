"""Policies: what they see, what lies where in their vector, their state, and what they refuse."""

import copy
import pickle

import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import load_file

from iap_gym.attention import PatchSelector
from iap_gym.baselines.evolution.policies import LinearPolicy, MlpPolicy, make_policy
from iap_gym.baselines.evolution.policy import NonFiniteOutputError

# Those of any observation; the others have files of their own.
POLICIES = ("LinearPolicy", "MlpPolicy", "LstmPolicy")
IMAGE = spaces.Box(0, 255, (16, 24, 3), np.uint8)
SMALL = {"patch_size": 4, "num_selected": 3, "pixel_offset": 0.5}
MIXED = spaces.Dict(
    {
        "camera": IMAGE,
        "after": spaces.Box(-1, 1, (2,), np.float32),
        "zeta": spaces.Box(-1, 1, (2, 2), np.float64),
    }
)
FLAT = spaces.Box(-np.inf, np.inf, (5,), np.float32)
ACTION = spaces.Box(-2, 2, (2,), np.float32)


def build(name="LinearPolicy", observation=IMAGE, action=ACTION, seed=0, **kwargs):
    if observation is not FLAT and name != "CnnPolicy":
        kwargs.setdefault("selector", SMALL)
    policy = make_policy(name, observation, action, kwargs)
    rng = np.random.default_rng(seed)
    policy.set_vector(policy.parameter_scale() * rng.normal(size=policy.num_parameters))
    return policy


def batch(space, size, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(space, spaces.Dict):
        return {key: batch(inner, size, seed) for key, inner in space.spaces.items()}
    if space.dtype == np.uint8:
        return rng.integers(0, 256, (size, *space.shape), dtype=np.uint8)
    return rng.uniform(-1, 1, (size, *space.shape)).astype(space.dtype)


def take(observations, rows):
    if isinstance(observations, dict):
        return {key: value[rows] for key, value in observations.items()}
    return observations[rows]


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("observation", [FLAT, IMAGE, MIXED], ids=["flat", "image", "dict"])
def test_rows_of_a_batch_act_as_they_do_alone(name, observation):
    policy = build(name, observation)
    state = None
    alone = [None] * 4
    for t in range(3):
        observations = batch(observation, 4, seed=t)
        actions, state = policy.act(observations, state)
        assert ACTION.contains(actions[0])
        for i in range(4):
            action, alone[i] = policy.act(take(observations, slice(i, i + 1)), alone[i])
            np.testing.assert_allclose(action[0], actions[i], rtol=1e-5, atol=1e-6)
    for rows, single in zip(state, alone[2], strict=True):
        np.testing.assert_allclose(rows[2], single[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("observation", [FLAT, IMAGE])
def test_episode_start_forgets_the_row_and_only_it(name, observation):
    policy = build(name, observation)
    _, state = policy.act(batch(observation, 3, seed=0), None)
    kept = copy.deepcopy(state)
    later = batch(observation, 3, seed=1)
    fresh, _ = policy.act(later, None)
    carried, _ = policy.act(later, state)
    actions, _ = policy.act(later, state, np.array([False, True, False]))
    np.testing.assert_array_equal(actions, np.stack([carried[0], fresh[1], carried[2]]))
    for before, after in zip(kept, state, strict=True):
        np.testing.assert_array_equal(before, after)  # the caller's arrays are left alone
    if len(state):
        assert not np.allclose(carried[1], fresh[1])


def test_features_are_centres_their_change_and_the_other_entries():
    policy = build(observation=MIXED, velocity_gain=2.0)
    selector = PatchSelector((16, 24, 3), **SMALL)
    selector.set_vector(policy.get_vector()[: selector.num_parameters])
    weight = policy.get_vector()[selector.num_parameters :]
    assert weight.size == 2 * (6 + 6 + 2 + 4) + 2
    matrix, bias = weight[:36].reshape(2, 18), weight[36:]
    state, previous = None, None
    for t in range(3):
        observations = batch(MIXED, 2, seed=t)
        indices = selector.select(observations["camera"])
        centers = selector.centers(indices).numpy().reshape(2, -1)
        change = np.zeros_like(centers) if previous is None else centers - previous
        rest = [observations["after"], observations["zeta"].reshape(2, -1)]
        x = np.concatenate([centers, 2 * change, *rest], axis=1)
        actions, state = policy.act(observations, state)
        np.testing.assert_allclose(actions, 2 * np.tanh(x @ matrix.T + bias), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(policy.last_indices, indices.numpy())
        previous = centers


def test_signed_places_are_zero_in_the_middle():
    unit, signed = build(velocity=None), build(velocity=None, places="signed")
    observations = batch(IMAGE, 3)
    places = unit._features.read(observations, ())[0]
    np.testing.assert_allclose(signed._features.read(observations, ())[0], 2 * places - 1)
    before, after = build(velocity="previous"), build(velocity="previous", places="signed")
    states = [policy.act(batch(IMAGE, 3, seed=1))[1] for policy in (before, after)]
    moved = [
        policy._features.read(observations, state)[0][:, 6:]
        for policy, state in zip((before, after), states, strict=True)
    ]
    np.testing.assert_allclose(moved[1], 2 * moved[0], atol=1e-5)


def test_the_default_of_an_image():
    policy = LinearPolicy(spaces.Box(0, 255, (64, 64, 3), np.uint8), spaces.Box(-1, 1, (6,)))
    assert policy.num_parameters == 630  # 2 x 48 x 4 and 6 x (40 + 1)
    assert policy.selector.patch_size == (4, 4)
    assert policy.selector.pixel_offset == 0.5
    assert build("LstmPolicy", hidden_size=8).initial_state(2)[0].shape == (2, 8)  # no velocity
    without = build(velocity=None)
    assert without.initial_state(1) == ()
    assert without.num_parameters == build().num_parameters - 2 * 6


def test_flat_observations_have_no_selector():
    policy = build("MlpPolicy", FLAT, hidden_size=[4, 3])
    assert policy.selector is None
    assert policy.last_indices is None
    assert policy.num_parameters == 4 * 6 + 3 * 5 + 2 * 4
    assert build(observation=spaces.Box(-1, 1, (2, 3), np.float32), selector=None).act(
        np.ones((1, 2, 3), np.float32)
    )[0].shape == (1, 2)


@pytest.mark.parametrize("name", POLICIES)
def test_vector_round_trip_and_scale(name):
    policy = build(name)
    vector = policy.get_vector()
    assert vector.dtype == np.float32
    assert vector.shape == policy.parameter_scale().shape == (policy.num_parameters,)
    vector[:] = 0
    assert policy.get_vector().any()  # a copy
    assert policy.parameter_scale()[:384] == pytest.approx(48**-0.5)
    for wrong in (np.zeros(3), np.zeros((1, policy.num_parameters)), 0.0):
        with pytest.raises(ValueError, match="^vector: expected shape"):
            policy.set_vector(wrong)


def test_learnt_query_weights_are_searched_in_units_of_one():
    policy = build(selector={**SMALL, "learn_r": True, "bias": True})
    assert policy.parameter_scale()[2 * 192 + 8 - 1] == pytest.approx(48**-0.5)
    assert policy.parameter_scale()[2 * 192 + 8 : 2 * 192 + 8 + 24].tolist() == [1.0] * 24


@pytest.mark.parametrize("kernel", ["relu", "hybrid"])
def test_state_dict_holds_random_features_too(tmp_path, kernel):
    selector = {**SMALL, "kernel": kernel}
    policy = build(selector={**selector, "seed": 1})
    other = build(selector={**selector, "seed": 2}, seed=3)
    observations = batch(IMAGE, 3)
    other.load_state_dict(policy.state_dict())
    np.testing.assert_array_equal(other.act(observations)[0], policy.act(observations)[0])
    np.testing.assert_array_equal(other.get_vector(), policy.get_vector())
    policy.save_weights(tmp_path / "weights.safetensors")
    saved = load_file(tmp_path / "weights.safetensors")
    assert saved.keys() == policy.state_dict().keys()
    assert saved["selector.W_q"].shape == (48, 4)
    with pytest.raises(ValueError, match="^arrays: expected names and shapes"):
        build("MlpPolicy", selector=selector).load_state_dict(saved)


def test_policies_travel():
    policy = build(observation=MIXED, selector={**SMALL, "kernel": "hybrid"})
    observations = batch(MIXED, 2)
    expected = policy.act(observations)[0]
    for twin in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        np.testing.assert_array_equal(twin.act(observations)[0], expected)
    twin.set_vector(np.zeros(policy.num_parameters))
    np.testing.assert_array_equal(policy.act(observations)[0], expected)


def test_strided_images_are_taken():
    policy = build()
    images = batch(IMAGE, 2)
    flipped = np.ascontiguousarray(images[:, ::-1])
    np.testing.assert_array_equal(policy.act(images[:, ::-1])[0], policy.act(flipped)[0])


def test_outputs_that_are_not_finite_stop():
    policy = build(observation=FLAT)
    with pytest.raises(NonFiniteOutputError, match="not finite"):
        policy.act(np.full((1, 5), np.nan, np.float32))
    policy.set_vector(np.full(policy.num_parameters, 1e38))
    with pytest.raises(NonFiniteOutputError, match="not finite"):
        policy.act(np.full((1, 5), 10, np.float32))


@pytest.mark.parametrize("name", [*POLICIES, "CnnPolicy"])
@pytest.mark.parametrize(("scale", "factors"), [(0.5, [0.5] * 6), ([3, 0, 1, -1, 2, 0.1],) * 2])
def test_factors_on_numbers_beside_the_image_are_as_if_they_were_observed_so(name, scale, factors):
    small = {"channels": [2], "strides": [2]} if name == "CnnPolicy" else {}
    plain = build(name, MIXED, **small)
    scaled = build(name, MIXED, **small, vector_scale=scale)
    observations = batch(MIXED, 3)
    assert len(factors) == observations["after"].shape[1] + observations["zeta"][0].size
    after, zeta = np.split(np.array(factors, np.float32), [observations["after"].shape[1]])
    changed = {
        **observations,
        "after": observations["after"] * after,
        "zeta": observations["zeta"] * zeta.reshape(observations["zeta"].shape[1:]),
    }
    np.testing.assert_allclose(scaled.act(observations)[0], plain.act(changed)[0], atol=1e-5)
    assert not np.allclose(scaled.act(observations)[0], plain.act(observations)[0])


TWO = spaces.Dict({"left": IMAGE, "right": IMAGE})


@pytest.mark.parametrize(
    ("observation", "kwargs", "message"),
    [
        (TWO, {}, r"^image_key: expected one of the images \['left', 'right'\], got None"),
        (spaces.Box(0, 255, (3, 32, 48), np.uint8), {}, r"channels last.*looks like \(C, H, W\)"),
        (TWO, {"image_key": "up"}, "^image_key: expected one of .* got 'up'"),
        (IMAGE, {"image_key": "up"}, "^image_key: expected None"),
        (FLAT, {"selector": {"patch_size": 2}}, "^selector: expected an observation with an image"),
        (FLAT, {"image_key": "up"}, "^image_key: expected an observation with an image"),
        (
            spaces.Dict({"a": spaces.Sequence(spaces.Discrete(3))}),
            {},
            "^observation 'a': expected a space that gymnasium can flatten",
        ),
        (IMAGE, {"selector": 3}, "^selector: expected a dict"),
        (IMAGE, {"selector": {"patch": 3}}, r"^selector: expected arguments among .*'patch'"),
        (FLAT, {"velocity": "x"}, "^velocity: expected"),
        (IMAGE, {"velocity": "next"}, "^velocity: expected"),
        (FLAT, {"places": "x"}, "^places: expected one of 'unit', 'signed'"),
        (IMAGE, {"velocity_gain": float("inf")}, "^velocity_gain: expected"),
        (IMAGE, {"vector_scale": 2.0}, "^vector_scale: expected None where there is nothing"),
        (MIXED, {"vector_scale": [1.0, 2.0]}, r"^vector_scale: expected .*\(6,\)"),
        (MIXED, {"vector_scale": "x"}, "^vector_scale: expected a finite number"),
        (FLAT, {"vector_scale": float("nan")}, "^vector_scale: expected a finite number"),
        (IMAGE, {"selector": {"patch_size": 99}}, "patch"),
        (IMAGE, {"hidden_size": 3}, r"^policy_kwargs: expected keys .* got \['hidden_size'\]"),
    ],
)
def test_bad_arguments_are_named(observation, kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_policy("LinearPolicy", observation, ACTION, kwargs)


def test_the_other_one_of_two_images_is_not_looked_at():
    policy = build(observation=TWO, image_key="right")
    assert policy.num_parameters == build().num_parameters
    images = batch(IMAGE, 2, seed=1)
    expected = build().act(images)[0]
    got = policy.act({"left": batch(IMAGE, 2, seed=2), "right": images})[0]
    np.testing.assert_array_equal(got, expected)


def test_unknown_policies_and_sizes_are_named():
    with pytest.raises(ValueError, match="^policy: expected one of 'LinearPolicy'"):
        make_policy("GruPolicy", IMAGE, ACTION)
    with pytest.raises(ValueError, match="^hidden_size: expected"):
        MlpPolicy(FLAT, ACTION, hidden_size=0)
