"""``iap-gym train --algo ppo`` as a user runs it."""

import json

import numpy as np
import pytest

from iap_gym.baselines.experiments.run import Run
from iap_gym.cli import main as cli
from tests.baselines.run_envs import HERE

SMALL = ["--algo-kwargs", "n_steps=16", "batch_size=32", "n_epochs=1", "bptt=16"]
CART = ["train", "--algo", "ppo", "--env", "CartPole-v1", "--no-progress"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("minigrid")
    path = tmp_path_factory.mktemp("runs") / "door"
    words = ["train", "--algo", "ppo", "--env", "MiniGrid-DoorKey-5x5-v0", "--core", "gatel0rd"]
    words += ["--timesteps", "300", "--n-envs", "4", "--checkpoint-every", "2", "--no-progress"]
    words += ["--eval-every", "128", "--eval-episodes", "3", "--env-kwargs", "max_steps=40"]
    assert cli.main([*words, *SMALL, "--run", str(path)]) == 0
    return path


def test_training_leaves_a_whole_run(folder):
    run = Run.open(folder)
    np.testing.assert_array_equal(run.metrics()["timesteps"], 64 * np.arange(1, 6))
    np.testing.assert_array_equal(run.evaluations()["timesteps"], [128, 256, 320])
    evaluations = run.evaluations()
    for name in ("success_rate", "gate_rate"):
        assert ((evaluations[name] >= 0) & (evaluations[name] <= 1)).all()
    np.testing.assert_array_equal(evaluations["mean_return"] > 0, evaluations["success_rate"] > 0)
    for file in (run.checkpoint_file, run.weights_file, run.curve_file, run.report_file):
        assert file.stat().st_size > 0
    config = json.loads(run.config_file.read_text())["config"]
    assert config["policy"] == "CnnCorePolicy"
    assert config["policy_kwargs"]["hidden_size"] == 64
    assert config["algo_kwargs"]["gate_penalty"] == 0.01
    assert config["algo_kwargs"]["n_envs"] == 4


def test_tensorboard_holds_metrics_and_evaluations(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = Run.open(folder)
    events = EventAccumulator(str(run.tensorboard_dir))
    events.Reload()
    for tag, column in (
        ("ppo/gate_rate", run.metrics()["gate_rate"]),
        ("evaluation/mean_return", run.evaluations()["mean_return"]),
    ):
        found = [event.value for event in events.Scalars(tag)]
        np.testing.assert_allclose(found, column, rtol=1e-6)


def test_a_finished_run_resumes_to_itself_and_says_what_it_reached(folder, capsys):
    before = Run.open(folder).weights_file.read_bytes()
    assert cli.main(["train", "--resume", str(folder), "--no-progress"]) == 0
    assert Run.open(folder).weights_file.read_bytes() == before
    run, summary = capsys.readouterr().out.splitlines()
    assert run == f"run: {folder}"
    assert summary.startswith("320 steps in 5 updates; in 3 episodes mean return ")
    assert ", success rate " in summary
    assert ", gate rate " in summary


def test_training_is_silent_but_for_two_lines(tmp_path, capfd):
    words = [*CART, "--timesteps", "64", "--core", "lstm", "--n-envs", "2", *SMALL]
    assert cli.main([*words, "--run", str(tmp_path / "run")]) == 0
    out, err = capfd.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["run:", "64"]
    assert err == ""


def test_summary_says_that_no_episode_has_ended(tmp_path, capsys):
    words = ["train", "--algo", "ppo", "--env", f"{HERE}:Endless-v0", "--timesteps", "16"]
    words += ["--n-envs", "2", "--no-progress", *SMALL, "--run", str(tmp_path / "run")]
    assert cli.main(words) == 0
    assert "32 steps in 1 updates; no episode ended yet;" in capsys.readouterr().out


def test_a_run_goes_on_to_more_steps(tmp_path):
    words = [*CART, "--timesteps", "64", "--n-envs", "2", *SMALL, "--run", str(tmp_path / "run")]
    assert cli.main(words) == 0
    more = ["train", "--resume", str(tmp_path / "run"), "--timesteps", "128", "--no-progress"]
    assert cli.main(more) == 0
    run = Run.open(tmp_path / "run")
    assert run.config().total_timesteps == 128
    np.testing.assert_array_equal(run.metrics()["timesteps"], [32, 64, 96, 128])


@pytest.mark.parametrize(
    ("option", "value"),
    [("--core", "lstm"), ("--eval-every", "10"), ("--n-envs", "3"), ("--checkpoint-every", "9")],
)
def test_what_the_config_decides_is_refused_with_resume(folder, capsys, option, value):
    assert cli.main(["train", "--resume", str(folder), option, value]) == 2
    assert f"expected no option that the run's config decides, got {option}\n" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--core", "gru2"], "core: expected one of 'gatel0rd', 'lstm'"),
        (["--policy", "LstmPolicy"], "policy: expected one of 'MlpCorePolicy'"),
        (["--selector", "patch_size=2"], "selector: expected nothing beside algo 'ppo'"),
        (["--eval-episodes", "3"], "--eval-episodes: expected --eval-every STEPS beside it"),
        (["--eval-deterministic"], "--eval-deterministic: expected --eval-every STEPS beside it"),
        (["--algo-kwargs", "core_kwargs=5"], "core_kwargs: expected"),
        (["--algo-kwargs", "gamma=2"], "gamma: expected"),
        (["--algo-kwargs", "device=gpu"], "device: expected 'cpu', 'cuda', 'cuda:N' or 'auto'"),
        (["--algo-kwargs", "device=meta"], "device: expected 'cpu', 'cuda', 'cuda:N' or 'auto'"),
        (["--algo-kwargs", "device=cuda:99"], "device: expected one of this machine, where torch"),
        (["--algo-kwargs", "n_step=2"], "such as n_steps"),
        (["--algo-kwargs", "n_envs=2", "--n-envs", "2"], "no n_envs beside --n-envs"),
        (["--algo-kwargs", "core=lstm"], "no 'core', which has a field of its own"),
        (["--algo-kwargs", "gamma=high"], "gamma"),
        (["--algo-kwargs", "learning_rate=high"], "learning_rate: expected a number > 0"),
        (["--algo-kwargs", "batch_size=1", "n_envs=1", "n_steps=1"], "minibatches of at least 2"),
        (["--policy-kwargs", "hidden_size=0"], "hidden_size: expected an integer >= 1, got 0"),
        (["--policy-kwargs", "hidden=3"], "hidden"),
        (["--policy-kwargs", "lstm_hidden_size=3"], "hidden_size"),
        (["--env-kwargs", "height=3"], "height"),
        (["--eval-every", "0"], "--eval-every: expected an integer >= 1"),
        (["--env", "MiniGrid-NoSuch-v0"], "NoSuch"),
        (["--algo", "es", "--core", "lstm"], "core: expected nothing beside algo 'es'"),
        (["--start-from", "there"], "start_from: expected nothing beside algo 'ppo'"),
        (["--algo", "es", "--n-envs", "9"], "n_envs"),
        (["--algo", "es", "--env", "MiniGrid-Empty-5x5-v0"], "MiniGrid's train with --algo ppo"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_mistake_gets_one_line_and_code_2(words, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main([*CART, *words]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert message in err
    assert not list(tmp_path.iterdir()), "a refused command must leave nothing behind"


def test_environment_that_fails_is_a_failure_in_one_line(capsys, tmp_path):
    words = ["train", "--algo", "ppo", "--env", f"{HERE}:Failing-v0", "--n-envs", "2", *SMALL]
    words += ["--workers", "2", "--no-progress", "--run", str(tmp_path / "run")]
    assert cli.main(words) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "KeyError: 'sky'" in err


def test_nan_is_a_failure_in_one_line(capsys, tmp_path):
    words = ["train", "--algo", "ppo", "--env", f"{HERE}:Faulty-v0", "--n-envs", "2", *SMALL]
    words += ["--env-kwargs", "fault_at=40", "--no-progress", "--run", str(tmp_path / "run")]
    assert cli.main(words) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "expected finite numbers, got NaN or infinity from environment" in err
    assert "the checkpoint of step 0 stays" in err
