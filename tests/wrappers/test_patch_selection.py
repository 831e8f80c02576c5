import copy
import json
import pickle
import signal

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from iap_gym.attention import PatchSelector
from iap_gym.testing import check_wrapper
from iap_gym.wrappers import IAPObservation, VectorIAPObservation
from tests.wrappers.pixel_env import BYTES, HEIGHT, VECTOR, WIDTH, Square

SELECTOR = {"patch_size": 4, "num_selected": 3, "pixel_offset": 0.5}
ID = "iap_gym_tests/Square-v0"

if ID not in gymnasium.registry:
    gymnasium.register(ID, "tests.wrappers.pixel_env:Square")


def wrap(observation="bytes", **options):
    return IAPObservation(Square(observation), options.pop("selector", SELECTOR), **options)


def rollout(env, steps=20, seed=3):
    observations = [env.reset(seed=seed)[0]]
    env.action_space.seed(seed)
    for _ in range(steps):
        observation, _, terminated, _, _ = env.step(env.action_space.sample())
        observations.append(observation)
        if terminated:
            observations.append(env.reset()[0])
    return observations


@pytest.mark.parametrize(
    ("observation", "features", "keep_dict"),
    [
        ("bytes", "centers", False),
        ("unit", "both", False),
        ("gray", "patches", False),
        ("rich", "both", False),
        ("dict", "centers", True),
        ("rich", "both", True),
    ],
)
def test_it_keeps_the_contract_of_a_wrapper(observation, features, keep_dict):
    # Stable-Baselines3 knows no Tuple and no Discrete that starts at 1, which are kept there.
    skip = ("stable_baselines3",) if (observation, keep_dict) == ("rich", True) else ()
    check_wrapper(
        lambda: gymnasium.make(ID, observation=observation),
        lambda env: IAPObservation(env, SELECTOR, features=features, keep_dict=keep_dict),
        skip=skip,
    )


@pytest.mark.parametrize("features", ["centers", "patches", "both"])
def test_the_numbers_are_those_of_the_selector(features):
    env = wrap("dict", features=features)
    selector = env.selector
    assert selector.image_shape == (HEIGHT, WIDTH, 3)
    assert env.last_indices is None
    bare = Square("dict")
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        inner, _ = bare.reset(seed=seed)
        indices = selector.select(inner["camera"][None])
        np.testing.assert_array_equal(env.last_indices, indices[0])
        centers = selector.centers(indices).numpy().ravel()  # row, column of the best, then ...
        pixels = selector.patches(inner["camera"][None], indices).numpy().ravel()
        expected = {
            "centers": [centers],
            "patches": [pixels],
            "both": [centers, pixels],
        }[features]
        np.testing.assert_array_equal(
            observation, np.concatenate([*expected, inner["proprio"]]).astype(np.float32)
        )
        assert observation.dtype == np.float32


def test_the_selected_centers_follow_the_square():
    selector = PatchSelector((HEIGHT, WIDTH, 3), SELECTOR["patch_size"], num_selected=1)
    selector.set_vector(np.ones(selector.num_parameters))  # brightness
    env = IAPObservation(Square(), selector)
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        middle = (env.unwrapped.place + 2) / (HEIGHT, WIDTH)
        assert np.abs(observation - middle).max() <= 2.5 / HEIGHT


def test_bounds_are_tight():
    space = wrap("dict", features="both").observation_space
    count = 3 * (2 + 48)
    assert space.shape == (count + 2,)
    assert space.dtype == np.float32
    assert (space.low[:count] == 0).all()
    assert (space.high[:count] == 1).all()
    np.testing.assert_array_equal(space.low[count:], VECTOR.low.astype(np.float32))
    np.testing.assert_array_equal(space.high[count:], VECTOR.high.astype(np.float32))


