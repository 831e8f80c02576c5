"""Runs compared over seeds, from folders whose numbers are known."""

import csv
import dataclasses

import numpy as np
import pytest
from scipy import stats

from iap_gym.baselines.experiments.comparison import (
    GRID,
    Curve,
    common_grid,
    compare,
    default_metric,
    group_runs,
    interpolate,
    median_steps,
    read_curve,
    read_curves,
    steps_to,
)
from iap_gym.baselines.experiments.comparison_tables import final_table, steps_table, write_csv
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.curves import draw_comparison
from iap_gym.baselines.experiments.ppo_settings import SCHEDULES
from iap_gym.baselines.experiments.run import Run

DOOR = TrainConfig(env="MiniGrid-DoorKey-5x5-v0", algo="ppo", core="gatel0rd")
STEPS = (100, 200, 300, 400)


def made(folder, success, steps=STEPS, evaluations=True, **changes):
    """Make a run whose success rates are given."""
    run = Run.create(folder, dataclasses.replace(DOOR, **changes))
    rows = [
        {"timesteps": t, "success_rate": s, "mean_return": 0.9 * s if i and s is not None else None}
        for i, (t, s) in enumerate(zip(steps, success, strict=True))
    ]
    if evaluations:
        run.write_evaluations(rows)
    run.write_metrics([{**row, "success_rate": -1, "gate_rate": 0.5} for row in rows])
    return run


@pytest.fixture
def runs(tmp_path):
    gate = [(0, 0.5, 0.9, 1), (0, 0.95, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4), (0, 0.9, 1, 1)]
    lstm = [(0, 0, 0.2, 0.5), (0, 0.1, 0.2, 1)]
    return [
        made(tmp_path / f"{core}-{seed}", success, seed=seed, core=core)
        for core, successes in (("gatel0rd", gate), ("lstm", lstm))
        for seed, success in enumerate(successes)
    ]


def curve(run, steps, values):
    return Curve(run, np.array(steps, float), np.array(values, float), "evaluations")


def test_evaluations_come_before_metrics_and_gaps_are_left_out(runs):
    assert read_curve(runs[0], "success_rate").values.tolist() == [0, 0.5, 0.9, 1]
    assert read_curve(runs[0], "gate_rate").values.tolist() == [0.5] * 4  # in the metrics alone
    found = read_curve(runs[0], "mean_return")
    assert found.timesteps.tolist() == [200, 300, 400]
    np.testing.assert_allclose(found.values, [0.45, 0.81, 0.9])


def test_without_evaluations_the_metrics_are_read(tmp_path):
    run = made(tmp_path / "a", (0, 0, 0, 0), evaluations=False)
    assert read_curve(run, "success_rate").values.tolist() == [-1] * 4


def test_runs_are_compared_by_the_same_table_of_all(tmp_path):
    given = [("gatel0rd", 0, True), ("gatel0rd", 1, False), ("lstm", 0, True)]
    runs = [
        made(tmp_path / f"{core}{seed}", (0, 0.5, 0.9, 1), STEPS, played, seed=seed, core=core)
        for core, seed, played in given
    ]
    rng = np.random.default_rng(0)
    for group in compare(runs, "success_rate", rng):  # the training metrics say -1
        assert {each.table for each in group.curves} == {"metrics"}
        assert (group.center == -1).all()
    assert steps_to(runs) == [None] * 3
    assert steps_table(group_runs(runs)).count("not reached") == 2
    assert "from their metrics" in final_table(compare(runs, "success_rate", rng), "success_rate")
    with_them = [runs[0], runs[2]]
    assert [each.table for each in read_curves(with_them, "success_rate")] == ["evaluations"] * 2
    assert steps_to(with_them) == [300, 300]
    assert steps_table(group_runs(with_them)).count("not reached") == 0
    assert "from their evaluations" in final_table(
        compare(with_them, "success_rate", rng), "success_rate"
    )


def test_runs_with_a_column_in_different_tables_are_not_compared(tmp_path):
    played, trained = (made(tmp_path / name, (0, 1), STEPS[:2], False) for name in "ab")
    rows = [{"timesteps": 1, "length": 3.0}]
    played.write_evaluations(rows)
    trained.write_metrics(rows)
    message = "metric: expected 'length' in the same table .* evaluations alone of .*a and .*b"
    with pytest.raises(ValueError, match=message):
        read_curves([played, trained], "length")


