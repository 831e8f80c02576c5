"""``iap-gym plot``: training curves of one run or several, or cores compared over seeds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iap_gym.baselines.experiments.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", help="the picture (png, svg, pdf); default: curve.png of the run")
    parser.add_argument(
        "--metric",
        metavar="COLUMN",
        help="compare settings over seeds by this column, such as success_rate, mean_return, "
        "gate_rate, of world models test_error or val_gate_rate; default for several ppo runs: the "
        "success rate where there is one",
    )
    parser.add_argument("--csv", help="a file for the compared curves")
    parser.add_argument(
        "--threshold",
        type=float,
        help="of the table of steps that a comparison prints; default for success_rate: 0.9",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the picture."""
    from iap_gym.baselines.experiments.curves import draw_curves
    from iap_gym.baselines.experiments.model_curves import draw_model_curves
    from iap_gym.baselines.experiments.model_report import write_model_report
    from iap_gym.baselines.experiments.model_run import runs_in
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.run import Run

    models = [runs_in(path) for path in arguments.runs]
    if any(models) and not all(models):
        raise ValueError("RUN: expected runs of agents or of world models, got both")
    of_models = [run for found in models for run in found]
    folders = of_models or [Run.open(path) for path in arguments.runs]
    several = len(folders) > 1
    compares = any((arguments.metric, arguments.csv, arguments.threshold is not None))
    if not of_models:
        compares |= several and all(folder.config().algo == "ppo" for folder in folders)
    if arguments.out is None and (several or compares):
        what = "several runs" if several else "a comparison"
        raise ValueError(f"--out: expected a file for the curves of {what}, got nothing")
    out = arguments.out or folders[0].curve_file
    if compares:
        _compare(folders, arguments)
    elif of_models:
        draw_model_curves(of_models, out)
    else:
        draw_curves(folders, out)
    if arguments.out is None:
        write_model_report(of_models[0]) if of_models else write_report(folders[0])
    print(out)
    return 0


def _compare(folders: Sequence[Run], arguments: argparse.Namespace) -> None:
    import numpy as np

    from iap_gym.baselines.experiments import comparison, comparison_tables
    from iap_gym.baselines.experiments.curves import draw_comparison

    metric = arguments.metric or comparison.default_metric(folders)
    kept = comparison.having(folders, metric)
    without = [str(folder.path) for folder in folders if folder not in kept]
    if without:
        print(f"left out, without a number in {metric}: {', '.join(without)}")
    folders = kept
    # Fixed, so that the same runs print the same intervals.
    groups = comparison.compare(folders, metric, np.random.default_rng(0))
    draw_comparison(groups, metric, arguments.out)
    print(comparison_tables.final_table(groups, metric))
    threshold = arguments.threshold
    if threshold is None and metric == comparison.SUCCESS:
        threshold = comparison.THRESHOLD
    if threshold is not None:
        members = comparison.group_runs(folders)
        print(comparison_tables.steps_table(members, threshold, metric))
    if arguments.csv:
        comparison_tables.write_csv(groups, metric, arguments.csv)
        print(arguments.csv)
