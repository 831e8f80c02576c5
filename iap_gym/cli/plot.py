"""``iap-gym plot``: training curves of one run or several."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--out", help="the picture (png, svg, pdf); default: curve.png of the run")


def run(arguments: argparse.Namespace) -> int:
    """Write the picture."""
    from iap_gym.baselines.experiments.curves import draw_curves
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.run import Run

    folders = [Run.open(path) for path in arguments.runs]
    if arguments.out is None and len(folders) > 1:
        raise ValueError("--out: expected a file for the curves of several runs, got nothing")
    out = arguments.out or folders[0].curve_file
    draw_curves(folders, out)
    if arguments.out is None:
        write_report(folders[0])
    print(out)
    return 0
