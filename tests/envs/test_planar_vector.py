"""The planar vector environments against single ones in Gymnasium's ``SyncVectorEnv``."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

import iap_gym  # noqa: F401
from iap_gym.registry import PLANAR_WORLDS

world_names = pytest.mark.parametrize("name", PLANAR_WORLDS)
# Radii so large that episodes end by themselves as well.
SETTINGS = [
    ("BilliardBall", {}),
    ("BilliardBall", {"restitution": 0.9, "pocket_radius": 0.2, "variant": "paper"}),
    ("RobotRemoteControl", {}),
    ("RobotRemoteControl", {"variant": "paper", "radius_factor": 6}),
    ("Shepherd", {}),
    ("Shepherd", {"start": "left", "radius_factor": 20}),
    ("Shepherd", {"start": "right", "radius_factor": 20, "variant": "paper"}),
]


def make_vec(name, num_envs=8, mode="vector_entry_point", **kwargs):
    env_id = f"iap_gym/{name}-v0"
    return gymnasium.make_vec(env_id, num_envs=num_envs, vectorization_mode=mode, **kwargs)


def assert_same(ours, theirs):
    for one, two in zip(ours, theirs, strict=True):
        if isinstance(one, dict):
            assert set(one) == set(two)
            one, two = ([found[key] for key in sorted(found)] for found in (one, two))
            assert [array.dtype for array in one] == [array.dtype for array in two]
            one, two = np.array(one), np.array(two)
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes(), "the same to the bit"


@pytest.mark.parametrize(("name", "settings"), SETTINGS)
def test_it_gives_the_bits_of_single_environments_over_many_episodes(name, settings):
    ours = make_vec(name, num_envs=37, **settings)
    theirs = make_vec(name, num_envs=37, mode="sync", **settings)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    ours.action_space.seed(0)
    assert_same(ours.reset(seed=5), theirs.reset(seed=5))
    ends = np.zeros(2, int)
    for step in range(170):
        actions = ours.action_space.sample()
        result = ours.step(actions)
        assert_same(result, theirs.step(actions))
        assert result[0] in ours.observation_space
        ends += [result[2].sum(), result[3].sum()]
        if step == 120:  # in the middle of an episode, going on with the random numbers
            assert_same(ours.reset(), theirs.reset())
    assert ends.sum() >= 37, "every world has started anew"
    assert "radius_factor" not in settings or ends[0] > 5
    assert ours.np_random_seed == theirs.np_random_seed == tuple(range(5, 42))


@world_names
def test_world_i_is_the_single_environment_with_seed_plus_i(name):
    env = make_vec(name, num_envs=300)
    env.action_space.seed(1)
    seen = [env.reset(seed=100)[0]]
    actions = [env.action_space.sample() for _ in range(20)]
    seen += [env.step(action)[0] for action in actions]
    for index in (0, 1, 7, 250, 299):
        single = gymnasium.make(f"iap_gym/{name}-v0")
        alone = [single.reset(seed=100 + index)[0]]
        alone += [single.step(action[index])[0] for action in actions]
        assert np.array(alone).tobytes() == np.array(seen)[:, index].tobytes()


def test_seeds_may_be_given_one_by_one():
    ours, theirs = make_vec("Shepherd", 3), make_vec("Shepherd", 3, "sync")
    assert_same(ours.reset(seed=[7, 2, 7]), theirs.reset(seed=[7, 2, 7]))
    assert_same(ours.reset(seed=[None, 4, None]), theirs.reset(seed=[None, 4, None]))
    assert ours.np_random_seed == (7, 4, 7)
    with pytest.raises(ValueError, match="seed: expected one, or 3 of them"):
        ours.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="seed: expected an integer >= 0, got -1"):
        ours.reset(seed=-1)


def test_without_a_seed_the_worlds_differ():
    env = make_vec("RobotRemoteControl", 50)
    first, _ = env.reset()
    second, _ = make_vec("RobotRemoteControl", 50).reset()
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 100
    states = {generator.bit_generator.state["state"]["state"] for generator in env.np_random}
    assert len(states) == 50


def test_a_mask_restarts_some_worlds():
    ours, theirs = make_vec("Shepherd", 6), make_vec("Shepherd", 6, "sync")
    mask = np.array([1, 0, 0, 1, 1, 0], bool)
    with pytest.raises(ResetNeeded, match="reset_mask"):
        ours.reset(options={"reset_mask": mask})
    for env in (ours, theirs):
        env.reset(seed=0)
        env.action_space.seed(0)
    for _ in range(99):
        assert_same(ours.step(actions := ours.action_space.sample()), theirs.step(actions))
    restarts = [env.reset(seed=8, options={"reset_mask": mask}) for env in (ours, theirs)]
    assert ours.np_random_seed == theirs.np_random_seed == (8, 1, 2, 11, 12, 5)
    np.testing.assert_array_equal(restarts[0][0], restarts[1][0])
    for key, values in restarts[1][1].items():
        np.testing.assert_array_equal(restarts[0][1][key], values)
    for _ in range(3):  # the others reach their end, and start anew
        assert_same(ours.step(actions := ours.action_space.sample()), theirs.step(actions))
    for bad in (mask.tolist(), mask[:5], mask & False, mask.astype(int)):
        with pytest.raises(ValueError, match="reset_mask.*expected a bool array of shape"):
            ours.reset(options={"reset_mask": bad})


def test_the_next_step_starts_anew_and_ignores_its_action():
    env = make_vec("RobotRemoteControl", 2, max_episode_steps=3)
    env.reset(seed=0)
    actions = np.ones((2, 2), np.float32)
    ends = [env.step(actions)[3].tolist() for _ in range(3)]
    assert ends == [[False, False], [False, False], [True, True]]
    seen, rewards, terminated, truncated, _ = env.step(actions)
    alone = gymnasium.make("iap_gym/RobotRemoteControl-v0")
    alone.reset(seed=0)
    np.testing.assert_array_equal(seen[0], alone.reset()[0])
    assert not rewards.any()
    assert not terminated.any()
    assert not truncated.any()


def test_without_a_limit_episodes_end_by_themselves_alone():
    env = make_vec("BilliardBall", 4, max_episode_steps=None)
    env.reset(seed=0)
    assert not any(env.step(np.zeros(4))[3].any() for _ in range(120))


@world_names
def test_states_are_copied_and_go_on_alike_elsewhere(name):
    env, other = make_vec(name, 5), make_vec(name, 5)
    env.reset(seed=0)
    other.reset(seed=9)
    env.action_space.seed(0)
    for _ in range(7):
        env.step(env.action_space.sample())
    state = env.unwrapped.get_state()
    assert state.shape == (5, len(env.unwrapped.world.state_names))
    single = gymnasium.make(f"iap_gym/{name}-v0").unwrapped
    single.set_state(state[3])
    other.unwrapped.set_state(state)
    twins = [copy.deepcopy(env), pickle.loads(pickle.dumps(env)), other]
    state[:] = -5
    actions = env.action_space.sample()
    expected = env.step(actions)
    np.testing.assert_array_equal(single.step(actions[3])[0], expected[0][3])
    for twin in twins:
        assert_same(twin.step(actions), expected)
    for _ in range(120):  # the copies draw the same starts too
        actions = env.action_space.sample()
        expected = env.step(actions)
        for twin in twins[:2]:
            assert_same(twin.step(actions), expected)


def test_a_state_that_is_set_is_not_started_anew():
    env = make_vec("RobotRemoteControl", 2, max_episode_steps=2)
    env.reset(seed=0)
    state = env.unwrapped.get_state()
    still = np.zeros((2, 2))
    env.step(still)
    assert env.step(still)[3].all()
    env.unwrapped.set_state(state)
    seen, _, _, truncated, _ = env.step(still)
    np.testing.assert_allclose(seen, np.clip(state[:, :4], -0.95, 0.95), atol=1e-6)
    assert truncated.all(), "time is no part of the state"


@pytest.mark.parametrize("name", PLANAR_WORLDS)
def test_a_state_without_a_reset_is_gone_on_from_through_the_episodes_end(name):
    other, env = make_vec(name, 3), make_vec(name, 3)
    other.reset(seed=0)
    env.set_state(other.get_state())
    seen = [env.step(env.action_space.sample())[0] for _ in range(PLANAR_WORLDS[name] + 2)]
    assert np.isfinite(seen).all()
    assert len(env.np_random) == 3


def test_a_bad_state_names_its_world():
    env = make_vec("Shepherd", 3).unwrapped
    with pytest.raises(ResetNeeded):
        env.get_state()
    env.reset(seed=0)
    state = env.get_state()
    state[2, 5] = 1.5
    with pytest.raises(ValueError, match=r"state\[2, 5\] \(sheep y\): expected a number in \[-1.0"):
        env.set_state(state)
    with pytest.raises(ValueError, match=r"state: expected finite numbers of shape \(3, 12\)"):
        env.set_state(state[0])


@pytest.mark.parametrize("actions", [np.zeros((4, 2)), np.full((3, 2), np.nan), np.zeros(2), None])
def test_bad_actions_are_refused_and_change_nothing(actions):
    env = make_vec("RobotRemoteControl", 3)
    with pytest.raises(ResetNeeded):
        env.step(np.zeros((3, 2)))
    env.reset(seed=0)
    before = env.unwrapped.get_state()
    with pytest.raises(
        ValueError, match=r"actions: expected finite numbers of shape \(3, 2\), got"
    ):
        env.step(actions)
    np.testing.assert_array_equal(env.unwrapped.get_state(), before)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"num_envs": 0}, "num_envs: expected an integer >= 1"), ({"max_episode_steps": 0}, "max_ep")],
)
def test_bad_numbers_are_named(kwargs, message):
    with pytest.raises(ValueError, match=message):
        make_vec("Shepherd", **kwargs)


def test_what_is_returned_is_the_callers_own():
    env = make_vec("Shepherd", 4)
    env.reset(seed=0)
    env.action_space.seed(0)
    results = [env.step(env.action_space.sample()) for _ in range(3)]
    kept = copy.deepcopy(results)
    for _ in range(3):
        env.step(env.action_space.sample())
    for result, copied in zip(results, kept, strict=True):
        assert_same(result, copied)
        assert result[0].flags.c_contiguous
        result[0][:] = 9
        for array in (*result[1:4], *result[4].values()):
            array[:] = 1
    twin = make_vec("Shepherd", 4)
    twin.reset(seed=0)
    twin.action_space.seed(0)
    for _ in range(6):
        twin.step(twin.action_space.sample())
    np.testing.assert_array_equal(env.unwrapped.get_state(), twin.unwrapped.get_state())
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
