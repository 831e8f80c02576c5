"""Comparisons of world models: what is trained, what is decided, and what is kept."""

import csv
import dataclasses
import json
import os
import shutil
from importlib import import_module

import numpy as np
import pytest
import torch
from scipy import stats

from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.reproduce import model_comparison, model_runs, rrc
from iap_gym.baselines.experiments.reproduce.model_results import (
    Result,
    judge,
    measure,
    summarise,
)
from iap_gym.baselines.experiments.reproduce.model_target import Budget, Claim, Operand
from iap_gym.baselines.experiments.train_model import Failure, RunsFailedError
from iap_gym.baselines.world_model import WorldModel
from iap_gym.baselines.world_model.scenarios import SCENARIOS
from iap_gym.baselines.world_model.sets import open_set
from iap_gym.cli.main import main

TARGETS = [
    import_module(f"iap_gym.baselines.experiments.reproduce.{name}")
    for name in ("billiard", "rrc", "shepherd", "fetch")
]


NAME = "success"


def results(measure=NAME, **values):
    """One result a seed of arms ``a`` and ``b`` with a measure."""
    arms = {name: rrc.TARGET.arms[0].__class__(name, "gru") for name in values}
    return [
        Result(arms[name], seed, None, {measure: value})
        for name, numbers in values.items()
        for seed, value in enumerate(numbers)
    ]


def claim(alike=False, more="b", name=NAME):
    right = Operand(more, name) if isinstance(more, str) else more
    return Claim("a before b", "nowhere", Operand("a", name), right, alike)


LOW, HIGH = [1.0, 1.1, 0.9, 1.05, 0.95], [2.0, 2.1, 1.9, 2.2, 1.8]


def test_an_ordering_is_claimed_where_the_interval_leaves_0_out():
    rng = np.random.default_rng(0)
    noise = rng.normal(1.0, 1.0, (2, 5))
    same = [0.99] * 5
    for a, b, answer, alike in (
        (LOW, HIGH, "yes", "no, it is larger"),
        (HIGH, LOW, "no, the other way round", "no, it is smaller"),
        (*noise, "not decided: the interval holds 0", "no difference seen"),
        (LOW[:4], HIGH, *["not decided: fewer than 5 seeds"] * 2),
        (LOW, HIGH[:1], *["not decided: fewer than 5 seeds"] * 2),
        (same, [1.0] * 5, *["not decided: all seeds are alike"] * 2),
    ):
        found = judge(claim(), results(a=a, b=b))
        assert found.answer == answer
        assert not found.ratio
        assert found.difference.mean == pytest.approx(np.mean(b) - np.mean(a))
        assert judge(claim(alike=True), results(a=a, b=b)).answer == alike
    assert judge(claim(more=1.5), results(a=LOW)).answer == "yes"
    assert judge(claim(more=0.5), results(a=LOW)).answer == "no, the other way round"
    assert judge(claim(), results(a=LOW)) is None
    assert summarise(results(a=LOW), "b", NAME) is None


def test_errors_are_compared_by_their_ratio():
    """Of geometric means: Welch's interval of the logarithms, written out by scipy."""
    a, b = np.exp(np.array(LOW)), np.exp(np.array(HIGH))
    found = judge(claim(name="test_error"), results("test_error", a=a, b=b))
    assert (found.answer, found.ratio) == ("yes", True)
    assert found.difference.mean == pytest.approx(np.exp(1.0))
    interval = stats.ttest_ind(HIGH, LOW, equal_var=False).confidence_interval()
    assert found.difference.low == pytest.approx(np.exp(interval.low))
    assert found.difference.high == pytest.approx(np.exp(interval.high))
    undecided = judge(claim(name="test_error"), results("test_error", a=a, b=a[::-1]))
    assert undecided.answer == "not decided: the interval holds 1"
    mean = summarise(results("test_error", a=a), "a", "test_error")
    assert mean.mean == pytest.approx(stats.gmean(a))
    own = stats.ttest_1samp(LOW, 0.0).confidence_interval()
    assert (mean.low, mean.high) == pytest.approx((np.exp(own.low), np.exp(own.high)))


