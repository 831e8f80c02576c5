"""``iap-gym reproduce``: compute figures of the papers anew."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path

from iap_gym.baselines.experiments.reproduce import BUDGETS, LATER, TARGETS
from iap_gym.cli.arguments import at_least


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "targets:\n" + "\n".join(
        f"  {name:<16}{text}" for name, (_, text) in TARGETS.items()
    )
    parser.add_argument("target", metavar="TARGET", help="what to reproduce, see below")
    parser.add_argument("--out", help="folder for the results; default: runs/reproduce-TARGET")
    parser.add_argument(
        "--budget",
        choices=BUDGETS,
        default="small",
        help="smoke: only shows that every step runs; small: minutes on two cores (%(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=at_least(1),
        default=2,
        help="processes, where agents are trained; the result is the same (%(default)s)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write pictures and numbers of one target."""
    target = arguments.target
    if target in LATER:
        raise ValueError(f"{target}: not available yet ({LATER[target]})")
    if target not in TARGETS:
        raise ValueError(f"TARGET: expected one of {', '.join(TARGETS)}, got {target!r}")
    module_name, _ = TARGETS[target]
    module = importlib.import_module(f"iap_gym.baselines.experiments.reproduce.{module_name}")
    out = Path(arguments.out or f"runs/reproduce-{target}")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: expected a folder, got the file {out}")
    begin = time.monotonic()
    outcome = module.reproduce(out, arguments.budget, arguments.workers)
    for line in outcome.lines:
        print(line)
    for file in outcome.files:
        print(file)
    print(f"{target}, budget {arguments.budget}: {time.monotonic() - begin:.0f} s")
    return 0
