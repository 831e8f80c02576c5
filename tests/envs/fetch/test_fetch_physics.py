"""Against gymnasium-robotics, to the bit; and nothing but actions changes what happens."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from tests.envs.fetch.robots import Grasping, make, play


@pytest.fixture(scope="module")
def rival():
    import gymnasium_robotics

    gymnasium.register_envs(gymnasium_robotics)
    return gymnasium.make("FetchPickAndPlace-v4")


@pytest.mark.parametrize("seed", range(4))
def test_episodes_are_those_of_gymnasium_robotics_to_the_bit(rival, seed):
    ours = make(goal_env=True)
    mine, theirs = ours.reset(seed=seed)[0], rival.reset(seed=seed)[0]
    policy = Grasping(mine, seed)
    lifted = touched = False
    for t in range(50):
        for name, array in mine.items():
            wanted = theirs[name][: len(array)].astype(np.float32)
            np.testing.assert_array_equal(array, wanted)
        action = policy(mine if t else None)
        mine, reward, *_, info = ours.step(action)
        theirs, their_reward, *_, their_info = rival.step(action)
        assert reward == their_reward
        assert info["is_success"] == bool(their_info["is_success"])
        held = 0.02 < mine["observation"][9] < 0.03 and action[3] < 0
        touched |= bool(held)
        lifted |= bool(mine["achieved_goal"][2] > 0.44)
    assert lifted
    assert touched


def test_following_episodes_draw_the_same_starts_and_goals(rival):
    ours = make(goal_env=True)
    mine, theirs = ours.reset(seed=9)[0], rival.reset(seed=9)[0]
    for _ in range(30):
        assert mine["observation"].tolist() == theirs["observation"][:11].astype("f4").tolist()
        assert mine["desired_goal"].tolist() == theirs["desired_goal"].astype("f4").tolist()
        mine, theirs = ours.reset()[0], rival.reset()[0]


def test_the_same_seed_twice_in_one_environment_gives_the_same_bits():
    env = make()
    first = play(env, 3)
    for seed in range(3):
        play(env, 10 + seed, steps=13)
    again = play(env, 3)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert first[0][:, 5].max() > 0.44, "the cube must be lifted, or nothing was compared"


def test_looking_changes_nothing():
    env = make(render_mode="rgb_array", height=32, width=32)
    first = play(env, 3)
    observation, _ = env.reset(seed=3)
    policy = Grasping(observation)
    for t in range(40):
        env.render()
        observation, reward, *_ = env.step(policy(observation if t else None))
        np.testing.assert_array_equal(observation, first[0][t + 1])
        assert reward == first[1][t]


@pytest.mark.parametrize("moment", [0, 1, 9, 14, 25])
def test_a_state_goes_on_in_any_instance_to_the_bit(moment):
    env, other, used = make(), make(), make()
    play(used, 11)
    play(env, 3, steps=moment)
    state = env.unwrapped.get_state()
    kept = state.copy()
    actions = [env.action_space.sample() for _ in range(20)]
    actions += [np.array([0, 0, -0.2, -1], np.float32)] * 5
    expected = [env.step(action)[:2] for action in actions]
    expected_states = env.unwrapped.get_state()
    np.testing.assert_array_equal(state, kept)
    for instance in (other, used, env):
        instance.reset(seed=1)
        instance.unwrapped.set_state(state)
        np.testing.assert_array_equal(instance.unwrapped.get_state(), state)
        for action, (observation, reward) in zip(actions, expected, strict=True):
            seen, earned, *_ = instance.step(action)
            np.testing.assert_array_equal(seen, observation)
            assert earned == reward
        np.testing.assert_array_equal(instance.unwrapped.get_state(), expected_states)


def test_a_state_is_enough_without_a_reset_and_holds_the_goal():
    env = make(goal_env=True, reward="dense").unwrapped
    env.reset(seed=5)
    state = env.get_state()
    assert state.dtype == np.float64
    fresh = make(goal_env=True, reward="dense").unwrapped
    fresh.set_state(state.tolist())
    action = np.zeros(4)
    one, other = env.step(action), fresh.step(action)
    assert one[1] == other[1]
    for name in one[0]:
        np.testing.assert_array_equal(one[0][name], other[0][name])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_a_copy_goes_on_by_itself(duplicate):
    env = make(goal_env=True, reward="dense")
    play(env, 4, steps=12)
    env.action_space.seed(0)
    twin = duplicate(env)
    assert twin.unwrapped.spec == env.unwrapped.spec
    actions = np.random.default_rng(0).uniform(-1, 1, (6, 4)).astype(np.float32)
    for action in actions:  # the copy first: it must not move the original
        twin.step(action)
    twin_seen = twin.unwrapped.get_state()
    for action in actions:
        env.step(action)
    np.testing.assert_array_equal(env.unwrapped.get_state(), twin_seen)
    one, other = env.reset()[0], twin.reset()[0]
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
    assert (env.action_space.sample() == twin.action_space.sample()).all()


def test_a_copy_before_the_first_reset_is_one_before_the_first_reset():
    twin = copy.deepcopy(make().unwrapped)
    with pytest.raises(ResetNeeded):
        twin.step(np.zeros(4))
    assert twin.reset(seed=0)[0].shape == (11,)


def test_numbers_before_there_is_a_state_are_refused():
    env = make(render_mode="rgb_array").unwrapped
    for call in (env.get_state, env.render, lambda: env.step(np.zeros(4))):
        with pytest.raises(ResetNeeded, match="call reset or set_state first"):
            call()


@pytest.mark.parametrize("bad", [np.zeros(5), np.full(320, 1.0), "state", None])
def test_a_wrong_state_is_refused(bad):
    env = make().unwrapped
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match="state: expected finite numbers of shape"):
        env.set_state(bad)
    with pytest.raises(ValueError, match="state: expected finite numbers of shape"):
        env.set_state(np.where(np.arange(len(before)) == 7, np.nan, before))
    np.testing.assert_array_equal(env.get_state(), before)


def test_float64_actions_act_as_their_float32():
    action = np.random.default_rng(0).uniform(-1, 1, 4)
    one, other = make(), make()
    one.reset(seed=0)
    other.reset(seed=0)
    for _ in range(5):
        np.testing.assert_array_equal(one.step(action)[0], other.step(action.astype("f4"))[0])


def test_instances_share_no_model():
    one, other = make().unwrapped, make().unwrapped
    one._simulation.model.opt.gravity[:] = 0
    assert other._simulation.model.opt.gravity[2] == pytest.approx(-9.81)
