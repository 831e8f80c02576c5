"""The convolutional policy: its equations, its vector, rows of a batch, and what it refuses."""

import numpy as np
import pytest
import torch
from gymnasium import spaces

from iap_gym.baselines import EvolutionStrategies
from iap_gym.baselines.evolution.convolution import convolve, pool
from iap_gym.baselines.evolution.policies import CnnPolicy, LinearPolicy, make_policy
from tests.baselines.pixel_envs import FollowBlob

IMAGE = spaces.Box(0, 255, (32, 32, 3), np.uint8)
MIXED = spaces.Dict({"camera": IMAGE, "zeta": spaces.Box(-1, 1, (2, 2), np.float32)})
DEPTH = spaces.Box(0.0, 1.0, (20, 24, 1), np.float32)
GRAY = spaces.Box(0, 255, (20, 24), np.uint8)
ACTION = spaces.Box(-2, 2, (3,), np.float32)


def build(observation=IMAGE, seed=0, **kwargs):
    policy = make_policy("CnnPolicy", observation, ACTION, kwargs)
    policy.set_vector(policy.initial_vector(np.random.default_rng(seed)))
    return policy


def batch(space, size, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(space, spaces.Dict):
        return {key: batch(inner, size, seed) for key, inner in space.spaces.items()}
    if space.dtype == np.uint8:
        return rng.integers(0, 256, (size, *space.shape), dtype=np.uint8)
    return rng.uniform(0, 1, (size, *space.shape)).astype(space.dtype)


def torch_kernel(weight, size):
    """A kernel by row, column and channel as torch wants it: by channel, row and column."""
    return torch.from_numpy(weight.copy()).reshape(len(weight), size, size, -1).permute(0, 3, 1, 2)


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (4, 3), (7, 2)])
def test_a_convolution_is_that_of_torch(size, stride):
    rng = np.random.default_rng(size)
    x = rng.normal(size=(2, 13, 11, 5)).astype(np.float32)
    weight = rng.normal(size=(4, size * size * 5)).astype(np.float32)
    bias = rng.normal(size=4).astype(np.float32)
    expected = torch.nn.functional.conv2d(
        torch.from_numpy(x).permute(0, 3, 1, 2),
        torch_kernel(weight, size),
        torch.from_numpy(bias),
        stride,
    )
    got = convolve(x, weight, bias, size, stride)
    np.testing.assert_allclose(got, expected.permute(0, 2, 3, 1), rtol=1e-4, atol=1e-4)
    pooled = torch.nn.functional.max_pool2d(torch.from_numpy(x).permute(0, 3, 1, 2), size, stride)
    np.testing.assert_array_equal(pool(x, size, stride), pooled.permute(0, 2, 3, 1))


def test_the_whole_policy_is_the_network_that_its_docstring_says():
    policy = build(MIXED, channels=[4, 5, 6], kernel_sizes=[5, 3, 2], strides=[2, 1, 1])
    arrays = {name: torch.from_numpy(array) for name, array in policy.state_dict().items()}
    observations = batch(MIXED, 3)
    x = torch.from_numpy(observations["camera"]).permute(0, 3, 1, 2) / 255 - 0.5
    for i, (size, stride) in enumerate([(5, 2), (3, 1), (2, 1)]):
        kernel = torch_kernel(arrays[f"convolution.{i}.weight"].numpy(), size)
        x = torch.conv2d(x, kernel, arrays[f"convolution.{i}.bias"], stride).relu()
    x = torch.nn.functional.max_pool2d(x, 2).permute(0, 2, 3, 1).flatten(1)
    x = (x @ arrays["features.weight"].T + arrays["features.bias"]).tanh()
    assert x.shape == (3, 8)
    x = torch.cat([x, torch.from_numpy(observations["zeta"]).flatten(1)], dim=1)
    logits = x @ arrays["controller.0.weight"].T + arrays["controller.0.bias"]
    actions, state = policy.act(observations)
    np.testing.assert_allclose(actions, 2 * logits.tanh(), rtol=1e-4, atol=1e-5)
    assert state == ()