@pytest.mark.parametrize("module", TARGETS, ids=lambda module: module.TARGET.name)
def test_all_arms_and_claims_belong_together(module):
    target = module.TARGET
    names = [arm.name for arm in target.arms]
    assert len(set(names)) == len(names)
    assert {arm.also for arm in target.arms} - {None} == set(target.also)
    assert {operand.arm for c in target.claims for operand in c.operands} <= set(names)
    configs = [target.config(arm, module.BUDGETS["paper"], 0, "data", None) for arm in target.arms]
    assert len({str(config) for config in configs}) == len(configs)
    for arm, config in zip(target.arms, configs, strict=True):
        published = SCENARIOS[target.scenario(arm).name]
        assert config.epochs == published.epochs * arm.longer
        assert config.decay == 0.998
        assert config.sequences == published.train.sequences
    small = target.config(target.arms[0], module.BUDGETS["small"], 0, "data", None)
    assert small.decay**small.epochs == pytest.approx(0.998**published.epochs, rel=1e-6)
    assert target.config(target.arms[0], module.BUDGETS["small"], 3, "data", 7).epochs == 7


def test_numbers_of_the_figures():
    config = rrc.TARGET.config
    arms = {arm.name: arm for arm in rrc.TARGET.arms}
    paper = rrc.BUDGETS["paper"]
    assert config(arms["retuned gru"], paper, 0, "data", None).learning_rate == 0.001
    assert config(arms["gru"], paper, 0, "data", None).learning_rate == 0.005
    random = config(arms["random lstm"], paper, 0, "data", None)
    assert random.train_set == ("rrc-random", "train", 6_400)
    assert config(arms["clockwork"], paper, 0, "data", None).epochs == 20_000


