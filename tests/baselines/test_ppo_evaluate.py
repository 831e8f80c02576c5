"""Evaluation of recurrent agents: the same episodes for all, and zero-shot transfer."""

import dataclasses
import pickle

import gymnasium
import numpy as np
import pytest

from iap_gym.baselines.evolution.rollout import run_episode
from iap_gym.baselines.experiments.agents import FirstObservation
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.evaluate import (
    Evaluation,
    evaluate,
    load_evaluations,
    save_evaluations,
    table,
)
from iap_gym.baselines.experiments.loading import load_agent, make_env
from iap_gym.baselines.experiments.play import Task
from iap_gym.baselines.experiments.report import evaluation_notes, write_report
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train import train
from tests.baselines.run_envs import HERE, hardly_trained

pytest.importorskip("minigrid")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return hardly_trained(tmp_path_factory.mktemp("runs") / "empty", max_steps=40)


@pytest.fixture(scope="module")
def sampled(run):
    return evaluate(run, 20, sampled=True)


def test_returns_are_those_of_episodes_played_one_by_one(run):
    evaluation = evaluate(run, 3, kinds=("blind",), first_seed=5)
    env = make_env(run.config())
    for kind, blind in (("trained", False), ("blind", True)):
        played, open_gates, steps = [], 0.0, 0
        for seed in (5, 6, 7):
            agent = load_agent(run, env)
            seen = []
            episode = run_episode(
                env,
                agent,
                seed,
                blind=blind,
                watch=lambda *_: seen.append(agent.gates.mean()),  # noqa: B023
            )
            played.append(episode.total_reward)
            open_gates, steps = open_gates + sum(seen), steps + episode.length
        assert evaluation.returns[kind] == tuple(played)
        assert evaluation.gate_rates[kind] == pytest.approx(open_gates / steps)
    env.close()


def test_sampled_actions_solve_some_episodes(run, sampled):
    # A barely trained agent walks at random; in 40 steps some walks of an empty room arrive.
    assert 0 < sampled.success_rates["trained"] < 1
    assert sampled.success_rates["zero"] == 0
    solved = np.array(sampled.returns["trained"]) > 0
    assert sampled.success_rates["trained"] == solved.mean()
    assert evaluate(run, 20, kinds=()).returns["trained"] != sampled.returns["trained"]


def test_a_task_in_another_process_gives_the_same(run, sampled):
    """What processes do: they unpickle the task, and play groups that ask not for the workers."""
    task = Task(str(run.path), run.config(), None, "trained", sampled=True)
    groups = task.divide(sampled.seeds, workers=1)
    assert [len(group) for group in groups] == [16, 4]
    assert task.divide(sampled.seeds, workers=3) == groups
    parts = [pickle.loads(pickle.dumps(task)).play(group) for group in reversed(groups)]
    assert parts[1].returns + parts[0].returns == sampled.returns["trained"]


@pytest.mark.slow
def test_evaluation_does_not_depend_on_the_workers(run, sampled):
    assert evaluate(run, 20, sampled=True, workers=2) == sampled


def test_an_evaluation_says_how_it_was_played(run, sampled):
    assert sampled.timesteps == 64
    assert set(sampled.gate_rates) == {"trained", "blind"}
    title, header, *rows = table(sampled).splitlines()
    assert title.startswith("MiniGrid-Empty-5x5-v0, sampled actions, 20 episodes, 95 %")
    assert header.split()[:4] == ["agent", "success", "open", "gates"]
    assert rows[0].split()[1] == f"{sampled.success_rates['trained']:.1%}"
    assert rows[0].split()[2] == f"{sampled.gate_rates['trained']:.1%}"


def test_zero_shot_is_another_environment_of_the_same_spaces(run):
    there = evaluate(run, 2, env="MiniGrid-DoorKey-6x6-v0", env_kwargs={"max_steps": 9})
    assert there.env == "MiniGrid-DoorKey-6x6-v0"
    assert ", max_steps=9" in table(there)
    with pytest.raises(ValueError, match=r"^env: expected an environment that takes {'max_steps'"):
        evaluate(run, 2, env="CartPole-v1")
    with pytest.raises(ValueError, match=r"env_kwargs: .*'size_of'"):
        evaluate(run, 2, env_kwargs={"size_of": 9})
    with pytest.raises(ValueError, match=r"env: expected the observation_space .*\(9, 9, 3\)"):
        evaluate(run, 2, env_kwargs={"agent_view_size": 9})


