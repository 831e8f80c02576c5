"""Policies that come with the package, and walkers to compare with."""

import gymnasium
import numpy as np
import pytest

from iap_gym.baselines.evolution import run_episode
from iap_gym.baselines.experiments.agents import LastInfo
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.loading import load_agent
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train import train
from iap_gym.baselines.presets import training
from iap_gym.baselines.quadruped import PRETRAINED, OracleWalker, load_pretrained, stages
from iap_gym.baselines.quadruped.pretrained import FOLDER, add_pretrained
from iap_gym.envs.quadruped.navigation_walkers import straight_walker

pytest.importorskip("pybullet")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    fields = training("quadruped-surrogate")
    fields["algo_kwargs"] = {"population_size": 2, "max_episode_steps": 2, "sigma": 0.3}
    fields |= {"total_timesteps": 4, "eval_every": None, "eval_env_kwargs": {"course": "easy"}}
    made = Run.create(tmp_path_factory.mktemp("runs") / "run", TrainConfig(**fields))
    train(made)
    return made


def test_what_is_added_is_what_the_run_has_trained(run, tmp_path):
    add_pretrained("first", run, "iap-gym train ...", tmp_path)
    add_pretrained("second", run, "other", tmp_path)
    found = load_pretrained("first", tmp_path)
    assert (found.env, found.command) == (stages.ENV, "iap-gym train ...")
    env = found.make_env(episode_steps=40)
    assert env.unwrapped.task.course.num_walls == 3  # what it was chosen in, "easy"
    expected = load_agent(run, env)
    for name, array in expected.state_dict().items():
        np.testing.assert_array_equal(found.policy.state_dict()[name], array)
    assert run_episode(env, found.policy, seed=0) == run_episode(env, expected, seed=0)
    env.close()
    with pytest.raises(ValueError, match="^name: expected one of 'first', 'second', got 'third'"):
        load_pretrained("third", tmp_path)


@pytest.mark.parametrize("name", PRETRAINED)
def test_every_policy_of_the_package_acts_and_is_small(name):
    found = load_pretrained(name)
    assert "iap-gym train" in found.command
    env = found.make_env()
    observation, _ = env.reset(seed=0)
    actions, _ = found.policy.act({key: value[None] for key, value in observation.items()})
    assert env.action_space.contains(actions[0])
    env.close()
    assert (FOLDER / f"{name}.safetensors").stat().st_size < 64 * 1024


@pytest.mark.parametrize("name", ["quadruped-iap", "quadruped-cnn"])
def test_the_policies_of_the_course_walk_farther_than_the_blind_walk(name):
    """On held-out courses; on 60 of them the lead is 3.4 and 2 (docs/quadruped_training.md)."""
    found = load_pretrained(name)
    env = found.make_env()
    blind = np.zeros((1, 3), np.float32)

    class Blind:
        def act(self, observations, state=None, episode_start=None):
            return blind, None

    trained, walk = (
        np.mean(
            [run_episode(env, walker, seed).total_reward for seed in range(1_000_000, 1_000_012)]
        )
        for walker in (found.policy, Blind())
    )
    env.close()
    assert trained > walk + 1.0


@pytest.mark.slow
def test_the_policy_of_navigation_reaches_more_goals_than_who_turns_to_the_goal():
    """In the benchmark's apartments; in all 100 it is 42 against 23 (docs/navigation.md)."""
    found = load_pretrained("quadruped-navigation")
    env = LastInfo(found.make_env())
    plain = LastInfo(gymnasium.make(found.env, camera=False))
    goals = {"trained": 0, "straight": 0}
    walk = straight_walker()
    for seed in range(1_000, 1_030):
        run_episode(env, found.policy, seed)
        goals["trained"] += env.info["success"]
        observation, _ = plain.reset(seed=seed)
        over = False
        while not over:
            observation, _, *over, _ = plain.step(walk(observation))
            over = any(over)
        goals["straight"] += plain.info["success"]
    env.close()
    plain.close()
    assert goals["trained"] > goals["straight"]


def test_the_oracle_walks_farther_than_the_blind_walk():
    env = gymnasium.make(stages.ENV, control="latent", camera=False, physics="kinematic")

    class Blind:
        def act(self, observations, state=None, episode_start=None):
            return np.zeros((1, 2), np.float32), None

    oracle, blind = (
        np.array([run_episode(env, walker, seed).total_reward for seed in range(8)])
        for walker in (OracleWalker(env), Blind())
    )
    assert oracle.mean() > blind.mean() + 3
    env.close()
    for wrong in (gymnasium.make("CartPole-v1"), gymnasium.make(stages.ENV, control="motors")):
        with pytest.raises(ValueError, match="^env: expected the obstacle course"):
            OracleWalker(wrong)