@pytest.mark.parametrize("observation", [IMAGE, MIXED, DEPTH, GRAY], ids=["rgb", "dict", "d", "g"])
def test_rows_of_a_batch_act_exactly_as_they_do_alone(observation):
    policy = build(observation)
    observations = batch(observation, 4)
    actions, _ = policy.act(observations)
    assert len({action.tobytes() for action in actions}) == 4
    for i in range(4):
        if isinstance(observation, spaces.Dict):
            row = {key: value[i : i + 1] for key, value in observations.items()}
        else:
            row = observations[i : i + 1]
        np.testing.assert_array_equal(policy.act(row)[0][0], actions[i])


def test_the_vector_holds_every_layer():
    policy = build()
    sizes = [27 * 16 + 16, 144 * 24 + 24, 216 * 16 + 16, 64 * 8 + 8, 8 * 3 + 3]
    assert policy.num_parameters == policy.get_vector().size == sum(sizes)
    vector = np.random.default_rng(1).normal(size=policy.num_parameters).astype(np.float32)
    policy.set_vector(vector)
    np.testing.assert_array_equal(policy.get_vector(), vector)
    np.testing.assert_array_equal(
        np.concatenate([array.ravel() for array in policy.state_dict().values()]), vector
    )
    scale = policy.parameter_scale()
    ends = np.cumsum(sizes)[:-1]
    for part, fan_in in zip(np.split(scale, ends), [27, 144, 216, 64, 8], strict=True):
        assert part == pytest.approx(fan_in**-0.5)
    other = build(seed=5)
    other.load_state_dict(policy.state_dict())
    np.testing.assert_array_equal(other.get_vector(), vector)
    with pytest.raises(ValueError, match="^arrays: expected names and shapes"):
        build(feature_size=9).load_state_dict(policy.state_dict())


def test_it_starts_with_the_variance_of_relu_layers():
    policy = build(channels=[64, 64, 64])
    for name, array in policy.state_dict().items():
        if name.endswith("weight") and not name.startswith("controller"):
            assert array.std() == pytest.approx((2 / array.shape[1]) ** 0.5, rel=0.1)
        elif not name.startswith("controller"):
            assert not array.any()


def test_it_has_ten_times_the_numbers_of_attention():
    spaces_ = (spaces.Dict({"camera": IMAGE}), ACTION)
    attention = LinearPolicy(*spaces_, velocity=None)
    low = 16 * (2 + 19)  # of the quadruped's low level, which both have
    assert CnnPolicy(*spaces_).num_parameters + low >= 10 * (attention.num_parameters + low)


def test_it_learns_where_the_blob_is():
    es = EvolutionStrategies(
        "CnnPolicy",
        FollowBlob,
        sigma=0.5,
        learning_rate=0.3,
        weight_decay=0.0,
        population_size=16,
        common_seeds="pair",
        seed=0,
        policy_kwargs={"channels": [4, 4, 4]},
    )
    es.learn(14_000)
    assert es.history[-1]["mean_return"] > es.history[0]["mean_return"] + 2


@pytest.mark.parametrize(
    ("observation", "kwargs", "message"),
    [
        (spaces.Box(-1, 1, (5,), np.float32), {}, "^observation: expected an image"),
        (IMAGE, {"channels": []}, "^channels: expected at least one convolution"),
        (IMAGE, {"channels": [4, 0]}, r"^channels\[1\]: expected an integer >= 1"),
        (IMAGE, {"kernel_sizes": [3, 3]}, "^kernel_sizes: expected one integer, or one for each"),
        (IMAGE, {"kernel_sizes": 33}, "^kernel_sizes: expected layers that leave something"),
        (IMAGE, {"pool_size": 9}, "^kernel_sizes: expected layers that leave something"),
        (IMAGE, {"strides": 0}, "^strides: expected an integer >= 1"),
        (IMAGE, {"feature_size": 0}, "^feature_size: expected"),
        (IMAGE, {"pool_stride": 1.5}, "^pool_stride: expected"),
        (IMAGE, {"selector": {}}, r"^policy_kwargs: expected keys .* got \['selector'\]"),
        (IMAGE, {"squash": "relu"}, "^squash: expected one of 'tanh', 'clip'"),
    ],
)
def test_bad_arguments_are_named(observation, kwargs, message):
    with pytest.raises(ValueError, match=message):
        build(observation, **kwargs)
