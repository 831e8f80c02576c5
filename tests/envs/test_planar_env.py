"""The three planar environments one at a time: contract, actions, states, settings."""

import copy
import json
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import iap_gym
from iap_gym.envs.planar import BilliardBall, RobotRemoteControl, Shepherd
from iap_gym.envs.planar.policies import roll_out, uniform_actions
from iap_gym.envs.planar.world import VARIANTS
from iap_gym.registry import PLANAR_WORLDS
from iap_gym.testing import check_env

WORLDS = {"BilliardBall": BilliardBall, "RobotRemoteControl": RobotRemoteControl}
WORLDS["Shepherd"] = Shepherd
SPACES = {
    "BilliardBall": (2, gymnasium.spaces.Discrete(1), 50),
    "RobotRemoteControl": (4, gymnasium.spaces.Box(-1, 1, (2,), np.float32), 50),
    "Shepherd": (7, gymnasium.spaces.Box(-1, 1, (3,), np.float32), 100),
}
EVENTS = {
    "BilliardBall": {"pocketed", "bounce"},
    "RobotRemoteControl": {"controlled"},
    "Shepherd": {"gate_open", "carried", "caught", "hidden"},
}
world_names = pytest.mark.parametrize("name", PLANAR_WORLDS)


def make(name, **kwargs):
    return gymnasium.make(f"iap_gym/{name}-v0", **kwargs)


@pytest.mark.parametrize("variant", VARIANTS)
@world_names
def test_the_contract_holds(name, variant):
    ran = check_env(f"iap_gym/{name}-v0", variant=variant)
    assert {"gymnasium", "stable_baselines3", "seeding", "spec", "actions"} <= set(ran)


@world_names
def test_spaces_and_length_are_the_documented_ones(name):
    env = make(name)
    size, action_space, steps = SPACES[name]
    assert env.observation_space.shape == (size,)
    assert env.observation_space.dtype == np.float32
    assert env.action_space == action_space
    assert env.spec.max_episode_steps == steps
    if name != "Shepherd":
        assert env.observation_space == gymnasium.spaces.Box(-1, 1, (size,), np.float32)


@pytest.mark.parametrize("start", ["right", "left"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_shepherds_bounds_hold_every_state_of_an_episode(variant, start):
    world = Shepherd(variant, start=start)
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 2, (500, world.num_draws)) * np.nextafter(1.0, 0.0)
    state = world.initial(np.concatenate([corners, rng.random((500, world.num_draws))]))
    low, high = world.state_bounds
    space = world.observation_space()
    for _ in range(100):
        assert (state >= low).all()
        assert (state <= high).all()
        seen = world.observe(state)
        assert (seen >= space.low).all()
        assert (seen <= space.high).all()
        state = world.step(state, rng.uniform(-1, 1, (1000, 3)))[0]


@world_names
def test_info_holds_the_events_as_python_bools(name):
    env = make(name)
    _, first = env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(env.action_space.sample())
    for events in (first, info):
        assert set(events) == EVENTS[name]
        assert all(type(value) is bool for value in events.values())
    assert type(reward) is float
    assert type(terminated) is type(truncated) is bool


@world_names
def test_a_spec_survives_json_and_an_episode_ends_by_time(name):
    env = make(name, variant="paper")
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert json.loads(env.spec.to_json())["kwargs"]["variant"] == "paper"
    assert again.unwrapped.world == env.unwrapped.world
    env.reset(seed=1)
    still = 0 if name == "BilliardBall" else np.zeros(env.action_space.shape, np.float32)
    steps = [env.step(still) for _ in range(SPACES[name][2])]
    assert [step[3] for step in steps] == [False] * (len(steps) - 1) + [True]
    assert not any(step[2] for step in steps)
    assert sum(step[1] for step in steps) == 0


@pytest.mark.parametrize(
    "action",
    [None, "up", [0.0], [[0.0, 0.0]], [np.nan, 0.0], [np.inf, 0.0], [0.0, 0.0, 0.0], 0.0, {}],
)
def test_a_bad_action_is_refused_and_changes_nothing(action):
    env = make("RobotRemoteControl", disable_env_checker=True)
    env.reset(seed=0)
    before = env.unwrapped.get_state()
    with pytest.raises(ValueError, match=r"action: expected finite numbers of shape \(2,\), got"):
        env.step(action)
    np.testing.assert_array_equal(env.unwrapped.get_state(), before)


@pytest.mark.parametrize("action", [[3.0, -7.0], (1.0, -1.0), np.array([1e300, -1e300])])
def test_an_action_out_of_range_is_clipped_and_lists_are_accepted(action):
    env, twin = (make("RobotRemoteControl", disable_env_checker=True) for _ in range(2))
    env.reset(seed=0)
    twin.reset(seed=0)
    expected = twin.step(np.array([1, -1], np.float32))[0]
    np.testing.assert_array_equal(env.step(action)[0], expected)


@pytest.mark.parametrize("action", [[0], None, np.nan, np.zeros(2), "shoot"])
def test_the_table_refuses_what_is_no_number(action):
    env = make("BilliardBall", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action: expected finite numbers of shape \(\), got"):
        env.step(action)
    env.step(np.int64(0))
    env.step(5)


@pytest.mark.parametrize(
    ("name", "kwargs", "message"),
    [
        ("Shepherd", {"variant": "published"}, "variant: expected one of 'code', 'paper'"),
        ("BilliardBall", {"variant": 1}, "variant: expected one of"),
        ("Shepherd", {"start": "top"}, "start: expected one of 'right', 'left'"),
        ("Shepherd", {"radius_factor": 0}, "radius_factor: expected a finite number > 0"),
        ("RobotRemoteControl", {"radius_factor": "1"}, "radius_factor: expected a finite number"),
        (
            "BilliardBall",
            {"restitution": 1.1},
            r"restitution: expected a finite number in \[0, 1\]",
        ),
        ("BilliardBall", {"drag": -0.1}, "drag: expected a finite number >= 0"),
        ("BilliardBall", {"pocket_radius": 0.5}, r"pocket_radius: expected a number in \[0, 0.5\)"),
        ("BilliardBall", {"render_mode": "ansi"}, "render_mode: expected one of None"),
    ],
)
@pytest.mark.parametrize("vector", [False, True])
def test_bad_settings_are_named(name, kwargs, message, vector):
    entry = iap_gym.envs.planar
    cls = getattr(entry, f"{name}VectorEnv" if vector else f"{name}Env")
    with pytest.raises(ValueError, match=message):
        cls(**kwargs)


@world_names
def test_nothing_goes_on_before_there_is_a_state(name):
    env = make(name).unwrapped
    for call in (lambda: env.step(env.action_space.sample()), env.get_state):
        with pytest.raises(ResetNeeded, match="call reset or set_state first"):
            call()


@pytest.mark.parametrize("variant", VARIANTS)
@world_names
def test_a_state_goes_on_alike_in_another_instance_and_in_copies(name, variant):
    env, other = (make(name, variant=variant) for _ in range(2))
    env.reset(seed=3)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(30)]
    for action in actions[:10]:
        env.step(action)
    state = env.unwrapped.get_state()
    assert state.shape == (len(WORLDS[name].state_names),)
    assert state.dtype == np.float64
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other]
    other.unwrapped.set_state(state.tolist())  # before its first reset, and from a list
    expected = [env.unwrapped.step(action) for action in actions[10:]]
    for twin in twins:
        for action, (seen, *rest) in zip(actions[10:], expected, strict=True):
            again, *rest_again = twin.unwrapped.step(action)
            np.testing.assert_array_equal(again, seen)
            assert rest_again == rest
    for twin in twins[:2]:  # the generator was copied as well
        np.testing.assert_array_equal(twin.reset()[0], copy.deepcopy(env).reset()[0])
    state[:] = np.nan  # the caller's own
    assert np.isfinite(env.unwrapped.get_state()).all()


