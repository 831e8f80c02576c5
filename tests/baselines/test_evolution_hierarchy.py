"""Policies of two levels: who sees what, what is trained, where a search starts from."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from safetensors.numpy import save_file

import iap_gym  # noqa: F401  registers the ids
from iap_gym.baselines import EvolutionStrategies
from iap_gym.baselines.evolution import run_episode
from iap_gym.baselines.evolution.policies import HierarchicalPolicy, LinearPolicy, make_policy
from iap_gym.envs.quadruped.control import STEERING_GAIN
from iap_gym.envs.quadruped.low_level import LowLevel

pytest.importorskip("pybullet")

ID = "iap_gym/QuadrupedObstacleCourse-v0"
LATENT = {"control": "latent", "latent_size": 2, "physics": "kinematic"}
FEW = {"velocity": None, "selector": {"patch_size": 8, "num_selected": 2, "pixel_offset": 0.5}}
SMALL = {
    "population_size": 4,
    "sigma": 0.3,
    "learning_rate": 0.1,
    "seed": 3,
    "max_episode_steps": 4,
}
CAMERA = spaces.Box(0, 255, (32, 32, 3), np.uint8)
PROPRIO = spaces.Box(-1, 1, (18,), np.float32)
SEEN = spaces.Dict({"camera": CAMERA, "proprio": PROPRIO})
ACTION = spaces.Box(-1, 1, (3,), np.float32)


def build(high="LinearPolicy", seed=0, **kwargs):
    kwargs = {**(FEW if high == "LinearPolicy" else {}), "high": high, **kwargs}
    policy = make_policy("HierarchicalPolicy", SEEN, ACTION, kwargs)
    rng = np.random.default_rng(seed)
    policy.set_vector(policy.parameter_scale() * rng.normal(size=policy.num_parameters))
    return policy


def observe(seed=0, size=2):
    rng = np.random.default_rng(seed)
    camera = rng.integers(0, 256, (size, *CAMERA.shape), dtype=np.uint8)
    return {"camera": camera, "proprio": rng.uniform(-1, 1, (size, 18)).astype(np.float32)}


def start(policy="HierarchicalPolicy", env_kwargs=LATENT, policy_kwargs=None, **kwargs):
    if policy_kwargs is None:
        policy_kwargs = {**FEW, "trains": "both"}
    arguments = {**SMALL, **kwargs}
    return EvolutionStrategies(
        policy, ID, env_kwargs=env_kwargs, policy_kwargs=policy_kwargs, **arguments
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    es = start().learn(40)
    return es, es.save(tmp_path_factory.mktemp("run") / "checkpoint")


def test_the_high_level_is_its_policy_on_all_but_proprioception_clipped():
    policy = build()
    alone = LinearPolicy(spaces.Dict({"camera": CAMERA}), ACTION, squash="clip", **FEW)
    alone.set_vector(policy.get_vector()[: alone.num_parameters])
    observations = observe()
    actions, _ = policy.act(observations)
    np.testing.assert_array_equal(actions, alone.act({"camera": observations["camera"]})[0])
    np.testing.assert_array_equal(policy.last_indices, alone.last_indices)
    np.testing.assert_array_equal(policy.images(observations), observations["camera"])
    assert policy.selector is policy.high.selector
    assert build("CnnPolicy").selector is None
    weight = alone.state_dict()["controller.0.weight"]
    features, _ = alone._features.read(observations, ())
    linear = features @ weight.T + alone.state_dict()["controller.0.bias"]
    np.testing.assert_allclose(actions, np.clip(linear, -1, 1), rtol=1e-4, atol=1e-5)


def test_the_high_level_may_be_shown_proprioception():
    both = build(high_sees=["camera", "proprio"])
    assert both.num_parameters == build().num_parameters + 3 * 18
    changed = observe()
    before = both.act(changed)[0]
    changed["proprio"] = -changed["proprio"]
    assert not np.array_equal(both.act(changed)[0], before)
    np.testing.assert_array_equal(build().act(changed)[0], build().act(observe())[0])


@pytest.mark.parametrize("trains", ["high", "low", "both"])
def test_the_vector_is_what_is_trained(trains):
    policy = build(trains=trains)
    sizes = {"high": policy.high.num_parameters, "low": 16 * (2 + 19)}
    parts = ["high", "low"] if trains == "both" else [trains]
    assert policy.num_parameters == sum(sizes[part] for part in parts)
    before = policy.state_dict()
    vector = np.arange(policy.num_parameters, dtype=np.float32)
    policy.set_vector(vector)
    np.testing.assert_array_equal(policy.get_vector(), vector)
    assert policy.parameter_scale().shape == vector.shape
    for name, array in policy.state_dict().items():
        moved = not np.array_equal(array, before[name])
        assert moved == (name.split(".")[0] in parts), name
    if trains == "both":
        np.testing.assert_array_equal(policy.low.get_vector(), vector[sizes["high"] :])
        assert policy.parameter_scale()[-1] == pytest.approx((2 + 18) ** -0.5)
    with pytest.raises(ValueError, match="^vector: expected shape"):
        policy.set_vector(vector[1:])


def test_the_low_level_starts_as_the_environment_has_it():
    policy = build(trains="high")
    expected = LowLevel.steering(2, STEERING_GAIN)
    numbers = expected.get_vector().astype(np.float32)  # as they are saved
    np.testing.assert_array_equal(policy.low.get_vector(), numbers)
    assert build(trains="high", steering=0.1).low.weight.sum() == pytest.approx(0.1)


def test_an_episode_runs_the_low_level_of_the_policy():
    env = gymnasium.make(ID, **LATENT)
    policy = build(trains="low")
    policy.high.set_vector(np.full(policy.high.num_parameters, 0.5, np.float32))  # turns

    def end(weight):
        policy.low.set_vector(np.zeros(policy.low.num_parameters))
        policy.low.weight[3, 0] = weight
        run_episode(env, policy, seed=0, max_steps=6)
        return env.unwrapped.path[-1]

    straight, left, right = end(0.0), end(0.5), end(-0.5)
    assert straight[1] == 0.0  # its trunk sways a little all the same
    assert left[2] > straight[2] + 0.1
    np.testing.assert_allclose((right - straight)[1:], (straight - left)[1:])
    policy.low.weight[3, 0] = 0.5  # what was given is a copy
    assert env.unwrapped.mover.controller.low_level.weight[3, 0] == -0.5
    env.close()


def test_an_environment_without_low_level_is_named():
    with pytest.raises(ValueError, match="^env: expected an environment that runs a low level"):
        run_episode(gymnasium.make("CartPole-v1"), build(), seed=0)
    env = gymnasium.make(ID, control="latent", latent_size=3, physics="kinematic")
    with pytest.raises(ValueError, match="latent_size"):
        build().prepare(env)


NAVIGATION = "iap_gym/QuadrupedNavigation-v0"


@pytest.mark.parametrize("env_id", [ID, NAVIGATION])
def test_another_low_level_of_the_environment_is_not_overwritten(env_id, tmp_path):
    policy, own = build(trains="high"), LowLevel.steering(2, 0.1)
    own.save(tmp_path / "own")
    for given in (own, str(tmp_path / "own")):
        env = gymnasium.make(env_id, **LATENT, low_level=given, camera=False)
        for _ in range(2):  # also the second time
            with pytest.raises(ValueError, match="^env: .*HierarchicalPolicy.* another low_level"):
                policy.prepare(env)
            kept = env.unwrapped.mover.controller.low_level
            np.testing.assert_array_equal(kept.get_vector(), own.get_vector())
        env.close()


@pytest.mark.parametrize("trains", ["low", "both"])
def test_a_low_level_that_is_trained_takes_the_place_of_the_environments(trains):
    policy = build(trains=trains)
    env = gymnasium.make(ID, **LATENT, low_level=LowLevel.steering(2, 0.1), camera=False)
    policy.set_vector(np.full(policy.num_parameters, 0.125))
    policy.prepare(env)
    placed = env.unwrapped.mover.controller.low_level.get_vector()
    np.testing.assert_array_equal(placed, np.full(len(placed), 0.125))
    env.close()


@pytest.mark.parametrize("env_id", [ID, NAVIGATION])
def test_an_equal_low_level_of_the_environment_or_its_default_is_served(env_id):
    policy = build(trains="high")
    for settings in ({}, {"low_level": LowLevel.steering(2, STEERING_GAIN)}):
        env = gymnasium.make(env_id, **LATENT, camera=False, **settings)
        for _ in range(2):
            policy.prepare(env)
            placed = env.unwrapped.mover.controller.low_level
            np.testing.assert_array_equal(placed.get_vector(), policy.low.get_vector())
        env.close()


@pytest.mark.parametrize("trains", ["high", "low", "both"])
def test_what_is_saved_is_what_is_played(trains):
    policy, other = build(trains=trains, steering=0.1), build(trains=trains)
    other.load_state_dict(policy.state_dict())
    np.testing.assert_array_equal(other.low.get_vector(), policy.low.get_vector())


def test_another_control_is_refused_before_a_search():
    with pytest.raises(ValueError, match="env: expected control 'latent'"):
        start(env_kwargs={})


def test_state_dict_round_trip_and_travel():
    policy, other = build(seed=1), build(seed=2)
    other.load_state_dict(policy.state_dict())
    np.testing.assert_array_equal(other.get_vector(), policy.get_vector())
    assert policy.state_dict()["low.weight"].shape == (16, 20)
    for twin in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        np.testing.assert_array_equal(twin.act(observe())[0], policy.act(observe())[0])
        twin.set_vector(np.zeros(policy.num_parameters))
    assert policy.get_vector().any()
    with pytest.raises(ValueError, match="^arrays: expected names and shapes"):
        build("CnnPolicy").load_state_dict(policy.state_dict())


def test_the_frozen_level_is_in_the_checkpoint(trained, tmp_path):
    _, path = trained
    es = start(policy_kwargs={**FEW, "trains": "high"}, start_from=path, seed=9)
    whole = copy.deepcopy(es.policy.state_dict())
    es.learn(20)
    assert not np.array_equal(
        es.policy.state_dict()["high.selector.W_q"], whole["high.selector.W_q"]
    )
    es.save(tmp_path / "high")
    again = EvolutionStrategies.load(tmp_path / "high")
    for name, array in es.policy.state_dict().items():
        np.testing.assert_array_equal(again.policy.state_dict()[name], array)
    np.testing.assert_array_equal(again.policy.state_dict()["low.weight"], whole["low.weight"])


def test_any_number_of_workers_finds_the_same(trained):
    es, _ = trained
    spread = start(evaluator="processes", num_workers=2).learn(40)
    np.testing.assert_array_equal(spread.get_vector(), es.get_vector())


class TestStart:
    def test_a_checkpoint_is_where_the_search_starts(self, trained):
        es, path = trained
        again = start(start_from=path, seed=8)
        np.testing.assert_array_equal(again.get_vector(), es.get_vector())
        np.testing.assert_array_equal(again._optimizer.center.astype(np.float32), es.get_vector())
        assert (again.generation, again.num_timesteps) == (0, 0)
        vector = start(start_from=es.get_vector() + 1)
        np.testing.assert_array_equal(vector.get_vector(), es.get_vector() + 1)

    def test_it_goes_on_after_load_as_if_it_had_not_stopped(self, trained, tmp_path):
        _, path = trained
        whole = start(start_from=path, seed=8).learn(80)
        half = start(start_from=path, seed=8).learn(40)
        again = EvolutionStrategies.load(half.save(tmp_path / "half"))
        again.learn(80 - half.num_timesteps, reset_num_timesteps=False)
        np.testing.assert_array_equal(again.get_vector(), whole.get_vector())

    def test_levels_come_from_runs_of_their_own(self, trained, tmp_path):
        es, path = trained
        walker = start("LinearPolicy", {"control": "pmtg", "camera": False}, {"squash": "clip"})
        walker.set_vector(np.linspace(-1, 1, walker.num_parameters))
        walker.policy.save_weights(tmp_path / "weights.safetensors")
        both = start(start_from={"high": path, "low": tmp_path})
        high = es.policy.high.num_parameters
        np.testing.assert_array_equal(both.get_vector()[:high], es.get_vector()[:high])
        arrays = walker.policy.state_dict()
        low = both.policy.low
        np.testing.assert_array_equal(low.weight[:, 2:], arrays["controller.0.weight"])
        np.testing.assert_array_equal(low.bias, arrays["controller.0.bias"])
        np.testing.assert_array_equal(low.weight[:, :2], start().policy.low.weight[:, :2])
        only = start(start_from={"low": path})
        np.testing.assert_array_equal(only.get_vector()[high:], es.get_vector()[high:])
        np.testing.assert_array_equal(only.get_vector()[:high], start().get_vector()[:high])

    def test_the_walker_acts_as_the_low_level_does(self):
        """A LinearPolicy of "pmtg" and the low level made of it are the same map."""
        walker = make_policy(
            "LinearPolicy",
            spaces.Dict({"proprio": PROPRIO}),
            spaces.Box(-1, 1, (16,)),
            {"squash": "clip"},
        )
        walker.set_vector(np.random.default_rng(0).normal(size=walker.num_parameters) / 4)
        policy = build()
        policy.start_from(walker.state_dict(), "low")
        felt = np.random.default_rng(1).uniform(-1, 1, 18)
        neutral = policy.low._neutral
        action = policy.low(np.zeros(2), felt[:4], felt[4:16] + neutral, felt[16:])
        expected = walker.act({"proprio": felt[None].astype(np.float32)})[0][0]
        np.testing.assert_allclose(np.clip(action, -1, 1), expected, rtol=1e-4, atol=1e-5)

    def test_the_folder_of_a_run_gives_its_best_generation(self, trained, tmp_path):
        es, path = trained
        (tmp_path / "checkpoint.zip").write_bytes(path.read_bytes())
        np.testing.assert_array_equal(start(start_from=tmp_path).get_vector(), es.get_vector())
        es.policy.save_weights(tmp_path / "best.safetensors")
        best = {**es.policy.state_dict()}
        best["low.bias"] = best["low.bias"] + 1
        save_file(best, tmp_path / "best.safetensors")
        got = start(start_from=tmp_path).get_vector()
        np.testing.assert_array_equal(got[-16:], es.get_vector()[-16:] + 1)

    def test_a_wrong_start_is_named(self, trained, tmp_path):
        es, path = trained
        with pytest.raises(FileNotFoundError, match="^start_from: there is no run or file"):
            start(start_from=tmp_path / "nothing")
        with pytest.raises(FileNotFoundError, match="has none of best.safetensors"):
            start(start_from=tmp_path)
        (tmp_path / "broken.safetensors").write_bytes(b"x" * 20)
        with pytest.raises(ValueError, match="expected weights"):
            start(start_from=tmp_path / "broken.safetensors")
        other = {**FEW, "selector": {**FEW["selector"], "num_selected": 3}}
        with pytest.raises(ValueError, match=r"start_from: .* does not fit the policy: arrays"):
            start(policy_kwargs=other, start_from=path)
        with pytest.raises(
            ValueError, match=r"does not fit the policy: start_from: expected one of"
        ):
            start(start_from={"middle": path})
        with pytest.raises(
            ValueError, match="does not fit the policy: start_from: expected no part"
        ):
            start("LinearPolicy", policy_kwargs=FEW, start_from={"low": path})
        with pytest.raises(ValueError, match="^vector: expected shape"):
            start(start_from=es.get_vector()[1:])
        for wrong in (np.full(es.num_parameters, np.nan), es.get_vector() + 0j, [True], []):
            with pytest.raises(ValueError, match="^start_from: expected a path"):
                start(start_from=wrong)

    @pytest.mark.parametrize("part", [None, "high"])
    def test_a_high_level_whose_numbers_mean_another_thing_is_named(self, trained, part):
        _, path = trained
        source = path if part is None else {part: path}
        signed = {**FEW, "trains": "both", "places": "signed"}
        with pytest.raises(ValueError, match="does not fit the policy: policy_kwargs.*'places'"):
            start(policy_kwargs=signed, start_from=source)
        start(policy_kwargs=signed, start_from={"low": path})  # it does not look
        start(policy_kwargs={**FEW, "trains": "low", "steering": 0.1}, start_from=source)

    def test_a_high_level_that_is_shown_something_else_is_named(self, trained):
        _, path = trained
        twice = {**FEW, "high_sees": ["camera", "proprio"]}
        with pytest.raises(ValueError, match="does not fit the policy: arrays"):
            start(policy_kwargs=twice, start_from={"high": path})

    @pytest.mark.parametrize("kwargs", [{"squash": "tanh"}, {"squash": "clip", "vector_scale": 2}])
    def test_a_walker_that_is_no_low_level_is_named(self, tmp_path, kwargs):
        flat = {"control": "pmtg", "camera": False}
        path = start("LinearPolicy", flat, {"squash": "clip"}).save(tmp_path / "walker")
        start(start_from={"low": path})
        path = start("LinearPolicy", flat, kwargs).save(tmp_path / "walker")
        differing = "vector_scale" if "vector_scale" in kwargs else "squash"
        with pytest.raises(ValueError, match=f"policy_kwargs: expected.*'{differing}'"):
            start(start_from={"low": path})


@pytest.mark.parametrize(
    ("spaces_", "kwargs", "message"),
    [
        ((SEEN, ACTION), {"high": "HierarchicalPolicy"}, "^high: expected one of 'LinearPolicy'"),
        ((SEEN, ACTION), {"trains": "none"}, "^trains: expected one of 'high', 'low', 'both'"),
        ((SEEN, ACTION), {"high_sees": ["depth"]}, r"^high_sees: expected some of \['camera'"),
        ((SEEN, ACTION), {"high_sees": "camera"}, "^high_sees: expected some of"),
        ((SEEN, ACTION), {"high_sees": []}, "^high_sees: expected some of"),
        ((SEEN, ACTION), {"high": "CnnPolicy", "selector": {}}, "^policy_kwargs: expected keys"),
        ((SEEN, ACTION), {"selector_seed": 1}, "^policy_kwargs: expected keys"),
        ((SEEN, spaces.Discrete(3)), {}, "^action_space: expected Box"),
        ((SEEN, spaces.Box(-1, 1, (1,))), {}, "^action_space: expected Box"),
        ((CAMERA, ACTION), {}, "^observation_space: expected a Dict"),
    ],
)
def test_bad_arguments_are_named(spaces_, kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_policy("HierarchicalPolicy", *spaces_, kwargs)


def test_it_is_a_policy_of_its_own():
    assert isinstance(build(), HierarchicalPolicy)