def test_other_keys_follow_in_key_order_as_gymnasium_flattens_them():
    env = wrap("rich")
    bare = Square("rich")
    names = ["aim", "both", "buttons", "turn"]
    assert [key for key in bare.observation_space if key != "camera"] == names
    for outer, inner in zip(rollout(env), rollout(bare), strict=True):
        rest = np.concatenate(
            [spaces.flatten(bare.observation_space[key], inner[key]) for key in names]
        )
        np.testing.assert_array_equal(outer[6:], rest.astype(np.float32))
        assert outer in env.observation_space
    flat = [spaces.flatten_space(bare.observation_space[key]) for key in names]
    np.testing.assert_array_equal(
        env.observation_space.high[6:], np.concatenate([part.high for part in flat])
    )


def test_keep_dict_leaves_the_other_keys_alone():
    env = wrap("odd", keep_dict=True)
    assert set(env.observation_space) == {"attention", "mission"}
    assert env.observation_space["mission"] == Square("odd").observation_space["mission"]
    observation, _ = env.reset(seed=0)
    assert observation["mission"] == "go"
    np.testing.assert_array_equal(observation["attention"], wrap("bytes").reset(seed=0)[0])
    assert observation in env.observation_space


def test_a_key_chooses_between_images():
    left = wrap("two", image_key="left")
    assert left.selector.image_shape == (HEIGHT, WIDTH, 3)
    right = wrap("two", image_key="right")
    assert right.selector.image_shape == (HEIGHT, WIDTH, 1)
    # the other image is one of the other keys, with bounds of its own
    observation, _ = right.reset(seed=0)
    assert observation.shape == (6 + HEIGHT * WIDTH * 3 + 2,)
    assert observation in right.observation_space
    assert right.observation_space.high[6] == 255


@pytest.mark.parametrize(
    ("observation", "options", "message"),
    [
        ("vector", {}, r"observation: expected an image, a Box of shape \(H, W, C\).*got Box"),
        ("no_image", {}, "env: expected an observation space with an image.*got Dict"),
        ("two", {}, r"image_key: expected one of the images \['left', 'right'\], got None"),
        ("dict", {"image_key": "kamera"}, r"one of \['camera', 'proprio'\], got 'kamera'"),
        ("dict", {"image_key": "proprio"}, "observation 'proprio': expected an image"),
        ("bytes", {"image_key": "camera"}, "image_key: expected None.*got 'camera'"),
        ("loose", {}, r"observation: expected an image of uint8, or of floats bounded by \[0, 1\]"),
        ("integers", {}, "observation: expected an image of uint8"),
        ("odd", {}, "observation 'mission': expected a space that gymnasium can flatten"),
        ("clash", {"keep_dict": True}, "env: expected no observation of the name 'attention'"),
        ("bytes", {"features": "center"}, "features: expected one of 'centers'"),
        ("bytes", {"keep_dict": 1}, "keep_dict: expected True or False, got 1"),
        ("bytes", {"selector": 4}, "selector: expected a PatchSelector or a dict.*got 'int'"),
        ("bytes", {"selector": {}}, "selector: expected a dict with 'patch_size'"),
        ("bytes", {"selector": {"patch": 4}}, r"selector: expected arguments among.*\['patch'\]"),
        ("bytes", {"selector": {**SELECTOR, "image_shape": (4, 4, 3)}}, "got .'image_shape'."),
        ("bytes", {"selector": {"patch_size": 99}}, "patch_size: expected at most the image"),
        (
            "bytes",
            {"selector": PatchSelector((8, 8, 3), 2)},
            r"expected a PatchSelector for images \(24, 32, 3\), got 'one for \(8, 8, 3\)",
        ),
    ],
)
@pytest.mark.parametrize("vector", [False, True])
def test_mistakes_are_named(observation, options, message, vector):
    selector = options.get("selector", SELECTOR)
    options = {key: value for key, value in options.items() if key != "selector"}
    env, wrapper = Square(observation), IAPObservation
    if vector:
        env, wrapper = SyncVectorEnv([lambda: Square(observation)]), VectorIAPObservation
    with pytest.raises(ValueError, match=message):
        wrapper(env, selector, **options)


