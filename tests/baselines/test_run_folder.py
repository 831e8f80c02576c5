"""The run folder: what is written is read back, and what is foreign is refused by name."""

import json

import numpy as np
import pytest

from iap_gym._files import replacing, write_text
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.loading import has_splits
from iap_gym.baselines.experiments.run import Run, rows_until


@pytest.fixture
def config():
    return TrainConfig(env="CartPole-v1", total_timesteps=100, algo_kwargs={"sigma": 0.2})


def test_config_comes_back(tmp_path, config):
    Run.create(tmp_path / "run", config)
    assert Run.open(tmp_path / "run").config() == config


def test_metrics_come_back(tmp_path, config):
    run = Run.create(tmp_path / "run", config)
    run.write_metrics([{"timesteps": 3, "mean_return": 0.1}, {"timesteps": 6, "mean_return": -2}])
    metrics = run.metrics()
    np.testing.assert_array_equal(metrics["timesteps"], [3, 6])
    np.testing.assert_array_equal(metrics["mean_return"], [0.1, -2])


def test_a_number_that_is_missing_comes_back_as_nan(tmp_path, config):
    run = Run.create(tmp_path / "run", config)
    rows = [{"timesteps": 3, "gate_rate": None}, {"timesteps": 6, "gate_rate": 0.5}]
    run.write_evaluations(rows)
    np.testing.assert_array_equal(run.evaluations()["gate_rate"], [np.nan, 0.5])
    assert rows_until(run.evaluations_file, 5) == [{"timesteps": "3", "gate_rate": ""}]
    assert rows_until(run.metrics_file, 5) == []


def test_config_of_the_first_release_still_opens(tmp_path):
    fields = {
        "env": "CartPole-v1", "algo": "es", "policy": "MlpPolicy", "total_timesteps": 100,
        "seed": 3, "workers": 2, "env_kwargs": {}, "policy_kwargs": {"hidden_size": 4},
        "algo_kwargs": {"sigma": 0.2},
    }  # fmt: skip
    content = {"format": "iap_gym run", "version": 1, "iap_gym": "0.1.0", "config": fields}
    (tmp_path / "config.json").write_text(json.dumps(content))
    config = Run.open(tmp_path).config()
    assert {name: getattr(config, name) for name in fields} == fields
    assert (config.core, config.eval_every) == (None, None)


def test_a_folder_with_something_in_it_is_never_overwritten(tmp_path, config):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(FileExistsError, match="exists already; name another folder"):
        Run.create(tmp_path, config)


def test_no_run_says_what_was_looked_for(tmp_path):
    with pytest.raises(FileNotFoundError, match="is no run: it has no config.json"):
        Run.open(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "config.json: expected JSON"),
        ("[]", "config.json: expected a config of an iap_gym run"),
        (json.dumps({"format": "iap_gym run", "version": 99, "config": {}}), "version 1, got 99"),
        (
            json.dumps({"format": "iap_gym run", "version": 1, "config": {"env": "A", "sed": 1}}),
            "'sed'; did you mean seed",
        ),
    ],
)
def test_damaged_config_is_refused(tmp_path, text, message):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        Run.open(tmp_path).config()


def test_metrics_that_are_no_table_of_numbers_are_refused(tmp_path, config):
    run = Run.create(tmp_path / "run", config)
    with pytest.raises(FileNotFoundError, match=r"no metrics.csv yet"):
        run.metrics()
    run.metrics_file.write_text("timesteps,mean_return\n3,many\n")
    with pytest.raises(ValueError, match="metrics.csv: expected a table of numbers"):
        run.metrics()
    for text, message in (
        ("", "got no row"),
        ("timesteps,mean_return\n", "got no row"),
        ("timesteps,mean_return\n3,1\n6", "row 2 ends before its last column"),
    ):
        run.metrics_file.write_text(text)
        for read in (run.metrics, lambda: rows_until(run.metrics_file, 9)):
            with pytest.raises(ValueError, match=f"metrics.csv: expected a table of .*{message}"):
                read()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"env": 3}, "env: expected the id"),
        ({"env": "A", "algo": "sac"}, "algo: expected one of 'es', 'ppo', got 'sac'"),
        ({"env": "A", "core": "lstm"}, "core: expected nothing beside algo 'es', got 'lstm'"),
        ({"env": "A", "eval_every": 0}, "eval_every: expected an integer >= 1"),
        ({"env": "A", "start_from": 3}, "start_from: expected a path, a dict of paths"),
        ({"env": "A", "eval_env_kwargs": 3}, "eval_env_kwargs: expected a dict"),
        ({"env": "A", "algo": "ppo", "start_from": "B"}, "start_from: expected nothing beside"),
        ({"env": "A", "algo": "ppo", "core": "gru2"}, "core: expected one of 'gatel0rd', .*'gru2'"),
        ({"env": "A", "algo": "ppo", "eval_every": 0}, "eval_every: expected an integer >= 1"),
        ({"env": "A", "algo": "ppo", "checkpoint_every": 0}, "checkpoint_every: expected an int"),
        ({"env": "A", "algo": "ppo", "eval_episodes": 0}, "eval_episodes: expected an integer >="),
        ({"env": "A", "algo": "ppo", "eval_sampled": 1}, "eval_sampled: expected True or False"),
        ({"env": "A", "policy": 3}, "policy: expected the name of a policy or None, got 3"),
        ({"env": "A", "workers": 0}, "workers: expected an integer >= 1, got 0"),
        ({"env": "A", "seed": -1}, "seed: expected an integer >= 0, got -1"),
        ({"env": "A", "env_kwargs": [1]}, "env_kwargs: expected a dict"),
        ({"env": "A", "algo_kwargs": {"seed": 3}}, "algo_kwargs: expected no 'seed', which has a"),
    ],
)
def test_wrong_config_names_the_field(fields, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**fields)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "weights.bin"
    write_text(target, "old")

    def fail():
        with replacing(target) as temporary:
            temporary.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["weights.bin"]


def test_an_id_may_name_the_module_that_registers_it():
    assert not has_splits("gymnasium.envs.classic_control:CartPole-v1")
    assert has_splits("iap_gym:iap_gym/DistractingWalkerWalk-v0")