@world_names
def test_a_state_at_the_start_is_valid_for_every_seed(name):
    env = make(name).unwrapped
    for seed in range(50):
        first, _ = env.reset(seed=seed)
        env.set_state(env.get_state())
        np.testing.assert_array_equal(env.world.observe(env.get_state()[None])[0], first)


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("RobotRemoteControl", 2, 1.01, r"state\[2\] \(robot x\): expected a number in \[-1, 1\]"),
        ("RobotRemoteControl", 4, 0.5, r"state\[4\] \(controlled\): expected 0 or 1, got 0.5"),
        ("Shepherd", 4, 0.0, r"state\[4\] \(sheep x\): expected a number in \[1.05, 2.95\], got 0"),
        ("Shepherd", 11, -0.1, r"state\[11\] \(sheep speed\): expected a number in \[0, 0.1\]"),
        ("Shepherd", 7, 2.0, r"state\[7\] \(gate open\): expected 0 or 1"),
        ("BilliardBall", 1, 0.6, r"state\[1\] \(y\): expected a number in \[-0.5, 0.5\], got 0.6"),
        ("BilliardBall", 2, 1e9, r"state\[2\] \(velocity x\): expected a number in \[-1000, 1000"),
        ("BilliardBall", 0, np.nan, r"state: expected finite numbers of shape \(6,\)"),
    ],
)
def test_a_state_outside_the_world_is_named_and_not_taken(name, index, value, message):
    env = make(name).unwrapped
    env.reset(seed=0)
    state = env.get_state()
    bad = state.copy()
    bad[index] = value
    with pytest.raises(ValueError, match=message):
        env.set_state(bad)
    np.testing.assert_array_equal(env.get_state(), state)


@pytest.mark.parametrize("state", [None, "x", [0.0] * 4, [[0.0] * 5], 3, [None] * 5])
def test_a_state_of_another_shape_is_refused(state):
    env = make("RobotRemoteControl").unwrapped
    with pytest.raises(ValueError, match=r"state: expected finite numbers of shape \(5,\), got"):
        env.set_state(state)


def test_stepping_changes_none_of_its_arguments():
    rng = np.random.default_rng(0)
    for cls in WORLDS.values():
        world = cls()
        state = world.initial(rng.random((64, world.num_draws)))
        action = rng.uniform(-1, 1, (64, world.action_size)) if world.action_size else np.zeros(64)
        before = state.copy(), action.copy()
        for order in ("C", "F"):
            given = np.array(state, order=order)
            first = world.step(given, action)
            np.testing.assert_array_equal(given, before[0])
            np.testing.assert_array_equal(action, before[1])
            for one, two in zip(first, world.step(state, action), strict=True):
                np.testing.assert_array_equal(one, two)


@world_names
def test_whole_rollouts_are_observed_as_their_steps_are(name):
    world, rng = WORLDS[name](), np.random.default_rng(0)
    state = world.initial(rng.random((7, world.num_draws)))
    size = sum(SPACES[name][1].shape)  # none for Discrete
    states, _ = roll_out(world, state, uniform_actions(rng, size), steps=90)
    np.testing.assert_array_equal(world.observe(states), np.stack(list(map(world.observe, states))))
    each = [world.read_events(step) for step in states]
    for event, flags in world.read_events(states).items():
        np.testing.assert_array_equal(flags, np.stack([events[event] for events in each]))
