"""What the runs of a comparison reached, and which statements of the paper that bears out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iap_gym._files import write_text
from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.reproduce.model_runs import PlanJob
from iap_gym.baselines.experiments.reproduce.model_target import Arm, Claim, Operand, Target
from iap_gym.baselines.experiments.statistics import (
    CONFIDENCE,
    FEWEST,
    RESAMPLES,
    Mean,
    bootstrap_mean,
)
from iap_gym.baselines.world_model import WorldModel
from iap_gym.baselines.world_model.data import Sequences, load_or_make
from iap_gym.baselines.world_model.event_gates import EventGates, event_gates

Numbers = dict[str, float]
CONTROL = ("control_gates", "before_gates", "after_gates", "other_gates")


@dataclass(frozen=True)
class Result:
    """A finished run and its numbers, by measure."""

    arm: Arm
    seed: int
    run: ModelRun
    numbers: Numbers


@dataclass(frozen=True)
class Lost:
    """A run that diverged, and so has no numbers."""

    arm: Arm
    seed: int
    reason: str

    def __str__(self) -> str:
        """Name it in a line."""
        return f"{self.arm.name}, seed {self.seed}: {self.reason}"


def measure(target: Target, arm: Arm, run: ModelRun, job: PlanJob | None) -> Result:
    """Collect the numbers of a finished run, and remember those that take time in its folder."""
    last = {name: float(column[-1]) for name, column in run.evaluations().items()}
    numbers = {name: value for name, value in last.items() if np.isfinite(value)}
    if "gen_error" in numbers:
        numbers["drop"] = numbers["gen_error"] - numbers["test_error"]
    planned = None if job is None else job.found()
    if planned is not None:
        numbers["success"] = planned.success.mean
    if target.event is not None and arm.core == "gatel0rd":
        found = _control(run, target.event)
        numbers |= dict(zip(CONTROL, (found.at, *found), strict=True))
    numbers["minutes"] = float(np.nansum(run.metrics()["seconds"])) / 60
    return Result(arm, run.config().seed, run, numbers)


def _control(run: ModelRun, event: str) -> EventGates:
    """Return how gates open at an event, of the generalisation set; a finished run stays so."""
    file = run.path / "event_gates.json"
    if file.is_file():
        return EventGates(*json.loads(file.read_text("utf-8")))
    config = run.config()
    test = config.test_sets["gen"]
    sequences = Sequences(load_or_make(config.data, *test, config.variant), test.sequences)
    with one_torch_thread():
        found = event_gates(WorldModel.load(run.weights_file), sequences, event)
    assert found is not None, "it has gates"
    write_text(file, json.dumps(list(found)) + "\n")
    return found


def samples(results: Sequence[Result], operand: Operand) -> list[float]:
    """Return a measure of an arm, a number a seed."""
    return [
        result.numbers[operand.measure]
        for result in results
        if result.arm.name == operand.arm and operand.measure in result.numbers
    ]


def summarise(results: Sequence[Result], arm: str, name: str) -> Mean | None:
    """Return the mean of a measure of an arm over seeds; None if there is no number."""
    values = samples(results, Operand(arm, name))
    return bootstrap_mean(values) if values else None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim came out.

    Attributes:
        claim: of the paper.
        answer: in words.
        difference: mean of what is to be larger minus what is to be smaller, with its bootstrap
            interval over seeds, which are resampled apart for the two.
    """

    claim: Claim
    answer: str
    difference: Mean


def judge(claim: Claim, results: Sequence[Result]) -> Verdict | None:
    """Decide on a claim; None if there are no numbers of one side.

    An ordering comes out, or comes out reversed, where the 95 % interval of the difference leaves
    0 out. For fewer than ``FEWEST`` seeds nothing is decided.
    """
    small = np.array(samples(results, claim.less))
    if isinstance(claim.more, Operand):
        large = np.array(samples(results, claim.more))
    else:
        large = np.array([claim.more])
    if not small.size or not large.size:
        return None
    number = isinstance(claim.more, float)
    mean = float(large.mean() - small.mean())
    if small.size < FEWEST or (large.size < FEWEST and not number):
        few = f"not decided: fewer than {FEWEST} seeds"
        return Verdict(claim, few, Mean(mean, None, None))
    difference = _bootstrap_difference(large, small)
    assert difference.low is not None
    assert difference.high is not None
    if difference.low > 0:
        answer = "no, it is larger" if claim.alike else "yes"
    elif difference.high < 0:
        answer = "no, it is smaller" if claim.alike else "no, the other way round"
    else:
        answer = "no difference seen" if claim.alike else "not decided: the interval holds 0"
    return Verdict(claim, answer, difference)


def _bootstrap_difference(large: np.ndarray, small: np.ndarray, seed: int = 0) -> Mean:
    """Bootstrap the difference of two means, percentile method, the two resampled apart."""
    rng = np.random.default_rng(seed)
    drawn = [
        sample[rng.integers(len(sample), size=(RESAMPLES, len(sample)))].mean(axis=1)
        for sample in (large, small)
    ]
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(drawn[0] - drawn[1], (tail, 100 - tail))
    return Mean(float(large.mean() - small.mean()), float(low), float(high))