def test_the_spec_is_json_and_builds_the_same_environment():
    options = {"image_key": "camera", "features": "both", "keep_dict": False}
    selector = {"patch_size": [4, 2], "stride": [4, 4], "num_selected": 3, "kernel": "hybrid"}
    env = IAPObservation(gymnasium.make(ID, observation="dict"), selector, **options)
    spec = EnvSpec.from_json(env.spec.to_json())
    wrapper = json.loads(env.spec.to_json())["additional_wrappers"][0]
    assert wrapper["entry_point"] == "iap_gym.wrappers:IAPObservation"
    assert wrapper["kwargs"] == {"selector": selector, **options}
    for twin_spec in (spec, copy.deepcopy(env.spec), pickle.loads(pickle.dumps(env.spec))):
        twin = gymnasium.make(twin_spec)
        assert twin.observation_space == env.observation_space
        for ours, theirs in zip(rollout(env), rollout(twin), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    # the caller's dict is copied
    selector["patch_size"] = 8
    assert env.spec.additional_wrappers[0].kwargs["selector"]["patch_size"] == [4, 2]


def test_a_selector_is_used_as_it_is_and_its_spec_builds_a_copy():
    selector = PatchSelector((HEIGHT, WIDTH, 3), 4, num_selected=3, seed=5)
    env = IAPObservation(gymnasium.make(ID), selector)
    assert env.selector is selector
    twin = gymnasium.make(env.spec)
    inner = twin
    while not isinstance(inner, IAPObservation):
        inner = inner.env
    assert inner.selector is not selector
    np.testing.assert_array_equal(inner.selector.get_vector(), selector.get_vector())
    before = rollout(env)
    selector.set_vector(-selector.get_vector()[::-1])
    assert any((a != b).any() for a, b in zip(before, rollout(env), strict=True))


def test_wrappers_copy_and_pickle_with_their_environment():
    env = wrap("dict")
    env.reset(seed=0)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        for ours, theirs in zip(rollout(env), rollout(twin), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_attributes_reach_through_outer_wrappers():
    env = gymnasium.wrappers.TimeLimit(wrap(), 3)
    env.reset(seed=0)
    assert env.get_wrapper_attr("selector").num_patches == 48
    assert env.get_wrapper_attr("last_indices").shape == (3,)
    env.get_wrapper_attr("last_indices")[:] = -1
    assert (env.get_wrapper_attr("last_indices") >= 0).all()


@pytest.mark.parametrize("observation", ["bytes", "unit", "gray", "dict", "rich"])
@pytest.mark.parametrize("features", ["centers", "patches", "both"])
@pytest.mark.parametrize("keep_dict", [False, True])
def test_the_vector_wrapper_equals_single_ones(observation, features, keep_dict):
    count, options = 3, {"features": features, "keep_dict": keep_dict}
    batched = VectorIAPObservation(
        SyncVectorEnv([lambda: Square(observation)] * count), SELECTOR, **options
    )
    single = SyncVectorEnv([lambda: wrap(observation, **options)] * count)
    assert batched.single_observation_space == single.single_observation_space
    assert batched.observation_space == single.observation_space
    batched.action_space.seed(0)
    pairs = [(batched.reset(seed=4)[0], single.reset(seed=4)[0])]
    for _ in range(12):
        actions = batched.action_space.sample()
        ours, theirs = batched.step(actions), single.step(actions)
        pairs.append((ours[0], theirs[0]))
        np.testing.assert_array_equal(ours[1], theirs[1])
        np.testing.assert_array_equal(ours[2], theirs[2])
        assert ours[0] in batched.observation_space
    for ours, theirs in pairs:
        np.testing.assert_equal(copy.deepcopy(ours), copy.deepcopy(theirs))
    expected = [env.last_indices for env in single.envs]
    np.testing.assert_array_equal(batched.last_indices, expected)


@pytest.mark.parametrize("observation", ["bytes", "rich"])
def test_final_observations_of_same_step_autoreset_are_encoded(observation):
    def vector(factory):
        return SyncVectorEnv([factory] * 2, autoreset_mode=AutoresetMode.SAME_STEP)

    batched = VectorIAPObservation(vector(lambda: Square(observation)), SELECTOR)
    single = vector(lambda: wrap(observation))
    batched.reset(seed=1)
    single.reset(seed=1)
    seen = 0
    for _ in range(15):
        actions = np.zeros(2, np.int64)
        ours, theirs = batched.step(actions), single.step(actions)
        np.testing.assert_array_equal(ours[0], theirs[0])
        if "final_obs" in theirs[-1]:
            seen += 1
            for left, right in zip(ours[-1]["final_obs"], theirs[-1]["final_obs"], strict=True):
                np.testing.assert_array_equal(left, right)
    assert seen == 2


@pytest.fixture
def busy_torch():
    """Torch with a pool of threads, which a fork does not copy."""

    def stop(signum, frame):
        raise TimeoutError("a worker hangs")

    before, handler = torch.get_num_threads(), signal.signal(signal.SIGALRM, stop)
    torch.set_num_threads(2)
    torch.rand(1_000_000).exp()
    signal.alarm(90)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, handler)
    torch.set_num_threads(before)


@pytest.mark.parametrize("context", [None, "spawn"])
def test_asynchronous_workers_equal_synchronous_ones(context, busy_torch):
    factories = [lambda: wrap("dict", selector={**SELECTOR, "kernel": "hybrid"})] * 2
    synchronous = SyncVectorEnv(factories)
    expected = [synchronous.reset(seed=2)[0]]
    asynchronous = AsyncVectorEnv(factories, context=context)
    try:
        actual = [asynchronous.reset(seed=2)[0]]
        for _ in range(9):
            actions = np.array([0, 2])
            expected.append(synchronous.step(actions)[0])
            actual.append(asynchronous.step(actions)[0])
    finally:
        asynchronous.close(terminate=True)
    np.testing.assert_array_equal(actual, expected)


def test_make_vec_with_the_vector_wrapper():
    envs = VectorIAPObservation(gymnasium.make_vec(ID, num_envs=2), SELECTOR)
    assert envs.single_observation_space.shape == (6,)
    assert BYTES.shape == envs.selector.image_shape
    observations, _ = envs.reset(seed=0)
    assert observations.shape == (2, 6)
    assert envs.last_indices.shape == (2, 3)
    envs.close()


class Swapped(gymnasium.Env):
    """Says (32, 48, 3) and a vector of 4, and gives what the arguments say."""

    observation_space = spaces.Dict(
        image=spaces.Box(0, 255, (32, 48, 3), np.uint8),
        kind=spaces.Discrete(3),
        vector=spaces.Box(-1, 1, (4,), np.float32),
    )
    action_space = spaces.Discrete(2)

    def __init__(self, **parts):
        self.parts = parts

    def reset(self, *, seed=None, options=None):
        return self.parts, {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": np.zeros((48, 32, 3), np.uint8)}, r"'image': expected shape \(32, 48, 3\), got"),
        ({"image": np.zeros((3, 32, 48), np.uint8)}, r"'image': expected shape \(32, 48, 3\), got"),
        ({"image": np.zeros((32, 40, 3), np.uint8)}, r"'image': expected shape \(32, 48, 3\), got"),
        ({"vector": np.zeros(3, np.float32)}, r"'vector': expected shape \(4,\), got \(3,\)"),
        ({"kind": 7}, "'kind': expected one of Discrete"),
        ({"image": None}, "'image': expected shape"),
    ],
)
def test_observation_that_breaks_its_space_is_refused(change, message):
    good = {
        "image": np.zeros((32, 48, 3), np.uint8),
        "kind": 1,
        "vector": np.zeros(4, np.float32),
    }
    env = IAPObservation(Swapped(**good), {"patch_size": 4})
    assert env.reset()[0].shape == env.observation_space.shape
    with pytest.raises(ValueError, match=message):
        IAPObservation(Swapped(**{**good, **change}), {"patch_size": 4}).reset()
    missing = {key: value for key, value in good.items() if key not in change}
    with pytest.raises(ValueError, match="observation: expected a dict with the key"):
        IAPObservation(Swapped(**missing), {"patch_size": 4}).reset()


def test_channels_first_is_named():
    class ChannelsFirst(gymnasium.Env):
        observation_space = spaces.Box(0, 255, (3, 32, 48), np.uint8)

    with pytest.raises(ValueError, match=r"\(H, W, C\), got '\(3, 32, 48\), which looks like"):
        IAPObservation(ChannelsFirst(), {"patch_size": 2})
