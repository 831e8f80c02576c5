"""Runs compared: seeds of one setting together, their curve and their steps to a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import (
    interquartile_interval,
    interquartile_mean,
)

SUCCESS = "success_rate"
THRESHOLD = 0.9  # of the success rate
GRID = 500  # points of a curve at most
# Runs that differ in these alone are drawn as one curve, but see ``settings``.
SAME_SETTING = (
    *("seed", "workers", "total_timesteps", "eval_every"),
    *("epochs", "evaluate_every", "data", "data_sha256"),  # of world models
)


@dataclass(frozen=True)
class Curve:
    """One column of a run over its environment steps, or epochs of a world model."""

    run: Run
    timesteps: NDArray[np.float64]  # (K,), rising
    values: NDArray[np.float64]  # (K,), finite
    table: str  # that it is of, "evaluations" or "metrics"


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone, and their interquartile mean."""

    name: str
    curves: tuple[Curve, ...]
    timesteps: NDArray[np.float64]  # (G,), what every run of the group reached
    center: NDArray[np.float64]  # (G,)
    low: NDArray[np.float64] | None  # (G,); None for too few runs
    high: NDArray[np.float64] | None


def tables(run: Run) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the tables of a run that hold curves, by name, the one of its evaluations first."""
    found = {"evaluations": run.evaluations()} if run.evaluations_file.is_file() else {}
    if run.metrics_file.is_file() or not found:
        found["metrics"] = run.metrics()
    return found


def read_curves(runs: Sequence[Run], metric: str) -> list[Curve]:
    """Read a column of runs, of the same table of all of them.

    It is that of the evaluations during training if every run has numbers there, else that of the
    metrics: an average over both would mean nothing. Rows in which the column is not a number, as a
    mean return before the first episode has ended, are left out.

    Raises:
        FileNotFoundError: a run has no metrics yet.
        ValueError: one has no such column, or no number in it; or they have their numbers in
            different tables.
    """
    found = [_with_numbers(run, metric) for run in runs]
    each = list(zip(runs, found, strict=True))
    for run, of_run in each:
        if not of_run:
            raise _missing(run, metric)
    for name in ("evaluations", "metrics"):
        if all(name in of_run for of_run in found):
            return [_curve(run, of_run[name], metric, name) for run, of_run in each]
    played = next(run for run, of_run in each if "metrics" not in of_run)
    trained = next(run for run, of_run in each if "evaluations" not in of_run)
    raise ValueError(
        f"metric: expected {metric!r} in the same table of all runs, got it in the evaluations "
        f"alone of {played.path} and in the metrics alone of {trained.path}"
    )


def read_curve(run: Run, metric: str) -> Curve:
    """Read a column of one run; see ``read_curves``."""
    return read_curves([run], metric)[0]


def _with_numbers(run: Run, metric: str) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the tables in which a column has a number."""
    return {
        name: table
        for name, table in tables(run).items()
        if np.isfinite(table.get(metric, np.nan)).any()
    }


def _curve(run: Run, table: dict[str, NDArray[np.float64]], metric: str, name: str) -> Curve:
    keep = np.isfinite(table[metric])
    return Curve(run, table[run.step_column][keep], table[metric][keep], name)


def _missing(run: Run, metric: str) -> ValueError:
    columns = list(dict.fromkeys(name for table in tables(run).values() for name in table))
    if metric in columns:
        return ValueError(f"metric: {run.path} has no number in its column {metric!r}")
    return _checks.refuse("metric", f"a column of {run.path} among {', '.join(columns)}", metric)


def having(runs: Sequence[Run], metric: str) -> list[Run]:
    """Return the runs that have numbers in a column, as those of an LSTM have no gate rate.

    Raises:
        FileNotFoundError: a run has no metrics yet.
        ValueError: none of the runs has any.
    """
    found = [run for run in runs if _with_numbers(run, metric)]
    if runs and not found:
        raise _missing(runs[0], metric)
    return found


