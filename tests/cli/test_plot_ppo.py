"""``iap-gym plot`` on runs of recurrent PPO: one, and several compared over seeds."""

import csv

import pytest

from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run
from iap_gym.cli import main as cli


@pytest.fixture
def folders(tmp_path):
    """Three seeds of gatel0rd, which reach 0.9 after 200, 300 and never, and two of lstm."""
    paths = []
    successes = {"gatel0rd": [(0, 0.9, 1), (0, 0.5, 0.9), (0, 0.1, 0.2)]}
    successes["lstm"] = [(0, 0, 0.1), (0, 0.3, 0.95)]
    for core, curves in successes.items():
        for seed, curve in enumerate(curves):
            config = TrainConfig(env="MiniGrid-DoorKey-5x5-v0", algo="ppo", core=core, seed=seed)
            run = Run.create(tmp_path / f"{core}-{seed}", config)
            rows = [
                {"timesteps": 100 * (i + 1), "success_rate": value, "gate_rate": None}
                for i, value in enumerate(curve)
            ]
            run.write_evaluations(rows)
            gates = 0.1 if core == "gatel0rd" else None
            numbers = {"mean_return": 0.5, "gate_rate": gates, "seconds": 1.0}
            run.write_metrics([{**row, **numbers} for row in rows])
            paths.append(str(run.path))
    return paths


def test_cores_are_compared_by_success_and_steps(folders, capsys, tmp_path):
    out, table = tmp_path / "cores.svg", tmp_path / "cores.csv"
    assert cli.main(["plot", *folders, "--out", str(out), "--csv", str(table)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gatel0rd", "300", "200..300", "2", "of", "3"] in lines
    assert ["lstm", "not", "reached", "300..300", "1", "of", "2"] in lines
    assert "<!-- gatel0rd, 3 runs -->" in out.read_text()
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["success_rate_iqm"]) for row in rows[:3]] == pytest.approx([0, 0.5, 0.7])
    assert {row["runs"] for row in rows[3:]} == {"2"}


def test_another_metric_has_no_table_of_steps_unless_asked(folders, capsys, tmp_path):
    words = ["plot", *folders[:3], "--out", str(tmp_path / "c.png"), "--metric"]
    assert cli.main([*words, "gate_rate"]) == 0
    out = capsys.readouterr().out
    assert "steps until" not in out
    assert "gatel0rd  300           0.100 [0.100, 0.100]" in out
    assert cli.main([*words, "mean_return", "--threshold", "0.4"]) == 0
    assert "until mean_return is first at least 0.4" in capsys.readouterr().out


def test_one_run_shows_its_gate_rate_where_it_has_gates(folders, tmp_path):
    for path, shown in ((folders[0], True), (folders[3], False)):
        out = tmp_path / "one.svg"
        assert cli.main(["plot", path, "--out", str(out)]) == 0
        picture = out.read_text()
        assert ("rate of open gates" in picture) == shown
        assert "thin: best" not in picture
    assert cli.main(["plot", folders[0]]) == 0
    assert "in 3 updates, 3 s" in (Run.open(folders[0]).report_file).read_text()


def test_runs_without_numbers_in_the_column_are_left_out_by_name(folders, capsys, tmp_path):
    words = ["--out", str(tmp_path / "c.png"), "--metric", "gate_rate"]
    assert cli.main(["plot", *folders, *words]) == 0
    out = capsys.readouterr().out
    assert f"left out, without a number in gate_rate: {folders[3]}, {folders[4]}\n" in out
    assert "gatel0rd  300 " in out
    assert cli.main(["plot", *folders[3:], *words]) == 2
    assert "has no number in its column 'gate_rate'" in capsys.readouterr().err


def test_evaluations_have_a_panel_of_one_run(folders, tmp_path):
    out, run = tmp_path / "one.svg", Run.open(folders[0])
    assert cli.main(["plot", folders[0], "--out", str(out)]) == 0
    assert "success rate" in out.read_text()
    assert "in evaluations" in out.read_text()
    run.write_evaluations([{"timesteps": t, "mean_return": float(t)} for t in (100, 200)])
    assert cli.main(["plot", folders[0], "--out", str(out)]) == 0
    assert out.read_text().count("mean return") == 2  # in training, and in evaluations
    assert "in evaluations" in out.read_text()
    assert "success rate" not in out.read_text()
    run.evaluations_file.unlink()
    assert cli.main(["plot", folders[0], "--out", str(out)]) == 0
    assert "in evaluations" not in out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metric", "sucess", "--out", "c.png"], "metric: expected a column of"),
        (["--metric", "success_rate"], "--out: expected a file for the curves of several runs"),
        (["--out", "c.tex"], "Format 'tex' is not supported"),
    ],
)
def test_mistakes_get_one_line(folders, capsys, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert cli.main(["plot", *folders, *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
    assert cli.main(["plot", folders[0], "--csv", "c.csv"]) == 2
    assert "--out: expected a file for the curves of a comparison" in capsys.readouterr().err


def test_a_seed_given_twice_is_no_second_sample(folders, capsys, tmp_path):
    words = ["plot", folders[0], folders[0], "--out", str(tmp_path / "c.png")]
    assert cli.main(words) == 2
    assert "another seed in every run of gatel0rd" in capsys.readouterr().err
