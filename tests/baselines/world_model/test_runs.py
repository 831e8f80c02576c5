"""Run folders of world models: killed and resumed, side by side, and what is drawn of them."""

import dataclasses
import os
import signal
import subprocess
import sys
import time

import pytest
from safetensors.torch import load_file

from iap_gym.baselines import WorldModel
from iap_gym.baselines.experiments.model_curves import draw_model_curves
from iap_gym.baselines.experiments.model_report import summary, write_model_report
from iap_gym.baselines.experiments.model_run import ModelRun, runs_in
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train_model import settle, train, train_side_by_side

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
    assert whole.config() == small
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
    draw_model_curves([whole, whole], tmp_path / "several.svg")
    assert (tmp_path / "several.svg").read_text().count("<path") > 20
    with pytest.raises(ValueError, match="runs: expected at least one"):
        draw_model_curves([], tmp_path / "none.png")


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
    assert _bytes(runs[1]) == _bytes(whole)
    assert [run.config().seed for run in runs_in(tmp_path)] == [0, 1]


def test_runs_of_agents_and_of_models_are_told_apart(whole, tmp_path):
    with pytest.raises(ValueError, match=r"a run of an agent \(es, ppo\), got .*'world-model'"):
        Run.open(whole.path).config()
    assert runs_in(tmp_path) == []
    assert runs_in(whole.path)[0].path == whole.path
