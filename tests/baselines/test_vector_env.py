"""The adapter for Stable-Baselines3 against its own vector of single environments."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import iap_gym  # noqa: F401
from iap_gym.baselines.vector_env import VectorEnvAdapter

ROBOT = "iap_gym/RobotRemoteControl-v0"
# Goals and computers so large that episodes end by themselves as well.
SETTINGS = {"radius_factor": 6}


def singles(env_id, n, **kwargs):
    return VecMonitor(DummyVecEnv([lambda: gymnasium.make(env_id, **kwargs)] * n))


def ours(env_id, n, mode="vector_entry_point", **kwargs):
    return VecMonitor(VectorEnvAdapter(gymnasium.make_vec(env_id, n, mode, **kwargs)))


def without_times(info):
    episode = info.get("episode")
    info = {name: info[name] for name in ("terminal_observation", "TimeLimit.truncated") if episode}
    return info | ({"episode": (episode["r"], episode["l"])} if episode else {})


@pytest.mark.parametrize(
    ("env_id", "mode", "kwargs"),
    [
        (ROBOT, "vector_entry_point", SETTINGS),
        (ROBOT, "sync", SETTINGS),
        ("CartPole-v1", "sync", {}),
    ],
)
def test_it_plays_what_dummy_vec_env_plays(env_id, mode, kwargs):
    one, two = ours(env_id, 5, mode, **kwargs), singles(env_id, 5, **kwargs)
    assert one.observation_space == two.observation_space
    assert one.action_space == two.action_space
    for env in (one, two):
        env.seed(7)
        env.action_space.seed(0)
    assert (one.reset() == two.reset()).all()
    kinds = set()
    for _ in range(300):
        actions = np.array([two.action_space.sample() for _ in range(5)])
        left, right = one.step(actions), two.step(actions)
        for a, b in zip(left[:3], right[:3], strict=True):
            assert a.dtype == b.dtype
            assert (a == b).all()
        for a, b in zip(map(without_times, left[3]), map(without_times, right[3]), strict=True):
            assert str(a) == str(b)
            kinds |= {a.get("TimeLimit.truncated")}
    assert True in kinds or env_id != ROBOT
    assert False in kinds
    one.close()


def test_ppo_learns_the_same_weights_on_it():
    weights = []
    for env in (ours(ROBOT, 8, **SETTINGS), singles(ROBOT, 8, **SETTINGS)):
        model = PPO("MlpPolicy", env, n_steps=64, batch_size=128, n_epochs=2, seed=3, device="cpu")
        model.learn(1536)
        weights.append(torch.cat([p.detach().flatten() for p in model.policy.parameters()]))
    assert torch.equal(*weights)


def test_an_environment_that_resets_in_the_same_step_is_refused():
    env = gymnasium.vector.SyncVectorEnv(
        [lambda: TimeLimit(gymnasium.make("CartPole-v1"), 5)], autoreset_mode="SameStep"
    )
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ValueError, match="env: expected autoreset_mode NEXT_STEP or DISABLED"):
        VectorEnvAdapter(env)


def test_attributes_are_the_vector_environments():
    env = VectorEnvAdapter(gymnasium.make_vec(ROBOT, 3, "vector_entry_point"))
    assert env.get_attr("max_episode_steps") == [50] * 3
    assert env.get_attr("num_envs", [0, 2]) == [3, 3]
    assert env.env_is_wrapped(TimeLimit) == [False] * 3
    with pytest.raises(NotImplementedError, match="set_attr"):
        env.set_attr("world", None)
    with pytest.raises(NotImplementedError, match="env_method"):
        env.env_method("get_state")


def test_pictures_come_one_for_each_environment():
    kwargs = {"render_mode": "rgb_array", "height": 32, "width": 64}
    env = VectorEnvAdapter(gymnasium.make_vec(ROBOT, 3, "vector_entry_point", **kwargs))
    env.reset()
    assert [image.shape for image in env.get_images()] == [(32, 64, 3)] * 3
    assert env.render().ndim == 3  # tiled
    silent = VectorEnvAdapter(gymnasium.make_vec(ROBOT, 3, "vector_entry_point"))
    with pytest.warns(UserWarning, match="render_mode"):
        assert silent.get_images() == [None] * 3


def test_an_environment_that_resets_all_where_one_ends_is_refused():
    """As those of Gymnasium's own that know no ``reset_mask``."""
    env = VectorEnvAdapter(gymnasium.make_vec("CartPole-v1", 4, "vector_entry_point"))
    env.reset()
    rng = np.random.default_rng(0)
    steps = (env.step(rng.integers(0, 2, 4)) for _ in range(100))
    with pytest.raises(ValueError, match="env: expected a vector environment that resets those of"):
        list(steps)


def test_the_last_observation_is_no_view_of_the_next():
    def found(**kwargs):
        made = gymnasium.make_vec(ROBOT, 3, "sync", vector_kwargs=kwargs, max_episode_steps=4)
        env = VectorEnvAdapter(made)
        env.seed(0)
        env.reset()
        infos = [env.step(np.full((3, 2), 0.5, np.float32))[3] for _ in range(4)][-1]
        return [info["terminal_observation"] for info in infos]

    np.testing.assert_array_equal(found(copy=False), found(copy=True))


def test_observations_that_are_no_arrays_are_refused():
    from gymnasium.vector import SyncVectorEnv

    class Inside(gymnasium.Env):
        observation_space = gymnasium.spaces.Dict({"a": gymnasium.spaces.Discrete(2)})
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(ValueError, match="env: expected observations that are arrays"):
        VectorEnvAdapter(SyncVectorEnv([Inside]))


def test_options_are_those_of_the_next_reset_alone():
    """As of SB3's own vectors, but one dict for all, for environments that are one object."""
    many = VectorEnvAdapter(gymnasium.make_vec("CartPole-v1", 3, "sync"))
    singles = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")] * 3)
    found = []
    for env in (VecMonitor(many), singles):
        env.seed(0)
        env.set_options({"low": 0.1, "high": 0.2})
        found.append([env.reset(), env.reset()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert (found[0][0] >= 0.1).all()
    assert (abs(found[0][1]) < 0.1).all()
    many.set_options({"low": 0.1, "high": 0.2})
    many.set_options(None)
    assert (abs(many.reset()) < 0.1).all()
    with pytest.raises(ValueError, match="options: expected a dict for all environments"):
        many.set_options([{"low": 0.1, "high": 0.2}] * 3)
