"""The command ``iap-gym reproduce`` as a user runs it."""

import csv
import json

import pytest
from PIL import Image

from iap_gym.baselines.experiments.reproduce import BUDGETS, LATER, TARGETS
from iap_gym.cli import main as cli


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def assert_picture(path):
    with Image.open(path) as image:
        image.verify()
        assert min(image.size) > 300


def test_help_lists_every_target(capsys):
    assert cli.main(["reproduce", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in TARGETS)


@pytest.mark.parametrize("name", LATER)
def test_later_targets_are_refused_by_name(name, capsys):
    assert cli.main(["reproduce", name]) == 2
    assert f"{name}: not available yet" in capsys.readouterr().err


def test_a_file_is_no_folder_for_results(capsys, tmp_path):
    (tmp_path / "file").write_text("mine")
    assert cli.main(["reproduce", "theorem", "--out", str(tmp_path / "file")]) == 2
    assert "--out: expected a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_every_target_has_the_budgets_of_the_command():
    from importlib import import_module

    for module, _ in TARGETS.values():
        target = import_module(f"iap_gym.baselines.experiments.reproduce.{module}")
        assert tuple(target.BUDGETS) == (BUDGETS if hasattr(target, "ALSO") else BUDGETS[:2])


def test_theorem(capsys, tmp_path):
    out = tmp_path / "results"
    assert cli.main(["reproduce", "theorem", "--budget", "smoke", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    for name in ("fig3_surfaces", "fig4_slices", "fig5_angular"):
        assert_picture(out / f"{name}.png")
        assert str(out / f"{name}.png") in printed
    worst = json.loads((out / "theorem.json").read_text())["largest_deviation_in_standard_errors"]
    assert set(worst) == {"trigonometric", "positive", "hybrid", "angular"}
    assert max(worst.values()) < 4.5
    points = read(out / "fig4_monte_carlo.csv")
    assert len(points) == 3 * 17
    for row in points:
        assert float(row["measured"]) >= 0
    assert len(read(out / "fig5_angular.csv")) == 13
    assert len(read(out / "fig3_surfaces.csv")) == 121


def test_inference_time(capsys, tmp_path):
    words = ["reproduce", "inference-time", "--budget", "smoke", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    assert "brute-force" in capsys.readouterr().out
    assert_picture(tmp_path / "fig6_inference_time.png")
    content = json.loads((tmp_path / "inference_time.json").read_text())
    times = [row for row in content["times"] if row["backend"] == "torch"]
    assert len(times) == 2 * 6
    for row in content["times"]:
        assert 0 < row["min_seconds"] <= row["mean_seconds"]
        assert row["passes"] >= 3
    at_2500 = {row["kernel"]: row["min_seconds"] for row in times if row["patches"] == 2500}
    assert at_2500["brute-force"] > 2 * at_2500["hybrid-10-5"] > at_2500["relu"]
