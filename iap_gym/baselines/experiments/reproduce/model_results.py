"""What the runs of a comparison reached, and which statements of the paper that bears out."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iap_gym._files import write_text
from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.experiments.comparison import is_error
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.reproduce.model_runs import PlanJob
from iap_gym.baselines.experiments.reproduce.model_target import Arm, Claim, Operand, Target
from iap_gym.baselines.experiments.statistics import (
    FEWEST,
    Mean,
    student_mean,
    welch_difference,
)
from iap_gym.baselines.world_model import WorldModel
from iap_gym.baselines.world_model.event_gates import EventGates, event_gates
from iap_gym.baselines.world_model.metrics import sequence_errors
from iap_gym.baselines.world_model.sets import open_set

Numbers = dict[str, float]
WORST = 0.02  # of the sequences, of which the share in a mean error is told
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
    if any("_median_" in each.name for each in target.measures):
        numbers |= _by_sequence(run)
    planned = None if job is None else job.found()
    if planned is not None:
        numbers["success"] = planned.success.mean
    if target.event is not None and arm.core == "gatel0rd":
        found = _control(run, target.event)
        numbers |= dict(zip(CONTROL, (found.at, *found), strict=True))
    numbers["minutes"] = float(np.nansum(run.metrics()["seconds"])) / 60
    return Result(arm, run.config().seed, run, numbers)


def _by_sequence(run: ModelRun) -> Numbers:
    """Return how the errors of the sets are spread over their sequences."""
    kept = _kept(run, "sequence_errors.json")
    if kept is not None:
        return kept
    config, model = run.config(), WorldModel.load(run.weights_file)
    assert config.start_steps is not None
    found: Numbers = {}
    with one_torch_thread():
        for key in [key for key in ("test", "gen") if key in config.test_sets]:
            errors = np.sort(sequence_errors(model, open_set(config, key), config.start_steps))
            worst = errors[-max(1, round(WORST * len(errors))) :]
            found[f"{key}_median_error"] = float(np.median(errors))
            found[f"{key}_worst_share"] = float(worst.sum() / errors.sum())
    if "gen_median_error" in found:
        found["median_drop"] = found["gen_median_error"] - found["test_median_error"]
    write_text(run.path / "sequence_errors.json", json.dumps(found) + "\n")
    return found


def _kept(run: ModelRun, name: str) -> Any:
    """Return what was measured of the weights that there are now, or None."""
    file = run.path / name
    if not file.is_file() or file.stat().st_mtime_ns < run.weights_file.stat().st_mtime_ns:
        return None
    return json.loads(file.read_text("utf-8"))


def _control(run: ModelRun, event: str) -> EventGates:
    """Return how gates open at an event, where there is one of the generalisation set."""
    kept = _kept(run, "event_gates.json")
    if kept is not None:
        return EventGates(*kept)
    config = run.config()
    sequences = open_set(config, "gen" if "gen" in config.test_sets else "test")
    with one_torch_thread():
        found = event_gates(WorldModel.load(run.weights_file), sequences, event)
    assert found is not None, "it has gates"
    write_text(run.path / "event_gates.json", json.dumps(list(found)) + "\n")
    return found


def samples(results: Sequence[Result], operand: Operand) -> list[float]:
    """Return a measure of an arm, a number a seed."""
    return [
        result.numbers[operand.measure]
        for result in results
        if result.arm.name == operand.arm and operand.measure in result.numbers
    ]


def summarise(results: Sequence[Result], arm: str, name: str) -> Mean | None:
    """Return the mean of a measure of an arm over seeds; None if there is no number.

    Of errors it is the geometric mean: they spread over factors, and are drawn so.
    """
    values = samples(results, Operand(arm, name))
    if not values:
        return None
    return _exponential(student_mean(np.log(values))) if is_error(name) else student_mean(values)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim came out.

    Attributes:
        claim: of the paper.
        answer: in words.
        difference: mean of what is to be larger minus what is to be smaller, with Welch's interval
            over seeds; of errors, the ratio of the geometric means.
        ratio: whether it is one.
    """

    claim: Claim
    answer: str
    difference: Mean
    ratio: bool


def judge(claim: Claim, results: Sequence[Result]) -> Verdict | None:
    """Decide on a claim; None if there are no numbers of one side.

    An ordering comes out, or comes out reversed, where the 95 % interval of the difference leaves
    0 out. For fewer than ``FEWEST`` seeds, or numbers without a spread, nothing is decided.
    """
    small: Any = np.array(samples(results, claim.less))
    large: Any = claim.more
    if isinstance(claim.more, Operand):
        large = np.array(samples(results, claim.more))
    if np.size(small) == 0 or np.size(large) == 0:
        return None
    ratio = is_error(claim.less.measure)
    if ratio:
        small, large = np.log(small), np.log(large)
    difference = welch_difference(large, small)
    few = any(np.ndim(side) and len(side) < FEWEST for side in (small, large))
    if difference.low is None or difference.high is None:
        answer = f"not decided: {f'fewer than {FEWEST} seeds' if few else 'all seeds are alike'}"
    elif difference.low > 0:
        answer = "no, it is larger" if claim.alike else "yes"
    elif difference.high < 0:
        answer = "no, it is smaller" if claim.alike else "no, the other way round"
    else:
        answer = "no difference seen" if claim.alike else "not decided: the interval holds 0"
        answer = answer.replace("0", "1") if ratio else answer
    return Verdict(claim, answer, _exponential(difference) if ratio else difference, ratio)


def _exponential(mean: Mean) -> Mean:
    low, high = (None if end is None else math.exp(end) for end in (mean.low, mean.high))
    return Mean(math.exp(mean.mean), low, high)
