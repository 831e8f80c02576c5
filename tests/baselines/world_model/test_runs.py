"""Run folders of world models: killed and resumed, side by side, and what is drawn of them."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from iap_gym.baselines import WorldModel
from iap_gym.baselines.experiments.model_curves import draw_model_curves
from iap_gym.baselines.experiments.model_report import summary, write_model_report
from iap_gym.baselines.experiments.model_run import ModelRun, runs_in
from iap_gym.baselines.experiments.model_scenes import draw_scenes
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train_model import settle, train, train_side_by_side
from iap_gym.data import make_dataset

GO_ON = """
import sys
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.train_model import train
train(ModelRun.open(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    """A run that was never stopped."""
    run = ModelRun.create(tmp_path_factory.mktemp("runs") / "whole", settle(small))
    train(run)
    return run


def test_a_run_folder(whole, small):
    config = whole.config()
    assert set(config.data_sha256) == {"train", "val", "test", "gen"}
    assert dataclasses.replace(config, data_sha256=None) == small
    table, rows = whole.evaluations(), whole.metrics()
    assert table["epoch"].tolist() == [0, 2, 4, 6]
    assert rows["epoch"].tolist() == [1, 2, 3, 4, 5, 6]
    names = {"val_error", "test_error", "gen_error", "val_gate_rate", "gen_gate_dims"}
    assert names <= set(table)
    assert table["val_error"][-1] < table["val_error"][0]
    model = WorldModel.load(whole.weights_file)
    assert model.settings == small.model_settings | {"residual_scale": 0.1}
    assert any(whole.tensorboard_dir.iterdir())


def test_it_is_drawn_and_reported(whole, tmp_path):
    draw_model_curves([whole], whole.curve_file)
    write_model_report(whole)
    page = whole.report_file.read_text()
    assert "data:image/png" in page
    assert "generalisation" in page
    assert "6 epochs; errors: val 0." in summary(whole)
    with pytest.raises(ValueError, match="runs: expected another seed in every run of gatel0rd"):
        draw_model_curves([whole, whole], tmp_path / "twice.svg")
    with pytest.raises(ValueError, match="runs: expected at least one"):
        draw_model_curves([], tmp_path / "none.png")


def test_runs_of_one_setting_have_one_median_as_far_as_all_got(whole, tmp_path):
    others = []
    for name, changes, rows in (
        ("seed", {"seed": 1}, None),
        ("short", {"seed": 2}, 2),
        ("other", {"seed": 0, "penalty": 0.1}, None),
    ):
        run = ModelRun.create(tmp_path / name, dataclasses.replace(whole.config(), **changes))
        run.write_metrics(listed(whole.metrics()))
        run.write_evaluations(listed(whole.evaluations())[:rows])
        others.append(run)
    draw_model_curves([whole, *others], tmp_path / "several.svg")
    drawn = (tmp_path / "several.svg").read_text()
    assert "<!-- penalty=0.001, 3 runs -->" in drawn
    assert "<!-- penalty=0.1, 1 run -->" in drawn


def test_scenes_are_of_the_data_that_the_run_saw_or_of_none(whole, tmp_path):
    draw_scenes(whole, tmp_path / "scenes.png")
    for data in (str(tmp_path / "nowhere"), str(tmp_path / "other")):
        if data.endswith("other"):
            for split, name in (("test", "rrc-time"), ("test", "rrc-random")):
                file = tmp_path / "other" / f"{name}-{split}-32.safetensors"
                make_dataset(name, file, split, seed=1, sequences=32)
        moved = ModelRun.create(
            tmp_path / f"{Path(data).name}-run", dataclasses.replace(whole.config(), data=data)
        )
        shutil.copy(whole.weights_file, moved.weights_file)
        before = sorted(Path(data).glob("*"))
        wanted = "has no rrc-.*, of which" if data.endswith("nowhere") else "got other data"
        with pytest.raises((FileNotFoundError, ValueError), match=f"{wanted}.*--data FOLDER"):
            draw_scenes(moved, tmp_path / "scenes.png")
        assert sorted(Path(data).glob("*")) == before


def listed(table):
    """Return a table of columns as rows."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def test_a_killed_run_goes_on_to_the_bit(whole, small, tmp_path):
    # Longer than it will live: it is killed at some point after its first checkpoints.
    config = dataclasses.replace(small, epochs=100_000)
    run = ModelRun.create(tmp_path / "killed", config)
    process = subprocess.Popen([sys.executable, "-c", GO_ON, os.fspath(run.path)])
    deadline = time.monotonic() + 300
    while not run.checkpoint_file.is_file() or len(_epochs(run)) < 3:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    done = int(_epochs(run)[-1])
    epochs = done + 3
    run.write_config(dataclasses.replace(config, epochs=epochs))
    subprocess.run([sys.executable, "-c", GO_ON, os.fspath(run.path)], check=True, timeout=300)
    assert _epochs(run)[-1] == epochs
    other = ModelRun.create(tmp_path / "whole", dataclasses.replace(small, epochs=epochs))
    train(other)
    assert _bytes(run) == _bytes(other)
    assert run.evaluations_file.read_bytes() == other.evaluations_file.read_bytes()


@pytest.fixture
def part(small, tmp_path):
    """A run of two epochs with data of its own."""
    config = dataclasses.replace(
        small, core="gru", penalty=0.0, data=str(tmp_path / "data"), epochs=2
    )
    run = ModelRun.create(tmp_path / "run", config.fill_in())
    train(run)
    return run


def longer(run, **changes):
    changes = {"epochs": run.config().epochs + 1} | changes
    run.write_config(dataclasses.replace(run.config(), **changes))
    train(run)


@pytest.mark.parametrize("key", ["train", "val", "test", "gen"])
def test_a_run_does_not_go_on_with_other_data(part, key):
    before = part.checkpoint_file.read_bytes()
    config = part.config()
    name, split, count = {"train": config.train_set, **config.test_sets}[key]
    path = f"{config.data}/{name}-{split}-{count}.safetensors"
    make_dataset(name, path, split, seed=1, sequences=count, overwrite=True)
    with pytest.raises(
        ValueError, match=rf"^data: expected the data sets .* got others .*: {key};"
    ):
        longer(part)
    assert part.checkpoint_file.read_bytes() == before
    longer(part, data_sha256=None)  # as an old run, which does not know its data
    assert part.config().data_sha256 is None
    assert _epochs(part)[-1] == 4


def test_the_same_sequences_of_a_longer_data_set_are_the_same_data(part):
    longer(part)
    path = f"{part.config().data}/rrc-time-train.safetensors"
    make_dataset("rrc-time", path, sequences=128)
    longer(part)
    assert _epochs(part)[-1] == 4


def test_a_run_that_no_longer_diverges_does_not_say_so(part):
    part.diverged_file.write_text("loss: expected a finite number, got nan in epoch 2")
    longer(part)
    assert not part.diverged_file.exists()


def _epochs(run):
    try:
        return run.evaluations()["epoch"]
    except FileNotFoundError:
        return []


def _bytes(run):
    return {name: z.numpy().tobytes() for name, z in load_file(run.weights_file).items()}


def test_seeds_side_by_side_are_what_they_are_alone(whole, small, tmp_path):
    """And one that fails is named, and does not stop the other."""
    bad = dataclasses.replace(small, seed=1, learning_rate=1e38, max_grad_norm=1e30)
    runs = [ModelRun.create(tmp_path / f"seed-{config.seed}", config) for config in (bad, small)]
    with pytest.raises(RuntimeError, match=r"1 of 2 runs failed; .*seed-1: loss: expected"):
        train_side_by_side(runs, workers=2)
    assert runs[0].diverged_file.read_text().startswith("loss: expected a finite number")
    assert not runs[1].diverged_file.exists()
    assert _bytes(runs[1]) == _bytes(whole)
    assert [run.config().seed for run in runs_in(tmp_path)] == [0, 1]


def test_runs_of_agents_and_of_models_are_told_apart(whole, tmp_path):
    with pytest.raises(ValueError, match=r"a run of an agent \(es, ppo\), got .*'world-model'"):
        Run.open(whole.path).config()
    assert runs_in(tmp_path) == []
    assert runs_in(whole.path)[0].path == whole.path