TINY = Budget(1, {"rrc": 2}, 64, 32, 1, 32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A comparison of two cores, with one planned episode of each."""
    path = tmp_path_factory.mktemp("rrc")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(rrc.BUDGETS, "smoke", TINY)
        outcome = rrc.reproduce(
            path, "smoke", 1, cores=["gatel0rd", "gru"], data=str(path / "data")
        )
    assert all(file.stat().st_size > 0 for file in outcome.files)
    text = "\n".join(outcome.lines)
    assert "GateL0RD generalises better than gru | Fig. 4 | not decided: fewer than 5" in text
    assert "lstm" not in text
    return path


def again(path, monkeypatch, **options):
    monkeypatch.setitem(rrc.BUDGETS, "smoke", TINY)
    options = {"cores": ["gatel0rd", "gru"], "data": str(path / "data")} | options
    return rrc.reproduce(path, "smoke", 1, **options)


def test_what_is_written(folder):
    with (folder / "rrc-smoke.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["arm"] for row in rows] == ["gatel0rd", "gru"]
    for row in rows:
        run = ModelRun.open(folder / "smoke-runs" / row["arm"] / "seed-0")
        assert float(row["gen_error"]) == run.evaluations()["gen_error"][-1]
        assert run.config().epochs == 2
        page = run.report_file.read_text()
        assert "iCEM on the model" in page
        assert "What it predicts and remembers" in page
    assert rows[0]["control_gates"]
    assert not rows[1]["control_gates"]
    content = json.loads((folder / "rrc-smoke.json").read_text())
    assert set(content["means"]) == {"gatel0rd", "gru"}
    assert content["true_simulator"]["mean"] in (0.0, 1.0)


def test_errors_of_the_median_sequence(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    fetch = import_module("iap_gym.baselines.experiments.reproduce.fetch").TARGET
    arm = rrc.TARGET.arms[0]
    run = ModelRun.open(tmp_path / "copy" / "smoke-runs" / arm.name / "seed-0")
    numbers = measure(fetch, arm, run, None).numbers
    for key in ("test", "gen"):
        sequences = open_set(run.config(), key)
        assert len(sequences) == 32
        with torch.no_grad():
            predicted = WorldModel.load(run.weights_file)(
                sequences.observations[:, :1].transpose(0, 1), sequences.actions.transpose(0, 1)
            )[0]
        squares = (predicted.transpose(0, 1) - sequences.observations[:, 1:]).square()
        errors = sorted(squares.double().mean(dim=(1, 2)).tolist())
        middle = (errors[15] + errors[16]) / 2
        assert numbers[f"{key}_median_error"] == pytest.approx(middle, rel=1e-5)
        assert numbers[f"{key}_worst_share"] == pytest.approx(errors[-1] / sum(errors), rel=1e-5)
        assert numbers[f"{key}_error"] == pytest.approx(np.mean(errors), rel=1e-5)
    rise = numbers["gen_median_error"] - numbers["test_median_error"]
    assert numbers["median_drop"] == pytest.approx(rise)
    kept = run.path / "sequence_errors.json"
    kept.write_text(json.dumps({"test_median_error": 0.5}))  # is not computed again
    assert measure(fetch, arm, run, None).numbers["test_median_error"] == 0.5
    os.utime(run.weights_file)  # but of weights that came later
    os.utime(kept, ns=(0, 0))
    assert measure(fetch, arm, run, None).numbers == numbers


def test_finished_runs_are_kept_and_lost_ones_come_out_the_same(folder, monkeypatch, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    lost = copy / "smoke-runs" / "gru" / "seed-0"
    kept = copy / "smoke-runs" / "gatel0rd" / "seed-0" / "checkpoint.safetensors"
    stamp, before = kept.stat().st_mtime_ns, (lost / "evaluations.csv").read_text()
    shutil.rmtree(lost)
    only = again(copy, monkeypatch, train=False)
    assert "| gru |" not in "\n".join(only.lines)
    assert not lost.exists()
    again(copy, monkeypatch)
    assert kept.stat().st_mtime_ns == stamp
    assert (lost / "evaluations.csv").read_text() == before


@pytest.mark.slow  # processes, each of which imports torch
def test_workers_do_not_matter(folder, monkeypatch, tmp_path):
    monkeypatch.setitem(rrc.BUDGETS, "smoke", TINY)
    data = str(folder / "data")
    rrc.reproduce(tmp_path, "smoke", 2, cores=["gatel0rd", "gru"], data=data)
    old, new = (json.loads((at / "rrc-smoke.json").read_text()) for at in (folder, tmp_path))
    assert new["means"] == old["means"]
    assert new["true_simulator"] == old["true_simulator"]


def test_a_comparison_that_is_complete_trains_nothing(folder, monkeypatch):
    monkeypatch.setattr(model_comparison, "train_all", lambda runs, workers: None)
    monkeypatch.setattr(model_comparison, "plan_all", lambda jobs, workers: None)
    before = (folder / "rrc-smoke.json").read_text()
    again(folder, monkeypatch)
    assert (folder / "rrc-smoke.json").read_text() == before


def diverging():
    """Arms of which one diverges, for real."""
    arms = {arm.name: arm for arm in rrc.TARGET.arms}
    bad = {"learning_rate": 1e38, "max_grad_norm": 1e30}
    lost = dataclasses.replace(arms["gru"], changes=bad)
    return model_comparison.comparison(
        dataclasses.replace(rrc.TARGET, arms=(lost, arms["gatel0rd"])), {"smoke": TINY}
    )


def test_a_run_that_diverges_is_named_and_stops_no_other(folder, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(rrc, "reproduce", diverging())
    words = ["reproduce", "rrc", "--budget", "smoke", "--workers", "1"]
    words += ["--out", str(tmp_path), "--data", str(folder / "data")]
    marker = tmp_path / "smoke-runs" / "gru" / "seed-0" / "diverged.txt"
    stamps = []
    for more in ([], ["--report"], []):
        assert main([*words, *more]) == 1
        told = capsys.readouterr()
        assert "1 runs diverged, all others are there; gru, seed 0: loss: expected" in told.err
        assert "| gru | 0, 1 diverged |" in told.out
        assert "- gru, seed 0: loss: expected a finite number" in told.out
        assert "| gatel0rd | 1 |" in told.out
        stamps.append(marker.stat().st_mtime_ns)
    assert len(set(stamps)) == 1  # it is not trained in vain
    content = json.loads((tmp_path / "rrc-smoke.json").read_text())
    assert content["diverged"][0]["arm"] == "gru"
    assert content["means"]["gru"] == {}
    assert content["means"]["gatel0rd"]["test_error"]
    assert main([*words, "--cores", "gru"]) == 1
    assert "all of 1 runs diverged; gru, seed 0: loss" in capsys.readouterr().err


def test_runs_that_fail_otherwise_end_it(tmp_path, monkeypatch):
    runs = [ModelRun(tmp_path / name) for name in "ab"]
    for diverged in (True, False):
        failures = {
            runs[0].path: Failure("it diverged", diverged=True),
            runs[1].path: Failure("the disk is full", diverged=diverged),
        }

        def train(*_, failures=failures):
            raise RunsFailedError(failures, 2)

        monkeypatch.setattr(model_runs, "train_side_by_side", train)
        if diverged:
            model_runs.train_all(runs, 2)
        else:
            with pytest.raises(RunsFailedError, match="2 of 2 runs failed; .*a: it diverged"):
                model_runs.train_all(runs, 2)


def test_what_is_refused(folder, monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="holds a run of other settings \\(epochs"):
        again(folder, monkeypatch, epochs=3)
    with pytest.raises(ValueError, match="also: expected one of 'retuned'"):
        again(folder, monkeypatch, also=["all"])
    with pytest.raises(ValueError, match="cores: expected one of"):
        again(folder, monkeypatch, cores=["rnn"])
    monkeypatch.setitem(rrc.BUDGETS, "smoke", TINY)
    with pytest.raises(ValueError, match="--report: expected finished runs"):
        rrc.reproduce(tmp_path, "smoke", 1, train=False)
