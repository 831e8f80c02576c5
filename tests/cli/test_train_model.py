"""``iap-gym train --algo world-model``, and what other commands say of its runs."""

import csv
import dataclasses
import os
import shutil

import pytest

from iap_gym.baselines.experiments.lock import in_use
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.cli.main import main
from iap_gym.data import make_dataset

ENV = "iap_gym/RobotRemoteControl-v0"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


def train(place, *more):
    return main(
        [
            *("train", "--algo", "world-model", "--env", ENV, "--no-progress"),
            *("--data", str(place / "data"), "--sequences", "64", "--test-sequences", "32"),
            *("--epochs", "2", "--eval-every", "2", "--algo-kwargs", "batch_size=32"),
            *more,
        ]
    )


def test_train_resume_plot(place, capsys):
    run = place / "run"
    assert train(place, "--core", "gru", "--run", str(run)) == 0
    assert "2 epochs; errors: val" in capsys.readouterr().out
    files = {"report.html", "curve.png", "scenes.png", "weights.safetensors"}
    assert files <= {file.name for file in run.iterdir()}
    assert main(["train", "--resume", str(run), "--epochs", "3", "--no-progress"]) == 0
    assert "3 epochs" in capsys.readouterr().out
    assert main(["plot", str(run)]) == 0
    other = place / "other"
    assert train(place, "--core", "elman", "--run", str(other)) == 0
    assert main(["plot", str(run), str(other), "--out", str(place / "both.png")]) == 0
    assert (place / "both.png").is_file()
    capsys.readouterr()

    for words, message in (
        (["train", "--resume", str(run), "--epochs", "1"], "--epochs: expected at least the 3"),
        (["train", "--resume", str(run), "--core", "lstm"], "decides, got --core"),
        (["train", "--resume", str(run), "--algo", "world-model"], "decides, got --algo"),
        (["evaluate", str(place), "--planner", "icem"], f"has no config.json; {place}/"),
        (["evaluate", str(run)], "is of a world model: expected --planner icem"),
        (["watch", str(run), "--scores"], "--scores: expected nothing"),
        (["watch", str(run), "--episodes", "5"], "--episodes: expected --planner icem with it"),
        (["watch", str(run), "--seed", "0"], "--seed: expected --planner icem with it"),
        (["plot", str(run), "--metric", "error"], "--out: expected a file"),
        (["plot", str(run), "--metric", "x", "--out", "x.png"], "metric: expected a column of"),
        (["plot", str(run), str(run)], "--out: expected a file"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err
    assert train(place, "--run", str(run)) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.fixture(scope="module")
def several(place):
    """Two seeds of two cores, with curves of known numbers."""
    paths = []
    for core, level in (("gru", 0.1), ("lstm", 0.2)):
        for seed in (0, 1):
            config = ModelConfig(env=ENV, core=core, seed=seed, epochs=2 + seed).fill_in()
            run = ModelRun.create(place / "known" / f"{core}-{seed}", config)
            run.write_config(dataclasses.replace(config, data_sha256={"train": f"{seed}"}))
            rows = [{"epoch": 10 * i, "test_error": level / 2**i} for i in range(3)]
            run.write_evaluations(rows)
            run.write_metrics([{**row, "error": row["test_error"]} for row in rows])
            paths.append(str(run.path))
    return paths


def test_runs_of_world_models_are_compared_over_epochs(several, place, tmp_path, capsys):
    out, table = tmp_path / "compared.svg", tmp_path / "compared.csv"
    words = ["plot", *several, "--out", str(out)]
    assert main([*words, "--csv", str(table), "--threshold", "0.05"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["setting", "epochs", "test_error", "runs"] in lines
    assert ["epochs", "until", "test_error", "is", "first", "at", "most", "0.05"] in lines
    assert ["gru", "10", "10..10", "2", "of", "2"] in lines
    assert ["lstm", "20", "20..20", "2", "of", "2"] in lines
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = [(row["setting"], float(row["epoch"]), float(row["test_error_iqm"])) for row in rows]
    levels = {"gru": 0.1, "lstm": 0.2}
    assert found == [(c, 10.0 * i, x / 2**i) for c, x in levels.items() for i in range(3)]
    assert "<!-- epochs -->" in out.read_text()
    for column in ("error", "test_error"):
        assert main([*words, "--metric", column]) == 0
        assert f"interquartile mean of {column} over runs" in capsys.readouterr().out
    # the folder of several seeds is all its runs
    folder = place / "seeds"
    for seed in (0, 1):
        shutil.copytree(several[seed], folder / f"seed-{seed}")
    assert main(["plot", str(folder), "--metric", "test_error", "--out", str(out)]) == 0
    assert "gru" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("env", "more"),
    [
        ("iap_gym/BilliardBall-v0", []),
        ("iap_gym/Shepherd-v0", ["--core", "lstm"]),
        ("iap_gym/FetchPickAndPlace-v0", []),
        (
            "iap_gym/FetchPickAndPlace-v0",
            ["--core", "gru", "--algo-kwargs", "dataset=fetch-diverse"],
        ),
    ],
)
def test_every_scenario_is_trained_and_drawn(place, tmp_path, capsys, env, more):
    if "Fetch" in env:
        pytest.importorskip("gymnasium_robotics")
    words = ["--sequences", "16", "--test-sequences", "16", "--algo-kwargs", "batch_size=16"]
    run = tmp_path / "run"
    assert train(place, *words[:4], "--env", env, "--epochs", "1", "--run", str(run), *more) == 2
    assert "batch_size" in capsys.readouterr().err
    assert (
        main(
            [
                *("train", "--algo", "world-model", "--env", env, "--no-progress"),
                *("--data", str(place / "data"), "--epochs", "1", "--workers", "1"),
                *("--run", str(run), *words, *more),
            ]
        )
        == 0
    )
    picture = tmp_path / "scenes.svg"
    assert main(["watch", str(run), "--out", str(picture)]) == 0
    text = picture.read_text()
    assert text.count("<path") > 50
    assert "What it predicts and remembers" in (run / "report.html").read_text()


def test_data_that_have_moved(place, tmp_path, capsys, monkeypatch):
    """A run finds its data from anywhere, takes them from another place, and no others."""
    monkeypatch.chdir(tmp_path)
    run, config = tmp_path / "run", tmp_path / "run" / "config.json"
    assert train(place, "--core", "gru", "--run", "run", "--data", "mine") == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    resume = ["train", "--resume", str(run), "--no-progress", "--epochs"]
    assert main([*resume, "3"]) == 0
    assert not os.listdir()
    shutil.move(tmp_path / "mine", tmp_path / "moved")
    assert main([*resume, "4", "--data", "../moved"]) == 0
    assert ModelRun(run).config().data == str(tmp_path / "moved")
    assert not (tmp_path / "mine").exists()

    other = tmp_path / "other"
    shutil.copytree(tmp_path / "moved", other)
    make_dataset(
        "rrc-time", other / "rrc-time-val-32.safetensors", "val", 1, sequences=32, overwrite=True
    )
    before = config.read_text()
    capsys.readouterr()
    assert main([*resume, "5", "--data", str(other)]) == 2
    assert "data: expected the data sets that the run was trained on" in (
        error := capsys.readouterr().err
    )
    assert f"got others in {other}: val; " in error
    assert config.read_text() == before
    old = dataclasses.replace(ModelRun(run).config(), data_sha256=None)
    ModelRun(run).write_config(old)
    assert main([*resume, "5", "--data", str(other)]) == 2
    assert "does not know the checksums" in capsys.readouterr().err


def test_a_run_in_use_is_not_resumed(place, tmp_path, capsys):
    run = tmp_path / "run"
    assert train(place, "--core", "gru", "--run", str(run)) == 0
    before = {path: path.read_bytes() for path in run.iterdir() if path.is_file()}
    capsys.readouterr()
    with in_use(ModelRun(run)):
        for more in ([], ["--epochs", "5"]):
            assert main(["train", "--resume", str(run), "--no-progress", *more]) == 1
            assert f"{run} is being trained by another process" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in run.iterdir() if path.is_file()} == before


def test_going_on_with_a_run_that_diverged_says_so(place, tmp_path, capsys):
    run = tmp_path / "run"
    assert train(place, "--core", "gru", "--run", str(run)) == 0
    resume = ["train", "--resume", str(run), "--no-progress"]
    capsys.readouterr()
    assert main(resume) == 0
    assert "diverged" not in capsys.readouterr().out
    ModelRun(run).diverged_file.write_text("loss: got nan in epoch 3\n")
    assert main(resume) == 0
    out = capsys.readouterr().out
    assert "it diverged, and goes the same way from its checkpoint: loss: got nan in epoch 3" in out


@pytest.mark.slow  # processes, each of which imports torch
def test_seeds(place, capsys):
    assert train(place, "--seeds", "2", "--seed", "3", "--run", str(place / "several")) == 0
    assert (place / "several" / "seed-3" / "report.html").is_file()
    assert (place / "several" / "seed-4" / "weights.safetensors").is_file()
    assert (place / "several" / "curves.png").is_file()
    capsys.readouterr()
    words = ["train", "--resume", str(place / "several"), "--epochs", "3", "--no-progress"]
    assert main([*words, "--workers", "1"]) == 0
    assert capsys.readouterr().out.count("3 epochs") == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--timesteps", "10"], "expected no option of other algorithms, got --timesteps"),
        (["--env-kwargs", "a=1", "--policy", "x"], "got --policy, --env-kwargs"),
        (["--core", "rnn"], "train: --core: expected one of"),
        (["--algo-kwargs", "learning_rat=0.1"], "did you mean learning_rate?"),
        (["--algo-kwargs", "epochs=3"], "expected no 'epochs', which has an option of its own"),
        (["--algo-kwargs", "data_sha256={}"], "expected no 'data_sha256'"),
        (["--algo-kwargs", "learning_rate=x"], "--algo-kwargs: learning_rate: expected a finite"),
        (["--algo-kwargs", "start_steps=100"], "--algo-kwargs: start_steps: expected an integer"),
        (["--policy-kwargs", "hidden"], "--policy-kwargs: expected key=value, got 'hidden'"),
        (
            ["--policy-kwargs", "hidden=3"],
            "--policy-kwargs: expected arguments of WorldModel among",
        ),
        (["--policy-kwargs", "hiden_size=3"], "got 'hiden_size'; did you mean hidden_size?"),
        (["--policy-kwargs", "core=gru"], "--policy-kwargs: expected no 'core'"),
        (["--policy-kwargs", "hidden_size=0"], "--policy-kwargs: hidden_size: expected an integer"),
        (["--policy-kwargs", "context_widths=[0]"], "--policy-kwargs: context_widths[0]: expected"),
        (["--policy-kwargs", "core_options=3"], "--policy-kwargs: core_options: expected a dict"),
        (
            ["--policy-kwargs", 'core_options={"num_layers": 0}'],
            "--policy-kwargs: core_options: num_layers: expected an integer >= 1",
        ),
        (["--sequences", "63"], "train: --sequences: expected a multiple of 2, the categories of"),
        (["--sequences", "16"], "train: --sequences: expected at least the 32 of a batch"),
        (["--test-sequences", "33"], "train: --test-sequences: expected a multiple of 2"),
        (["--env", "Pendulum-v1"], "train: --env: expected one of"),
    ],
)
def test_bad_arguments(place, capsys, more, message):
    assert train(place, "--run", str(place / "bad"), *more) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (place / "bad").exists()


def test_options_of_world_models_alone(capsys):
    assert main(["train", "--env", "Pendulum-v1", "--epochs", "3", "--seeds", "2"]) == 2
    assert "--seeds, --epochs: expected --algo world-model" in capsys.readouterr().err
    assert main(["train", "--algo", "world-model", "--env", "Pendulum-v1"]) == 2
    assert "--env: expected one of 'iap_gym/BilliardBall-v0'" in capsys.readouterr().err
    assert main(["train", "--algo", "world-model"]) == 2
    assert "--env: expected the id" in capsys.readouterr().err