def test_unknown_and_empty_columns_are_refused(runs, tmp_path):
    with pytest.raises(ValueError, match=r"metric: expected a column of .*gate_rate, got 'sucess'"):
        read_curve(runs[0], "sucess")
    run = made(tmp_path / "none", (0.5,), steps=(1,))
    with pytest.raises(ValueError, match="has no number in its column 'mean_return'"):
        read_curve(run, "mean_return")
    assert default_metric(runs) == "success_rate"
    empty = Run.create(tmp_path / "empty", DOOR)
    with pytest.raises(FileNotFoundError, match=r"no metrics.csv yet"):
        read_curve(empty, "success_rate")


def test_default_metric_is_the_return_where_nobody_counts_successes(tmp_path):
    run = Run.create(tmp_path / "cart", DOOR)
    run.write_metrics([{"timesteps": 1, "mean_return": 3.0, "success_rate": None}])
    assert default_metric([run]) == "mean_return"


def test_interpolation_is_linear_inside_and_nothing_outside(runs):
    line = curve(runs[0], [100, 200, 400], [0, 1, 0])
    found = interpolate(line, np.array([99.9, 100, 150, 200, 300, 400, 400.1]))
    np.testing.assert_array_equal(found, [np.nan, 0, 0.5, 1, 0.5, 0, np.nan])


def test_grid_lies_where_every_run_has_values(runs):
    lines = [curve(runs[0], [10, 20, 50], [0, 0, 0]), curve(runs[1], [15, 40, 90], [0, 0, 0])]
    np.testing.assert_array_equal(common_grid(lines), [15, 20, 40, 50])
    long = [curve(runs[0], np.arange(10_000), np.zeros(10_000))]
    grid = common_grid(long)
    assert len(grid) == GRID
    assert (grid[0], grid[-1]) == (0, 9_999)
    with pytest.raises(ValueError, match="ends at 50, before another begins at 60"):
        common_grid([lines[0], curve(runs[1], [60, 70], [0, 0])])


def test_groups_are_cores_with_their_interquartile_means(runs):
    gate, lstm = compare(runs, "success_rate", np.random.default_rng(0))
    assert (gate.name, lstm.name) == ("gatel0rd", "lstm")
    values = np.stack([c.values for c in gate.curves])
    np.testing.assert_array_equal(gate.timesteps, STEPS)
    np.testing.assert_allclose(gate.center, stats.trim_mean(values, 0.25, axis=0))
    np.testing.assert_allclose(gate.center[2], (0.8 + 0.9) / 2)
    assert (gate.low <= gate.center).all()
    assert (gate.center <= gate.high).all()
    assert lstm.low is None
    np.testing.assert_allclose(lstm.center, [0, 0.05, 0.2, 0.75])


def test_a_shorter_run_ends_the_mean_but_not_the_others(runs, tmp_path):
    short = made(tmp_path / "short", (0, 0.4), steps=(100, 250), seed=9)
    (group,) = compare([runs[0], short], "success_rate", np.random.default_rng(0))
    np.testing.assert_array_equal(group.timesteps, [100, 200, 250])
    np.testing.assert_allclose(group.center, [0, (0.5 + 0.8 / 3) / 2, (0.7 + 0.4) / 2])


def test_names_say_what_sets_groups_apart(tmp_path):
    zero = (0, 0, 0, 0)
    strong, weak = ({"gate_penalty": value} for value in (0.1, 0.001))
    runs = [
        made(tmp_path / "a", zero, algo_kwargs=strong),
        made(tmp_path / "b", zero, algo_kwargs=weak, seed=1, workers=2, eval_every=7),
        made(tmp_path / "c", zero, algo_kwargs=weak, total_timesteps=5),
    ]
    names = {name: len(members) for name, members in group_runs(runs).items()}
    assert names == {"gate_penalty=0.1": 1, "gate_penalty=0.001": 2}
    lstm = made(tmp_path / "d", zero, core="lstm")
    assert set(group_runs([*runs[1:], lstm])) == {"gatel0rd", "lstm"}
    assert set(group_runs([*runs, lstm])) == {
        "gatel0rd, gate_penalty=0.1",
        "gatel0rd, gate_penalty=0.001",
        "lstm",
    }
    evolved = TrainConfig(env="CartPole-v1")
    assert set(group_runs([Run.create(tmp_path / "e", evolved)])) == {"LinearPolicy"}


