"""The example on Fetch Pick and Place, as it is typed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import iap_gym  # noqa: F401 (registers the ids)

SCRIPT = Path(__file__).parents[2] / "examples" / "fetch.py"
FILES = {"model.zip", "evaluation.json", "scales.pkl"}


def example():
    spec = importlib.util.spec_from_file_location("fetch_example", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_grippers_distance_is_taken_off():
    module = example()
    plain = gymnasium.make(module.ENV, goal_env=True, reward="dense")
    shaped = module.Approach(gymnasium.make(module.ENV, goal_env=True, reward="dense"))
    rng = np.random.default_rng(0)
    plain.reset(seed=3)
    shaped.reset(seed=3)
    for _ in range(10):
        action = rng.uniform(-1, 1, 4).astype(np.float32)
        seen, reward, *_ = shaped.step(action)
        gripper, cube = np.split(seen["observation"][:6], 2)
        assert plain.step(action)[1] - reward == pytest.approx(np.linalg.norm(cube - gripper))
    plain.close()
    shaped.close()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--core", "lstm"], "--core: expected --learner ppo beside it, got her"),
        (["--out", "."], "--out: evaluation.json exists already"),
        (["--out", "evaluation.json"], "--out: cannot write into evaluation.json"),
        (["--minutes", "0"], "--minutes: expected a number > 0"),
        (["--evaluate", "."], "--evaluate: expected a folder with model.zip, got ."),
    ],
)
def test_what_it_would_ignore_is_refused(words, message, tmp_path, monkeypatch, capsys):
    (tmp_path / "evaluation.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["fetch.py", *words])
    with pytest.raises(SystemExit, match="2"):
        example().main()
    assert message in capsys.readouterr().err


def test_an_interrupted_training_is_kept(tmp_path, monkeypatch):
    module = example()

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Watch, "_on_step", interrupt)
    monkeypatch.setattr(
        sys, "argv", ["fetch.py", "--learner", "ppo", "--out", str(tmp_path / "new")]
    )
    with pytest.raises(SystemExit, match="130"):
        module.main()
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES - {"evaluation.json"}
    kept = module.RecurrentPPO.load(tmp_path / "new" / "model.zip")
    assert kept.num_timesteps == module.PPO_ENVS
    with pytest.raises(SystemExit, match="2"):  # and not replaced by the same command
        module.main()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["--timesteps", "1600"], FILES),
        (
            ["--learner", "ppo", "--timesteps", "3200", "--core", "gru"],
            FILES,
        ),
        (["--minutes", "0.1"], FILES),
    ],
    ids=str,
)
def test_it_trains_evaluates_and_writes(words, files, tmp_path):
    command = [sys.executable, str(SCRIPT), "--out", str(tmp_path), "--episodes", "3", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in tmp_path.iterdir()} == files
    found = json.loads((tmp_path / "evaluation.json").read_text())
    assert set(found["success_rates"]) == set(found["returns"]) == {"trained", "random", "zero"}
    command = [*command[:2], "--episodes", "3", *words[:2], "--evaluate", str(tmp_path)]
    again = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout in done.stdout  # the same table
    assert all(len(values) == 3 for values in found["returns"].values())
    assert "trained minus it" in done.stdout
    if "0.1" in words:
        assert found["seconds"] < 120
        assert found["curve"][0]["steps"] > 0
