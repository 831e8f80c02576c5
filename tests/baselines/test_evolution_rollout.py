"""One episode, and where environments come from."""

import json
import pickle

import cloudpickle
import gymnasium
import numpy as np
import pytest

from iap_gym.baselines import non_finite
from iap_gym.baselines.evolution import NonFiniteRewardError
from iap_gym.baselines.evolution.env_source import EnvSource, resolve
from iap_gym.baselines.evolution.rollout import run_episode
from tests.baselines.pixel_envs import FollowBlob, Trouble


class Recorder:
    """Plays given actions and keeps what it was shown."""

    def __init__(self, action):
        self.action = action
        self.seen = []
        self.states = []

    def act(self, observations, state=None, episode_start=None):
        self.seen.append(observations)
        self.states.append(state)
        return np.asarray(self.action)[None], len(self.seen)


def test_episode_equals_a_loop_by_hand():
    env = gymnasium.make("Pendulum-v1")
    actor = Recorder(np.array([0.7], np.float32))
    total, length = run_episode(env, actor, seed=5)
    observation, _ = env.reset(seed=5)
    expected, seen = 0.0, []
    for _ in range(200):
        seen.append(observation)
        observation, reward, *_ = env.step(actor.action)
        expected += float(reward)
    assert (total, length) == (pytest.approx(expected, rel=1e-12), 200)
    np.testing.assert_array_equal(np.concatenate(actor.seen), seen)
    assert actor.states == [None, *range(1, 200)]
    assert run_episode(env, actor, seed=5).total_reward == total
    assert run_episode(env, actor, seed=6).total_reward != total
    env.close()


def test_episode_can_be_cut_and_ends_on_termination():
    env = gymnasium.make("CartPole-v1")
    assert run_episode(env, Recorder(1), seed=0, max_steps=4) == (4.0, 4)
    assert run_episode(env, Recorder(1), seed=0).length < 15
    env.close()


@pytest.mark.parametrize("dict_observation", [False, True])
def test_blind_policies_see_the_first_observation_only(dict_observation):
    env = FollowBlob(horizon=4, dict_observation=dict_observation)
    actor = Recorder(np.zeros(2, np.float32))
    run_episode(env, actor, seed=0, blind=True)
    first, _ = env.reset(seed=0)
    key = "camera"
    frames = [seen[key] if dict_observation else seen for seen in actor.seen]
    assert len(frames) == 4
    for frame in frames:
        np.testing.assert_array_equal(frame[0], first[key] if dict_observation else first)


def test_rewards_that_are_not_finite_stop():
    wanted = r"^reward: expected finite numbers, got nan at step 5 \(seed 3\)$"
    with pytest.raises(NonFiniteRewardError, match=wanted) as caught:
        run_episode(Trouble("nan"), Recorder(np.zeros(1)), seed=3)
    assert caught.value.outside_rollouts
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.rows) == (str(caught.value), [0])
    assert again.outside_rollouts, "an evaluation in a worker is no rollout of RecurrentPPO either"


def test_all_learners_have_one_error_of_rewards():
    from iap_gym.baselines import ppo

    assert NonFiniteRewardError is ppo.NonFiniteRewardError is non_finite.NonFiniteRewardError
    for base in (ppo.NonFiniteError, ValueError, FloatingPointError):
        assert issubclass(NonFiniteRewardError, base)


def make_pendulum(g=10.0):
    return gymnasium.make("Pendulum-v1", g=g)


def gravity(env):
    g = env.unwrapped.g
    env.close()
    return g


def test_every_form_of_env_makes_the_same():
    by_id = resolve("Pendulum-v1", {"g": 3.0})
    by_module = resolve("gymnasium:Pendulum-v1", {"g": 3.0})
    by_callable = resolve(make_pendulum, {"g": 3.0})
    env = make_pendulum(3.0)
    by_env = resolve(env)
    assert by_env.env is env
    for source in (by_id, by_module, by_callable, by_env):
        travelled = cloudpickle.loads(cloudpickle.dumps(source.for_workers()))
        assert travelled.env is None
        assert gravity(travelled.make()) == 3.0
    env.close()
    assert gravity(resolve(lambda: make_pendulum(4.0)).make()) == 4.0


def test_sources_of_json_types_are_kept():
    source = resolve("Pendulum-v1", {"g": 3.0})
    again = EnvSource.from_json(json.loads(json.dumps(source.to_json())))
    made = again.make()
    assert made.spec.max_episode_steps == 200
    assert gravity(made) == 3.0
    assert resolve(make_pendulum).to_json() is None
    assert resolve("Pendulum-v1", {"g": object()}).to_json() is None
    assert resolve(FollowBlob()).to_json() is None


class Unrecorded(gymnasium.Wrapper):
    pass


@pytest.mark.parametrize(
    ("env", "kwargs", "message"),
    [
        (3, None, "^env: expected an id"),
        ("a:b:c-v0", None, "^env: expected an id, or module:id"),
        (FollowBlob(), {"horizon": 3}, "^env_kwargs: expected none"),
    ],
)
def test_what_is_no_env_is_refused(env, kwargs, message):
    with pytest.raises(ValueError, match=message):
        resolve(env, kwargs)


def test_what_cannot_be_made_again_is_refused():
    with pytest.raises(ValueError, match="whose spec is None"):
        resolve(FollowBlob()).for_workers()
    with gymnasium.make("Pendulum-v1") as env:
        with pytest.raises(ValueError, match="wrappers that record"):
            resolve(Unrecorded(env)).for_workers()
        vector = gymnasium.make_vec("Pendulum-v1", num_envs=1, vectorization_mode="sync")
        with pytest.raises(ValueError, match="^env: expected"):
            resolve(vector)
        vector.close()
    with pytest.raises(ValueError, match=r"^env\(\): expected"):
        resolve(lambda: None).make()
    with pytest.raises(gymnasium.error.Error, match="NoSuch"):
        resolve("NoSuchThing-v0")
