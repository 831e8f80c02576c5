"""What the targets of ``iap-gym reproduce`` compute; the command itself is tested in tests/cli."""

import dataclasses
import json
import math
import shutil

import numpy as np
import pytest

from iap_gym.baselines.experiments.reproduce import estimators, kernels
from iap_gym.baselines.experiments.reproduce.kernels_compared import COMPARED
from iap_gym.baselines.experiments.run import Run

TINY = kernels.Budget(seeds=2, iterations=2, population_size=2, episode_steps=3)


def test_vectors_have_their_angle_and_length():
    x, y = estimators.vectors(np.array([[0.3], [2.0]]), np.array([0.5, 1.5]))
    np.testing.assert_allclose(np.linalg.norm(x, axis=-1), [[0.5, 1.5], [0.5, 1.5]])
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), [[0.5, 1.5], [0.5, 1.5]])
    cosines = (x * y).sum(-1) / [[0.25, 2.25]]
    np.testing.assert_allclose(np.arccos(cosines), [[0.3, 0.3], [2.0, 2.0]])


@pytest.mark.parametrize("estimator", estimators.ESTIMATORS, ids=lambda e: e.name)
def test_the_monte_carlo_points_would_find_a_wrong_formula(estimator):
    rows = estimators.check(estimator, 2000, seed=0)
    assert max(abs(row["deviation"]) for row in rows) < 4
    wrong = [
        (row["measured"] - 1.3 * row["closed_form"]) / row["standard_error"]
        for row in rows
        if row["closed_form"] > estimators.TINY
    ]
    assert max(abs(deviation) for deviation in wrong) > 5


def test_the_angular_points_are_those_of_the_kernel():
    rows = estimators.check_angular(1000, seed=0)
    assert rows[0]["estimate"] == pytest.approx(1, abs=1e-12)
    assert rows[-1]["estimate"] == pytest.approx(-1, abs=1e-12)
    assert rows[6]["kernel"] == pytest.approx(0)
    for row in rows[1:-1]:
        # The samples are signs: a mean of five has a variance of at most 1/5 of theirs, 1 - K².
        bound = math.sqrt((1 - row["kernel"] ** 2) / 1000)
        assert 0.2 * bound < row["standard_error"] < bound
        assert abs(row["deviation"]) < 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(kernels.BUDGETS, "smoke", TINY)
        outcome = kernels.reproduce(path, "smoke", 2)
    assert len(outcome.lines) == 6
    assert all(file.stat().st_size > 0 for file in outcome.files)
    return path


def test_kernels_leave_one_run_a_kernel_and_seed(folder):
    names = {f"{c.name}-seed{seed}" for c in COMPARED for seed in range(2)}
    assert {path.name for path in (folder / "smoke-runs").iterdir()} == names
    for name in names:
        run = Run.open(folder / "smoke-runs" / name)
        assert run.metrics()["timesteps"].tolist() == [9, 18]
        assert run.config().env_kwargs["difficulty"] is None
    content = json.loads((folder / "kernels_smoke.json").read_text())
    assert set(content["last_iteration"]) == {c.name for c in COMPARED}
    lines = (folder / "fig6_rewards_smoke.csv").read_text().splitlines()
    assert len(lines) == 1 + 6 * 2 * 2


def test_finished_runs_are_kept_and_lost_ones_come_out_the_same(folder, monkeypatch, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    lost = copy / "smoke-runs" / "hybrid-6-3-seed1"
    before = (lost / "metrics.csv").read_text().splitlines()
    kept = copy / "smoke-runs" / "relu-seed0" / "metrics.csv"
    stamp = kept.stat().st_mtime_ns
    shutil.rmtree(lost)
    monkeypatch.setitem(kernels.BUDGETS, "smoke", TINY)
    kernels.reproduce(copy, "smoke", 1)
    assert kept.stat().st_mtime_ns == stamp
    after = (lost / "metrics.csv").read_text().splitlines()
    # All but the seconds that it took, the last two columns.
    assert [line.split(",")[:-2] for line in after] == [line.split(",")[:-2] for line in before]


def test_runs_of_other_settings_are_refused(folder, monkeypatch):
    other = dataclasses.replace(TINY, population_size=4)
    monkeypatch.setitem(kernels.BUDGETS, "smoke", other)
    with pytest.raises(ValueError, match="holds a run of other settings"):
        kernels.reproduce(folder, "smoke", 1)
