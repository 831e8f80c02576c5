"""The example on Fetch Pick and Place, as it is typed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "fetch.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["--timesteps", "1600"], {"model.zip", "evaluation.json"}),
        (
            ["--learner", "ppo", "--timesteps", "3200", "--core", "gru"],
            {"model.zip", "evaluation.json", "scales.pkl"},
        ),
        (["--minutes", "0.1"], {"model.zip", "evaluation.json"}),
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