def test_action_spaces_have_to_agree_too(run, monkeypatch):
    from iap_gym.baselines.experiments import evaluate as module

    def other(config, split=None, **kwargs):
        env = make_env(config, split, **kwargs)
        if config.env_kwargs["max_steps"] == 1:
            env.action_space = gymnasium.spaces.Discrete(3)
        return env

    monkeypatch.setattr(module, "make_env", other)
    with pytest.raises(
        ValueError, match=r"env: expected the action_space of training, Discrete\(7"
    ):
        evaluate(run, 2, env_kwargs={"max_steps": 1})


def test_success_is_what_the_environment_says(tmp_path):
    """``Recall`` says so at the end of an episode: whoever ends with a reward was right."""
    config = TrainConfig(
        env=f"{HERE}:Recall-v0",
        algo="ppo",
        total_timesteps=16,
        algo_kwargs={"n_envs": 2, "n_steps": 8, "batch_size": 8, "n_epochs": 1},
    )
    run = Run.create(tmp_path / "recall", config)
    train(run)
    evaluation = evaluate(run, 12)
    assert set(evaluation.success_rates) == set(evaluation.returns)
    for kind, returns in evaluation.returns.items():
        assert evaluation.success_rates[kind] == np.mean(np.array(returns) > 0)
    assert 0 < evaluation.success_rates["random"] < 1


def test_es_has_no_chance_to_sample(tmp_path):
    run = Run.create(tmp_path / "run", TrainConfig(env="CartPole-v1"))
    with pytest.raises(ValueError, match="sampled: expected False, as the actions of es"):
        evaluate(run, 2, sampled=True)


def test_evaluations_are_kept_apart_by_setting(run, sampled):
    others = [
        dataclasses.replace(sampled, sampled=False),
        dataclasses.replace(sampled, env="MiniGrid-DoorKey-6x6-v0"),
        dataclasses.replace(sampled, env_kwargs={"max_steps": 9}),
        dataclasses.replace(sampled, split="val"),
    ]
    save_evaluations(run, [sampled, *others])
    newer = dataclasses.replace(sampled, timesteps=99)
    save_evaluations(run, [newer])
    assert load_evaluations(run) == [newer, *others]


def test_evaluations_of_before_are_read(run, tmp_path):
    old = Run.create(tmp_path / "old", TrainConfig(env="CartPole-v1"))
    old.evaluation_file.write_text(
        '[{"env": "CartPole-v1", "split": null, "seeds": [1], "returns": {"trained": [3.0]}}]'
    )
    assert load_evaluations(old) == [Evaluation("CartPole-v1", None, (1,), {"trained": (3.0,)})]


def test_report_tells_of_updates_success_gates_and_older_evaluations(run, sampled):
    older = dataclasses.replace(sampled, env="MiniGrid-DoorKey-6x6-v0", timesteps=32)
    run.evaluation_file.unlink(missing_ok=True)
    save_evaluations(run, [sampled, older])
    write_report(run)
    page = run.report_file.read_text()
    assert (
        "CnnCorePolicy with core gatel0rd trained by ppo for 64 environment steps in 1 up" in page
    )
    assert "<b>MiniGrid-Empty-5x5-v0</b>, sampled actions, the same" in page
    assert "<b>MiniGrid-DoorKey-6x6-v0</b>, sampled actions, after 32 steps of training" in page
    assert f"<td>{sampled.success_rates['trained']:.1%}</td>" in page
    assert f"<td>{sampled.gate_rates['trained']:.1%}</td>" in page
    assert "sb3-contrib 2." in page


def test_report_explains_intervals_only_where_there_are_some(sampled):
    few = Evaluation("CartPole-v1", None, (1, 2), {"trained": (1.0, 2.0)})
    assert evaluation_notes([few]) == ""
    assert "95 % bootstrap" in evaluation_notes([few, sampled])
    blind = dataclasses.replace(few, returns={"trained": (1.0, 2.0), "blind": (1.0, 1.0)})
    assert "blind agent" in evaluation_notes([blind])
    assert "bootstrap" not in evaluation_notes([blind])


def test_a_blind_agent_sees_the_first_observation_of_each_episode():
    env = FirstObservation(gymnasium.make("CartPole-v1"))
    plain = gymnasium.make("CartPole-v1")
    for seed in (1, 2):
        first, _ = env.reset(seed=seed)
        plain.reset(seed=seed)
        for _ in range(3):
            seen, *rest = env.step(0)
            np.testing.assert_array_equal(seen, first)
            assert rest == list(plain.step(0)[1:])
            seen += 1.0  # what an agent does with its copy stays with it