def interpolate(curve: Curve, timesteps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values of a curve between its rows; NaN before the first and after the last."""
    return np.interp(timesteps, curve.timesteps, curve.values, left=np.nan, right=np.nan)


def common_grid(curves: Sequence[Curve]) -> NDArray[np.float64]:
    """Return the timesteps of all rows that lie where every curve has values.

    More than ``GRID`` of them are replaced by ``GRID`` evenly spaced ones.

    Raises:
        ValueError: one curve ends before another begins.
    """
    begin = max(curve.timesteps[0] for curve in curves)
    end = min(curve.timesteps[-1] for curve in curves)
    if begin > end:
        first = min(curves, key=lambda curve: curve.timesteps[-1])
        raise ValueError(
            f"runs: expected timesteps that all runs of a setting have, got {first.run.path}, "
            f"which ends at {end:.0f}, before another begins at {begin:.0f}"
        )
    grid = np.unique(np.concatenate([curve.timesteps for curve in curves]))
    grid = grid[(grid >= begin) & (grid <= end)]
    return grid if len(grid) <= GRID else np.linspace(begin, end, GRID)


def summarise(name: str, curves: Sequence[Curve], rng: np.random.Generator) -> Group:
    """Compute the interquartile mean of curves on their common grid, with its interval."""
    grid = common_grid(curves)
    values = np.stack([interpolate(curve, grid) for curve in curves])
    interval = interquartile_interval(values, rng)
    low, high = interval if interval is not None else (None, None)
    return Group(name, tuple(curves), grid, interquartile_mean(values, axis=0), low, high)


def settings(run: Run) -> dict[str, Any]:
    """Return what a run was made from but its seed, nested arguments under their own names."""
    config = run.config().to_json()
    same = set(SAME_SETTING)
    # A schedule falls to 0 at the last step: how many there are to be decides every update.
    if any(_is_schedule(value) for value in config.get("algo_kwargs", {}).values()):
        same.remove("total_timesteps")
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if name in same:
            continue
        if isinstance(value, Mapping):
            flat.update({f"{name}.{key}": item for key, item in value.items()})
        else:
            flat[name] = value
    return flat


def _is_schedule(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("lin_")


def group_runs(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Put runs together that differ in their seed alone.

    A group is named by its core, and its environment if the runs differ in that, where these set it
    apart from the others; else by everything in which the runs differ.

    Raises:
        ValueError: no run, or two of one setting and one seed, which is one sample and not two.
    """
    if not runs:
        raise ValueError("runs: expected at least one run, got none")
    each = [settings(run) for run in runs]
    names = sorted({name for fields in each for name in fields}, key=_place)
    differ = [name for name in names if any(f.get(name) != each[0].get(name) for f in each)]
    groups: dict[str, list[Run]] = {}
    short: dict[str, str] = {}
    for run, fields in zip(runs, each, strict=True):
        parts = [_label(name, fields[name]) for name in differ if name in fields]
        core = str(fields.get("core") or fields["policy"])
        name = ", ".join(parts) or core
        groups.setdefault(name, []).append(run)
        where = [name for name in differ if name in fields and _of_env(name)]
        short[name] = ", ".join([core, *(_label(name, fields[name]) for name in where)])
    for name, members in groups.items():
        _check_seeds(name, members)
    if len(set(short.values())) == len(short):
        return {short[name]: members for name, members in groups.items()}
    return groups


def _of_env(name: str) -> bool:
    return name == "env" or name.startswith("env_kwargs.")


def _place(name: str) -> tuple[bool, bool, str]:
    return name != "core", not _of_env(name), name


def _label(name: str, value: Any) -> str:
    return str(value) if name in ("core", "env") else f"{name.rpartition('.')[2]}={value}"


def _check_seeds(name: str, runs: Sequence[Run]) -> None:
    seen: dict[int, Run] = {}
    for run in runs:
        seed = run.config().seed
        if seed in seen:
            raise ValueError(
                f"runs: expected another seed in every run of {name}, got {seed} in "
                f"{seen[seed].path} and {run.path}"
            )
        seen[seed] = run


def is_error(metric: str) -> bool:
    """Say whether a column is an error of prediction, which is better the smaller it is."""
    return metric == "error" or metric.endswith("_error")


def default_metric(runs: Sequence[Run]) -> str:
    """Return the success rate where every run has one, else the mean return.

    Of world models it is the error on the test set.
    """
    if runs and runs[0].step_column == "epoch":
        return "test_error"
    try:
        return SUCCESS if len(having(runs, SUCCESS)) == len(runs) else "mean_return"
    except ValueError:  # no run has one
        return "mean_return"


def compare(runs: Sequence[Run], metric: str, rng: np.random.Generator) -> list[Group]:
    """Summarise a column of runs, those of one setting together.

    Args:
        runs: with metrics.
        metric: a column of their evaluations or metrics.
        rng: draws the resamples of the intervals.

    Raises:
        FileNotFoundError: a run has no metrics yet.
        ValueError: no such column, or in no table that all runs have; no common timesteps, or one
            run twice.
    """
    groups = group_runs(runs)
    # Read together: curves of different tables do not compare.
    curves = iter(read_curves([run for members in groups.values() for run in members], metric))
    return [
        summarise(name, [next(curves) for _ in members], rng) for name, members in groups.items()
    ]


def steps_to(
    runs: Sequence[Run], threshold: float = THRESHOLD, metric: str = SUCCESS
) -> list[float | None]:
    """Find when runs first reach a threshold.

    Args:
        runs: with metrics.
        threshold: of the metric; reached at the first row that is at least as large, of an error at
            most as large, even if a later row is not.
        metric: a column, as for ``read_curves``.

    Returns:
        For each run the timesteps of that row; None if there is no such row.
    """
    found: list[float | None] = []
    for curve in read_curves(runs, metric):
        there = curve.values <= threshold if is_error(metric) else curve.values >= threshold
        reached = np.flatnonzero(there)
        found.append(float(curve.timesteps[reached[0]]) if reached.size else None)
    return found


def median_steps(steps: Sequence[float | None]) -> float | None:
    """Return the median of ``steps_to``, in which a run that never arrived counts as infinite.

    None where the median is one of those.
    """
    median = float(np.median([np.inf if value is None else value for value in steps]))
    return median if np.isfinite(median) else None
