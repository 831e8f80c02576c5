"""``iap-gym evaluate --planner icem`` and ``iap-gym reproduce`` of world models."""

import json

import pytest

from iap_gym.cli.main import main

ENV = "iap_gym/RobotRemoteControl-v0"
PLAN = ["--planner", "icem", "--episodes", "2", "--horizon", "10", "--samples", "16"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("planned")
    words = ["--data", str(place / "data"), "--sequences", "64", "--test-sequences", "32"]
    words += ["--epochs", "1", "--algo-kwargs", "batch_size=32", "--no-progress"]
    words += ["--algo", "world-model", "--env", ENV, "--run", str(place / "run")]
    assert main(["train", *words]) == 0
    return place / "run"


def test_a_model_and_the_true_simulator(run, capsys):
    capsys.readouterr()
    assert main(["evaluate", str(run), *PLAN]) == 0
    assert main(["evaluate", str(run), *PLAN, "--true-simulator"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"iCEM on the model of {run}: horizon 10, 16 samples, radii times 1.5" in lines[0]
    assert "of 2 episodes" in lines[1]
    assert "iCEM on the true simulator" in lines[2]
    planned = json.loads((run / "planning.json").read_text())
    assert [list(found["episodes"]) for found in planned] == [["1000000", "1000001"]] * 2
    page = (run / "report.html").read_text()
    assert page.count("iCEM on") == 2


def test_the_simulator_without_a_run(capsys):
    assert main(["evaluate", "--env", ENV, *PLAN]) == 0
    assert "success" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evaluate"], "RUN: expected a run folder, got nothing"),
        (["evaluate", *PLAN], "RUN: expected a run of a world model or --env ID"),
        (["evaluate", "RUN", "--env", ENV, *PLAN], "--env: expected RUN or --env, got both"),
        (["evaluate", "RUN", "--horizon", "3"], "--horizon: expected --planner beside it"),
        (["evaluate", "RUN", "--true-simulator"], "--true-simulator: expected --planner"),
        (["evaluate", "RUN", "--sampled", *PLAN], "trained agents, got --sampled"),
        (["evaluate", "--env", "CartPole-v1", *PLAN], "env: expected one of"),
        (["evaluate", "--env", "iap_gym/BilliardBall-v0", *PLAN], "env: expected one of"),
        (["reproduce", "theorem", "--seeds", "3"], "expected no options of world models"),
        (["reproduce", "theorem", "--budget", "paper"], "--budget: expected one of smoke, small"),
        (["reproduce", "rrc", "--also", "x"], "also: expected one of 'retuned'"),
    ],
)
def test_bad_arguments(run, capsys, words, message):
    assert main([str(run) if word == "RUN" else word for word in words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_reproduce_with_options(capsys, tmp_path, monkeypatch):
    from iap_gym.baselines.experiments.reproduce import billiard
    from iap_gym.baselines.experiments.reproduce.model_target import Budget

    monkeypatch.setitem(billiard.BUDGETS, "smoke", Budget(1, {"billiard": 2}, 32, 32, 1, 32))
    words = ["--budget", "smoke", "--cores", "elman", "--also", "teacher", "--workers", "1"]
    words += ["--epochs", "1", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "out")]
    assert main(["reproduce", "billiard", *words]) == 0
    out = capsys.readouterr().out
    assert "| elman | 1 |" in out
    assert "| teacher elman | 1 |" in out
    assert "gatel0rd" not in out.split("| the paper")[0]
    assert main(["reproduce", "billiard", *words, "--report"]) == 0
