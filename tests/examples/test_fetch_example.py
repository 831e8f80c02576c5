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


def test_shaping_adds_the_same_to_every_return_but_for_where_it_ends():
    """Sums of gamma^t F are gamma^T P(s_T) - P(s_0), with P from the observed numbers."""
    module = example()
    gamma = 0.97
    plain = gymnasium.make(module.ENV, goal_env=True, reward="dense")
    shaped = module.Approach(gymnasium.make(module.ENV, goal_env=True, reward="dense"), gamma)
    rng = np.random.default_rng(0)
    for seed in (3, 4):
        plain.reset(seed=seed)
        first, _ = shaped.reset(seed=seed)
        added, last = 0.0, first
        for t in range(20):
            action = rng.uniform(-1, 1, 4).astype(np.float32)
            last, reward, *_ = shaped.step(action)
            added += gamma**t * (reward - float(plain.step(action)[1]))
        ends = [
            -10 * np.linalg.norm(each["observation"][3:6] - each["observation"][:3])
            for each in (first, last)
        ]
        assert added == pytest.approx(gamma**20 * ends[1] - ends[0], abs=1e-5)
    plain.close()
    shaped.close()


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
    assert all(len(values) == 3 for values in found["returns"].values())
    assert "trained minus it" in done.stdout
    if "0.1" in words:
        assert found["seconds"] < 120
        assert found["curve"][0]["steps"] > 0
