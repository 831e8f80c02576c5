"""Comparison agents, paired differences and the report page."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.experiments.agents import RandomAgent, ZeroAgent, zero_action
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.evaluate import (
    Evaluation,
    load_evaluations,
    save_evaluations,
    table,
)
from iap_gym.baselines.experiments.loading import has_splits, make_env
from iap_gym.baselines.experiments.report import write_report
from iap_gym.baselines.experiments.run import Run


@pytest.mark.parametrize(
    ("space", "action"),
    [
        (spaces.Box(-1, 1, (2,)), [0, 0]),
        (spaces.Box(np.float32([0.5, -2]), np.float32([1, -1])), [0.5, -1]),
        (spaces.Discrete(3), 0),
        (spaces.Discrete(3, start=-1), -1),
        (spaces.MultiDiscrete([2, 3]), [0, 0]),
        (spaces.MultiBinary(2), [0, 0]),
    ],
)
def test_zero_action_is_in_its_space(space, action):
    found = zero_action(space)
    np.testing.assert_array_equal(found, action)
    assert space.contains(found if found.shape else int(found))


def test_space_without_a_zero_is_refused():
    with pytest.raises(ValueError, match="action space: expected Box, Discrete or Multi"):
        zero_action(spaces.Text(3))


def test_random_agent_depends_on_its_seed_alone():
    env = gymnasium.make("Pendulum-v1")
    returns = [run_episode(env, RandomAgent(env.action_space, seed), 5) for seed in (1, 1, 2)]
    assert returns[0] == returns[1] != returns[2]


def test_zero_agent_lets_a_pole_fall():
    episode = run_episode(gymnasium.make("CartPole-v1"), ZeroAgent(spaces.Discrete(2)), 0)
    assert 5 < episode.length < 20


EVALUATION = Evaluation(
    "CartPole-v1",
    None,
    (7, 8, 9, 10, 11),
    {
        "trained": (3.0, 5.0, 10.0, 6.0, 6.0),
        "random": (1.0, 4.0, 4.0, 3.0, 3.0),
        "blind": (3.0, 5.0, 10.0, 6.0, 6.0),
    },
)


def test_difference_is_paired():
    difference = EVALUATION.difference("random")
    assert difference.mean == pytest.approx((2 + 1 + 6 + 3 + 3) / 5)
    assert 1 <= difference.low <= difference.mean <= difference.high <= 6
    same = EVALUATION.difference("blind")
    assert (same.low, same.mean, same.high) == (0, 0, 0)


def test_table_has_a_line_for_each_agent():
    lines = table(EVALUATION).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["trained", "random", "blind"]
    assert lines[2].split()[1] == "6.0"
    assert lines[3].split()[-3] == "3.0"


@pytest.fixture
def run(tmp_path):
    return Run.create(tmp_path / "<run>", TrainConfig(env="CartPole-v1"))


def test_damaged_evaluation_is_refused_by_name(run):
    run.evaluation_file.write_text('[{"env": 3}]')
    with pytest.raises(ValueError, match="evaluation.json: expected what iap-gym evaluate wrote"):
        load_evaluations(run)


def test_evaluations_come_back(run):
    assert load_evaluations(run) == []
    save_evaluations(run, [EVALUATION])
    assert load_evaluations(run) == [EVALUATION]


def test_report_shows_what_there_is_and_escapes_names(run):
    write_report(run)
    assert "Evaluation" not in run.report_file.read_text()
    save_evaluations(run, [EVALUATION])
    write_report(run)
    page = run.report_file.read_text()
    assert str(EVALUATION.mean("trained")) in page
    assert "<run>" not in page
    assert "&lt;run&gt;" in page


@pytest.mark.parametrize(
    ("env_id", "splits"),
    [
        ("CartPole-v1", False),
        ("iap_gym/DistractingCartpoleSwingup-v0", True),
        ("iap_gym:iap_gym/DistractingCartpoleSwingup-v0", True),
    ],
)
def test_splits_are_those_of_backgrounds(env_id, splits):
    assert has_splits(env_id) == splits
    config = TrainConfig(env=env_id)
    if splits:
        env = make_env(config, "val", observation="state")
        assert env.unwrapped.settings.split == "val"
        env.close()
    else:
        with pytest.raises(ValueError, match="split: CartPole-v1 has no train and val"):
            make_env(config, "val")
