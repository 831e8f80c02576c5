"""``iap-gym evaluate`` and ``watch`` on a run of recurrent PPO, as a user runs them."""

import json

import pytest

from iap_gym._video import read_video
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run
from iap_gym.cli import main as cli
from tests.baselines.run_envs import HERE, hardly_trained

pytest.importorskip("minigrid")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return hardly_trained(tmp_path_factory.mktemp("runs") / "empty", max_steps=20)


def test_evaluations_of_all_kinds_end_in_one_report(run, capsys):
    path = str(run.path)
    assert cli.main(["evaluate", path, "--episodes", "5"]) == 0
    assert cli.main(["evaluate", path, "--episodes", "5", "--sampled"]) == 0
    words = ["--env", "MiniGrid-Empty-8x8-v0", "--env-kwargs", "max_steps=9"]
    assert cli.main(["evaluate", path, "--episodes", "2", *words]) == 0
    out = capsys.readouterr().out
    assert out.count("success     open gates") == 3
    assert "MiniGrid-Empty-8x8-v0, max_steps=9, 2 episodes" in out
    content = json.loads(run.evaluation_file.read_text())
    assert [(e["env"], e["sampled"]) for e in content] == [
        ("MiniGrid-Empty-5x5-v0", False),
        ("MiniGrid-Empty-5x5-v0", True),
        ("MiniGrid-Empty-8x8-v0", False),
    ]
    for evaluation in content:
        assert set(evaluation["returns"]) == {"trained", "random", "zero", "blind"}
        assert set(evaluation["success_rates"]) == set(evaluation["returns"])
        assert set(evaluation["gate_rates"]) == {"trained", "blind"}
        assert evaluation["timesteps"] == 64
    page = run.report_file.read_text()
    assert page.count("<table>") == 3


@pytest.mark.parametrize(
    ("words", "played"),
    [(["none"], {"trained"}), (["zero", "random"], {"trained", "zero", "random"})],
)
def test_evaluate_plays_the_agents_that_are_asked_for(run, words, played, capsys):
    assert cli.main(["evaluate", str(run.path), "--episodes", "2", "--agents", *words]) == 0
    newest = [e for e in json.loads(run.evaluation_file.read_text()) if not e["sampled"]]
    assert set(newest[0]["returns"]) == played


def test_watch_films_what_the_agent_remembers(run, capsys):
    assert cli.main(["watch", str(run.path), "--sampled", "--seed", "3"]) == 0
    assert f"{run.film_file}: returns " in capsys.readouterr().out
    frames = list(read_video(run.film_file))
    assert 15 < len(frames) <= 20 + 15
    assert frames[0].shape[0] > frames[0].shape[1] > 600
    page = run.report_file.read_text()
    assert "<h2>What it remembers</h2>" in page
    assert "What it attends to" not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["watch", "--scores"], "scores: expected False, as a ppo agent selects no patches"),
        (["watch", "--split", "val"], "has no train and val backgrounds"),
        (["evaluate", "--split", "both"], "has no train and val backgrounds"),
        (
            ["evaluate", "--agents", "none", "zero"],
            "--agents: expected some of random, zero, blind",
        ),
        (["evaluate", "--env", "MiniGrid-NoSuch-v0"], "MiniGrid-NoSuch"),
        (["evaluate", "--env-kwargs", "size_of=3"], "env_kwargs: "),
        (["evaluate", "--env-kwargs", "a=1", "a=2"], "--env-kwargs: expected each key once"),
        (["evaluate", "--env-kwargs", "agent_view_size=9"], "the observation_space of training"),
    ],
)
def test_mistakes_get_one_line(run, capsys, words, message):
    before = sorted(path.name for path in run.path.iterdir())
    command, *rest = words
    assert cli.main([command, str(run.path), *rest]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in run.path.iterdir()) == before


def test_damaged_evaluations_are_found_before_the_episodes(run, capsys, tmp_path, monkeypatch):
    broken = Run.create(tmp_path / "broken", run.config())
    for name in ("checkpoint_file", "metrics_file"):
        getattr(broken, name).write_bytes(getattr(run, name).read_bytes())
    broken.evaluation_file.write_text("[{")
    monkeypatch.setattr("iap_gym.baselines.experiments.evaluate.play", None)
    assert cli.main(["evaluate", str(broken.path)]) == 2
    assert "evaluation.json: expected what iap-gym evaluate wrote" in capsys.readouterr().err


@pytest.mark.parametrize("algo", ["es", "ppo"])
def test_environment_without_images_is_not_filmed(capsys, tmp_path, algo):
    blind = Run.create(tmp_path / "run", TrainConfig(env=f"{HERE}:Unseen-v0", algo=algo))
    assert cli.main(["watch", str(blind.path)]) == 2
    err = capsys.readouterr().err
    assert f"{HERE}:Unseen-v0 renders no rgb_array images" in err
    assert err.count("\n") == 1
    assert not blind.film_file.exists()


def test_a_run_without_checkpoint_is_told_to_train(run, capsys, tmp_path):
    empty = Run.create(tmp_path / "new", run.config())
    assert cli.main(["watch", str(empty.path)]) == 2
    assert "has no checkpoint.zip yet; train it first" in capsys.readouterr().err
