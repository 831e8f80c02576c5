"""``iap-gym train --algo world-model``, and what other commands say of its runs."""

import pytest

from iap_gym.cli.main import main

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
    assert main(["plot", str(run), str(run), "--out", str(place / "both.png")]) == 0
    assert (place / "both.png").is_file()
    capsys.readouterr()

    for words, message in (
        (["train", "--resume", str(run), "--epochs", "1"], "--epochs: expected at least the 3"),
        (["train", "--resume", str(run), "--core", "lstm"], "decides, got --core"),
        (["evaluate", str(run)], "is of a world model: expected --planner icem"),
        (["watch", str(run), "--scores"], "--scores: expected nothing"),
        (["plot", str(run), "--metric", "error"], "--metric: expected nothing"),
        (["plot", str(run), str(run)], "--out: expected a file"),
    ):
        assert main(words) == 2
        assert message in capsys.readouterr().err
    assert train(place, "--run", str(run)) == 2
    assert "exists already" in capsys.readouterr().err


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
        (["--core", "rnn"], "core: expected one of"),
        (["--algo-kwargs", "learning_rat=0.1"], "did you mean learning_rate?"),
        (["--algo-kwargs", "epochs=3"], "expected no 'epochs', which has an option of its own"),
        (["--policy-kwargs", "hidden=3"], "--policy-kwargs: "),
        (["--policy-kwargs", "hidden_size=0"], "hidden_size: expected an integer"),
        (["--algo-kwargs", "start_steps=100"], "start_steps: expected an integer in [1, 49]"),
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
    assert "env: expected one of 'iap_gym/BilliardBall-v0'" in capsys.readouterr().err
    assert main(["train", "--algo", "world-model"]) == 2
    assert "--env: expected the id" in capsys.readouterr().err
