"""The table of a comparison: numbers with intervals, and the paper's claims beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from iap_gym.baselines.experiments.plan_episodes import TRUE_SIMULATOR, PlannedEpisodes
from iap_gym.baselines.experiments.reproduce.model_results import (
    Lost,
    Result,
    Verdict,
    judge,
    summarise,
)
from iap_gym.baselines.experiments.reproduce.model_target import Arm, Target
from iap_gym.baselines.experiments.statistics import FEWEST, Mean


def number(value: float) -> str:
    """Lay a number out with three digits."""
    return f"{value:.3g}"


def interval(mean: Mean | None) -> str:
    """Lay a mean out with its interval; nothing where there is none."""
    if mean is None:
        return ""
    if mean.low is None or mean.high is None:
        return number(mean.mean)
    return f"{number(mean.mean)} [{number(mean.low)}, {number(mean.high)}]"


def verdicts(target: Target, results: Sequence[Result]) -> list[Verdict]:
    """Decide on the claims of which both sides were measured."""
    found = (judge(claim, results) for claim in target.claims)
    return [verdict for verdict in found if verdict is not None]


def budget_text(results: Sequence[Result]) -> str:
    """Say how much the runs were trained."""
    configs = [result.run.config() for result in results]
    by_set: dict[str, set[tuple[int | None, int | None]]] = {}
    for config in configs:
        by_set.setdefault(config.train_set.name, set()).add((config.sequences, config.epochs))
    parts = [
        f"{name}: {sequences:,} sequences, {epochs:,} epochs"
        for name, found in by_set.items()
        for sequences, epochs in sorted(found, key=str)
    ]
    minutes = sum(result.numbers["minutes"] for result in results)
    time = f"together {minutes:.0f} minutes of training, by the clock"
    return f"{'; '.join(parts)}. {len(results)} runs, {time}."


def table(
    target: Target,
    budget: str,
    arms: Sequence[Arm],
    results: Sequence[Result],
    bound: PlannedEpisodes | None,
    lost: Sequence[Lost] = (),
) -> str:
    """Lay a comparison out as Markdown."""
    shown = [arm for arm in arms if any(result.arm == arm for result in (*results, *lost))]
    measures = [m for m in target.measures if any(m.name in r.numbers for r in results)]
    head = ["arm", "seeds", *(m.title for m in measures)]
    lines = [
        f"# {target.title}, budget {budget}",
        "",
        budget_text(results),
        "Means over seeds, of errors the geometric ones; in brackets 95 % intervals (Student's t, "
        f"of errors of their logarithms), from {FEWEST} seeds on.",
        *target.notes,
        "",
        _row(head),
        _row(["---"] * len(head)),
    ]
    for arm in shown:
        count = sum(result.arm == arm for result in results)
        gone = sum(run.arm == arm for run in lost)
        seeds = f"{count}, {gone} diverged" if gone else str(count)
        cells = [interval(summarise(results, arm.name, m.name)) for m in measures]
        lines.append(_row([arm.name, seeds, *cells]))
    if bound is not None:
        cells = [interval(bound.success) if m.name == "success" else "" for m in measures]
        episodes = f"{len(bound.episodes)} episodes"
        lines.append(_row([f"{TRUE_SIMULATOR} ({episodes}, Wilson interval)", "", *cells]))
    if lost:
        lines += ["", "Diverged, and in no number here:", "", *(f"- {run}" for run in lost)]
    found = verdicts(target, results)
    if found:
        lines += ["", "| the paper | where | here | difference or ratio |", "|---|---|---|---|"]
        for verdict in found:
            claim = verdict.claim
            cells = [claim.text, claim.source, verdict.answer, _compared(verdict)]
            lines.append(_row(cells))
        note = (
            "Of what is said to be larger and the other, the difference of the means, or of errors "
            "the ratio (x times), with Welch's interval. Each is decided at 95 % by itself: of "
            f"{len(found)} statements about what is alike in truth, {len(found) / 20:.1f} would "
            "come out as differences."
        )
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _compared(verdict: Verdict) -> str:
    text = interval(verdict.difference)
    if not verdict.ratio:
        return text
    mean, space, rest = text.partition(" ")
    return f"{mean}x{space}{rest}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def numbers_json(
    target: Target,
    arms: Sequence[Arm],
    results: Sequence[Result],
    bound: PlannedEpisodes | None,
    lost: Sequence[Lost] = (),
) -> dict[str, Any]:
    """Return a comparison as JSON values."""
    means: dict[str, Any] = {}
    for arm in arms:
        found = {m.name: summarise(results, arm.name, m.name) for m in target.measures}
        means[arm.name] = {name: m.to_json() for name, m in found.items() if m is not None}
    return {
        "target": target.name,
        "training": budget_text(results),
        "means": means,
        "true_simulator": None if bound is None else bound.success.to_json(),
        "claims": [
            {
                **dataclasses.asdict(verdict.claim),
                "answer": verdict.answer,
                "ratio" if verdict.ratio else "difference": verdict.difference.to_json(),
            }
            for verdict in verdicts(target, results)
        ],
        "diverged": [{"arm": run.arm.name, "seed": run.seed, "reason": run.reason} for run in lost],
        "minutes": float(np.sum([result.numbers["minutes"] for result in results])),
    }
