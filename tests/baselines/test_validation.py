"""Evaluations during a run of evolution strategies, and runs that begin where another ended."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from safetensors.numpy import load_file

from iap_gym.baselines.evolution import EvolutionStrategies, run_episode
from iap_gym.baselines.experiments import validation
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.loading import load_agent
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train import settle, train

CONFIG = TrainConfig(
    env="CartPole-v1",
    total_timesteps=2000,
    seed=2,
    policy_kwargs={"squash": "tanh"},
    algo_kwargs={"population_size": 6, "sigma": 0.5, "learning_rate": 0.3},
    eval_every=500,
    eval_episodes=3,
    eval_env_kwargs={"max_episode_steps": 60},
)


def trained(path, config=CONFIG):
    run = Run.create(path, settle(config))
    train(run)
    return run


def columns(run):
    table = run.evaluations()
    return {name: table[name] for name in table if name != "seconds"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("runs") / "cart")


def test_the_centre_is_played_at_the_start_every_so_many_steps_and_at_the_end(run):
    steps = run.metrics()["timesteps"]
    before = np.concatenate([[0], steps[:-1]])
    due = steps[(steps // 500 > before // 500) | (steps >= 2000)]
    table = run.evaluations()
    np.testing.assert_array_equal(table["timesteps"], [0, *due])
    assert (table["episodes"] == 3).all()
    assert (table["mean_length"] <= 60).all()  # eval_env_kwargs, not the environment of training
    np.testing.assert_array_equal(table["mean_return"], table["mean_length"])  # CartPole pays 1


def test_the_last_row_is_what_the_policy_does_on_the_seeds_of_validation(run):
    policy = EvolutionStrategies.load(run.checkpoint_file).policy
    env = gymnasium.make("CartPole-v1", max_episode_steps=60)
    seeds = range(validation.FIRST_SEED, validation.FIRST_SEED + 3)
    returns = [run_episode(env, policy, seed).total_reward for seed in seeds]
    assert run.evaluations()["mean_return"][-1] == pytest.approx(np.mean(returns))


def test_the_best_generation_is_kept_and_is_what_acts(run):
    env = gymnasium.make("CartPole-v1", max_episode_steps=60)
    agent = load_agent(run, env)
    for name, array in load_file(run.best_file).items():
        np.testing.assert_array_equal(agent.state_dict()[name], array)
    seeds = range(validation.FIRST_SEED, validation.FIRST_SEED + 3)
    returns = [run_episode(env, agent, seed).total_reward for seed in seeds]
    assert np.mean(returns) == pytest.approx(run.evaluations()["mean_return"].max())


def test_evaluations_change_nothing_of_the_search(run, tmp_path):
    plain = dataclasses.replace(CONFIG, eval_every=None, eval_env_kwargs={})
    other = trained(tmp_path / "plain", plain)
    assert not other.best_file.exists()
    assert other.weights_file.read_bytes() == run.weights_file.read_bytes()


def test_a_run_that_goes_on_ends_as_one_that_was_not_interrupted(run, tmp_path, monkeypatch):
    other = Run.create(tmp_path / "half", CONFIG)
    saves = []
    real = EvolutionStrategies.save

    def save(self, path):
        saves.append(self.generation)
        if len(saves) == 5:  # between the evaluation of a generation and its checkpoint
            raise KeyboardInterrupt
        return real(self, path)

    monkeypatch.setattr(EvolutionStrategies, "save", save)
    with pytest.raises(KeyboardInterrupt):
        train(other)
    monkeypatch.undo()
    train(Run.open(other.path))
    assert other.weights_file.read_bytes() == run.weights_file.read_bytes()
    assert other.best_file.read_bytes() == run.best_file.read_bytes()
    for name, column in columns(run).items():
        np.testing.assert_array_equal(columns(other)[name], column)


def test_workers_change_nothing(run, tmp_path):
    spread = trained(tmp_path / "spread", dataclasses.replace(CONFIG, workers=2))
    assert spread.best_file.read_bytes() == run.best_file.read_bytes()
    for name, column in columns(run).items():
        np.testing.assert_array_equal(columns(spread)[name], column)


class TestStart:
    def test_a_run_begins_with_the_best_of_another(self, run, tmp_path):
        config = dataclasses.replace(CONFIG, start_from=str(run.path), seed=5)
        other = trained(tmp_path / "on", config)
        table = other.evaluations()
        assert table["mean_return"][0] == run.evaluations()["mean_return"].max()
        assert other.config().start_from == str(run.path)

    def test_it_does_not_need_the_other_any_more(self, run, tmp_path, monkeypatch):
        start = tmp_path / "start.safetensors"
        start.write_bytes(run.best_file.read_bytes())
        config = dataclasses.replace(CONFIG, start_from=str(start), seed=5)
        whole = trained(tmp_path / "whole", config)
        broken = Run.create(tmp_path / "broken", config)
        with monkeypatch.context() as patch:
            patch.setattr(EvolutionStrategies, "learn", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                train(broken)
        start.unlink()
        train(Run.open(broken.path))
        assert broken.weights_file.read_bytes() == whole.weights_file.read_bytes()

    def test_what_does_not_fit_is_refused_before_a_folder_is_made(self, run):
        for changes, message in (
            (
                {"policy": "MlpPolicy"},
                "start_from: expected a run of MlpPolicy, got .*Linear",
            ),
            ({"env": "MountainCar-v0", "eval_env_kwargs": {}}, "start_from: .* does not fit"),
            ({"start_from": 3}, "^start_from: expected a path"),
            ({"eval_env_kwargs": 3}, "^eval_env_kwargs: expected a dict"),
            ({"algo": "ppo", "policy_kwargs": {}}, "^start_from: expected nothing beside"),
        ):
            with pytest.raises(ValueError, match=message):
                settle(TrainConfig(**{**CONFIG.to_json(), "start_from": str(run.path), **changes}))


def test_an_evaluation_in_another_space_is_refused():
    config = TrainConfig(
        env="iap_gym/QuadrupedObstacleCourse-v0",
        policy="HierarchicalPolicy",
        env_kwargs={"control": "latent", "physics": "kinematic"},
        eval_env_kwargs={"camera_size": 16},
        eval_every=10,
    )
    pytest.importorskip("pybullet")
    with pytest.raises(ValueError, match="^eval_env_kwargs: expected the observation_space"):
        settle(config)


def _interrupt(*args, **kwargs):
    raise KeyboardInterrupt