@pytest.mark.parametrize("name", SCHEDULES)
def test_steps_to_be_trained_are_a_setting_where_a_schedule_depends_on_them(name, tmp_path):
    def groups(value):
        runs = []
        for seed, steps in enumerate((200, 400, 400)):
            changes = {"seed": seed, "total_timesteps": steps, "algo_kwargs": {name: value}}
            runs.append(made(tmp_path / f"{value}-{seed}", (0, 1), STEPS[:2], **changes))
        return {group: len(members) for group, members in group_runs(runs).items()}

    assert groups(0.1) == {"gatel0rd": 3}
    assert groups("lin_0.1") == {"total_timesteps=200": 1, "total_timesteps=400": 2}


def test_names_say_the_environment_where_it_differs(tmp_path):
    zero = (0, 0, 0, 0)
    small = made(tmp_path / "a", zero)
    large = made(tmp_path / "b", zero, env="MiniGrid-DoorKey-8x8-v0", core="lstm")
    assert set(group_runs([small, large])) == {
        "gatel0rd, MiniGrid-DoorKey-5x5-v0",
        "lstm, MiniGrid-DoorKey-8x8-v0",
    }
    wide = made(tmp_path / "c", zero, env_kwargs={"size": 9}, core="lstm", workers=2)
    assert set(group_runs([small, wide])) == {"gatel0rd", "lstm, size=9"}


def test_one_seed_counts_once(runs, tmp_path):
    with pytest.raises(ValueError, match="another seed in every run of gatel0rd, got 0 in"):
        compare([runs[0], runs[0]], "success_rate", np.random.default_rng(0))
    with pytest.raises(ValueError, match="expected at least one run"):
        group_runs([])


def test_steps_to_is_the_first_time_and_never_the_last_row(runs):
    # The second falls below again; the third never arrives.
    assert steps_to(runs[:4], 0.9) == [300, 200, None, 200]
    assert steps_to(runs[:4], 0.35) == [200, 200, 400, 200]
    assert steps_to(runs[:1], 0.8, "mean_return") == [300]


@pytest.mark.parametrize(
    ("steps", "median"),
    [([300, 200, None, 200], 250), ([1, None, None], None), ([1, None], None), ([5, 7], 6)],
)
def test_a_run_that_never_arrives_counts_as_infinite(steps, median):
    assert median_steps(steps) == median


def test_tables_say_how_many_arrived_and_where_there_is_no_interval(runs):
    text = steps_table(group_runs(runs))
    gate, lstm = text.splitlines()[2:]
    assert gate.split() == ["gatel0rd", "250", "200..300", "3", "of", "4"]
    assert lstm.split() == ["lstm", "not", "reached", "400..400", "1", "of", "2"]
    groups = compare(runs, "success_rate", np.random.default_rng(0))
    gate, lstm = final_table(groups, "success_rate").splitlines()[2:]
    # The worst run is three or four of four resampled ones with a chance of 5 %: above 2.5 %.
    assert gate.split()[:5] == ["gatel0rd", "400", "0.950", "[0.400,", "1.000]"]
    assert lstm.split()[:4] == ["lstm", "400", "0.750", "2,"]
    assert "no interval with fewer than 3" in lstm


def test_csv_holds_the_curves(runs, tmp_path):
    groups = compare(runs, "success_rate", np.random.default_rng(0))
    write_csv(groups, "success_rate", tmp_path / "curve.csv")
    with (tmp_path / "curve.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    first = [row for row in rows if row["setting"] == "gatel0rd"]
    found = [float(row["success_rate_iqm"]) for row in first]
    np.testing.assert_array_equal(found, groups[0].center)
    np.testing.assert_array_equal([float(row["low"]) for row in first], groups[0].low)
    assert {row["runs"] for row in first} == {"4"}
    assert {row["low"] for row in rows if row["setting"] == "lstm"} == {""}


def test_picture_names_settings_and_missing_intervals(runs, tmp_path):
    groups = compare(runs, "success_rate", np.random.default_rng(0))
    draw_comparison(groups, "success_rate", tmp_path / "c.svg")
    picture = (tmp_path / "c.svg").read_text()
    for text in ("gatel0rd, 4 runs", "lstm, 2 runs (no interval", "MiniGrid-DoorKey-5x5-v0"):
        assert f"<!-- {text}" in picture
