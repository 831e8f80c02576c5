"""The examples on planar worlds, as they are typed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script, out, *words):
    command = [sys.executable, str(EXAMPLES / script), "--out", str(out), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=out)
    assert done.returncode == 0, done.stderr
    assert (out / "model.zip").is_file()
    return json.loads((out / "evaluation.json").read_text()), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("robot_remote_control.py", []),
        ("robot_remote_control.py", ["--core", "gatel0rd"]),
        ("shepherd.py", ["--start", "left"]),
        ("shepherd.py", ["--core", "none"]),
    ],
    ids=str,
)
def test_an_example_trains_and_compares_on_the_registered_environment(script, words, tmp_path):
    found, printed = run(script, tmp_path, "--steps", "25600", "--episodes", "20", *words)
    assert found["steps"] == 25600
    assert found["returns"]["oracle"] == [1.0] * 20
    assert len(found["returns"]["trained"]) == 20
    if script == "shepherd.py":
        assert found["settings"] == {"start": "left" if "left" in words else "right"}
    assert "trained minus it" in printed


@pytest.mark.slow
def test_ppo_learns_robot_remote_control(tmp_path):
    found, _ = run("robot_remote_control.py", tmp_path, "--steps", "3000000")
    assert found["trained_minus"]["random"]["low"] > 0.3
