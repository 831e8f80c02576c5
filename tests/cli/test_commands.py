"""The whole path on a small budget: train, resume, evaluate, watch, plot, in one folder."""

import json
import re
import shutil

import numpy as np
import pytest

from iap_gym._video import read_video
from iap_gym.baselines.experiments.run import Run
from iap_gym.cli import main as cli

TRAIN = [
    *("train", "--env", "iap_gym/DistractingCartpoleSwingup-v0", "--timesteps", "250"),
    *("--env-kwargs", "height=32", "width=48", "action_repeat=20", "render_quality=fast"),
    *("--selector", "patch_size=8", "num_selected=4"),
    *("--algo-kwargs", "population_size=4", "max_episode_steps=20"),
    "--no-progress",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "first"
    assert cli.main([*TRAIN, "--run", str(path)]) == 0
    return path


def test_training_leaves_a_whole_run(folder):
    run = Run.open(folder)
    metrics = run.metrics()
    # 4 candidates and their centre, 20 steps each; whole generations until 250 steps.
    np.testing.assert_array_equal(metrics["timesteps"], [100, 200, 300])
    assert np.isfinite(metrics["mean_return"]).all()
    for file in (run.checkpoint_file, run.weights_file, run.curve_file, run.report_file):
        assert file.stat().st_size > 0
    assert list(run.tensorboard_dir.glob("events.*"))


def test_tensorboard_holds_the_metrics(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = Run.open(folder)
    events = EventAccumulator(str(run.tensorboard_dir))
    events.Reload()
    scalars = events.Scalars("es/mean_return")
    assert [event.step for event in scalars] == [100, 200, 300]
    np.testing.assert_allclose(
        [event.value for event in scalars], run.metrics()["mean_return"], rtol=1e-6
    )


def test_a_finished_run_resumes_to_itself(folder):
    before = Run.open(folder).weights_file.read_bytes()
    events = sorted(Run.open(folder).tensorboard_dir.iterdir())
    assert cli.main(["train", "--resume", str(folder), "--no-progress"]) == 0
    assert Run.open(folder).weights_file.read_bytes() == before
    assert sorted(Run.open(folder).tensorboard_dir.iterdir()) == events


def test_a_run_cannot_be_shortened(folder, capsys):
    before = Run.open(folder).config_file.read_bytes()
    assert cli.main(["train", "--resume", str(folder), "--timesteps", "100"]) == 2
    assert "--timesteps: expected at least the 300 steps" in capsys.readouterr().err
    assert Run.open(folder).config_file.read_bytes() == before


def test_a_run_that_lost_its_checkpoint_does_not_start_again(folder, tmp_path, capsys):
    run = Run.create(tmp_path / "lost", Run.open(folder).config())
    run.write_metrics([{"timesteps": 100}])
    assert cli.main(["train", "--resume", str(run.path)]) == 2
    assert "checkpoint.zip is gone" in capsys.readouterr().err


def test_lost_metrics_come_back_from_the_checkpoint(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "lost")
    run = Run.open(tmp_path / "lost")
    before = run.metrics_file.read_bytes()
    run.metrics_file.unlink()
    assert cli.main(["train", "--resume", str(run.path), "--no-progress"]) == 0
    assert run.metrics_file.read_bytes() == before


def test_a_longer_run_is_the_run_that_was_stopped_and_resumed(folder, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    words = [word.replace("250", "500") for word in TRAIN]
    assert cli.main([*words, "--run", str(whole), "--seed", "3", "--workers", "2"]) == 0
    assert cli.main([*TRAIN, "--run", str(stopped), "--seed", "3"]) == 0
    more = ["--timesteps", "500", "--workers", "2", "--no-progress"]
    assert cli.main(["train", "--resume", str(stopped), *more]) == 0
    first, second = Run.open(whole), Run.open(stopped)
    assert first.weights_file.read_bytes() == second.weights_file.read_bytes()
    timing = {"seconds", "steps_per_second"}
    for name, column in first.metrics().items():
        if name not in timing:
            np.testing.assert_array_equal(column, second.metrics()[name])


def test_a_second_run_never_overwrites_the_first(folder, capsys):
    assert cli.main([*TRAIN, "--run", str(folder)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_evaluate_watch_and_plot_complete_the_folder(folder, capsys):
    path = str(folder)
    assert cli.main(["evaluate", path, "--episodes", "5", "--workers", "2"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"trained +-?[\d.]+ \[", out)
    content = json.loads((folder / "evaluation.json").read_text())
    assert [evaluation["split"] for evaluation in content] == ["train", "val"]
    for evaluation in content:
        assert set(evaluation["returns"]) == {"trained", "random", "zero", "blind"}
        assert all(len(values) == 5 for values in evaluation["returns"].values())
    assert cli.main(["watch", path]) == 0
    frames = list(read_video(folder / "film.mp4"))
    assert len(frames) == 50  # 1000 / action_repeat, one frame for every action
    reds = [np.mean((f[..., 0] > 150) & (f[..., 1] < 110) & (f[..., 2] < 110)) for f in frames]
    assert min(reds) > 0.002, "every frame shows the selected patches in red"
    assert cli.main(["plot", path]) == 0
    report = (folder / "report.html").read_text()
    assert "data:video/mp4;base64," in report
    assert "data:image/png;base64," in report
    assert "http" not in report, "the page must not load anything"


def test_evaluation_does_not_depend_on_the_workers(folder):
    found = []
    for workers in ("1", "2"):
        words = ["evaluate", str(folder), "--episodes", "2", "--split", "val"]
        assert cli.main([*words, "--workers", workers]) == 0
        found.append((folder / "evaluation.json").read_text())
    assert found[0] == found[1]


def test_plot_of_several_runs_asks_for_a_file(folder, capsys, tmp_path):
    assert cli.main(["plot", str(folder), str(folder)]) == 2
    assert "--out: expected a file" in capsys.readouterr().err
    assert cli.main(["plot", str(folder), str(folder), "--out", str(tmp_path / "c.svg")]) == 0
    assert "<svg" in (tmp_path / "c.svg").read_text()


def test_damaged_checkpoint_is_refused_by_name(folder, capsys, tmp_path):
    run = Run.create(tmp_path / "broken", Run.open(folder).config())
    run.write_metrics([{"timesteps": 1}])
    run.checkpoint_file.write_bytes(Run.open(folder).checkpoint_file.read_bytes()[:500])
    assert cli.main(["evaluate", str(run.path)]) == 2
    assert "checkpoint.zip" in capsys.readouterr().err
