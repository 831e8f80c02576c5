"""``iap-gym reproduce``: compute figures of the papers anew."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path
from types import ModuleType
from typing import Any

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
        help="smoke: only shows that every step runs; small: minutes on two cores; paper: as "
        "published, of world models alone (%(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=at_least(1),
        default=2,
        help="processes, where something is trained; the result is the same (%(default)s)",
    )
    models = parser.add_argument_group("comparisons of world models")
    models.add_argument("--seeds", type=at_least(1), help="of each arm; default: the budget's")
    models.add_argument("--epochs", type=at_least(1), help="default: the budget's")
    models.add_argument("--cores", nargs="+", metavar="CORE", help="only arms with these cores")
    models.add_argument(
        "--also",
        nargs="+",
        default=[],
        metavar="NAME",
        help="add arms: billiard: teacher, gates, zero-start; rrc: retuned (Fig. 19), random "
        "(Figs. 14, 20), penalties (Fig. 15), clockwork (Table 3); shepherd: clockwork; fetch: "
        "diverse (Fig. 24)",
    )
    models.add_argument("--data", metavar="FOLDER", help="of data sets; default: data")
    models.add_argument(
        "--report", action="store_true", help="train nothing, show what is finished"
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
    options = _options(arguments, target, module)
    out = Path(arguments.out or f"runs/reproduce-{target}")
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: expected a folder, got the file {out}")
    begin = time.monotonic()
    outcome = module.reproduce(out, arguments.budget, arguments.workers, **options)
    for line in outcome.lines:
        print(line)
    for file in outcome.files:
        print(file)
    print(f"{target}, budget {arguments.budget}: {time.monotonic() - begin:.0f} s")
    if outcome.missing:
        runs = "; ".join(outcome.missing)
        raise RuntimeError(f"{len(outcome.missing)} runs diverged, all others are there; {runs}")
    return 0


def _options(arguments: argparse.Namespace, target: str, module: ModuleType) -> dict[str, Any]:
    """Return the options of comparisons of world models.

    Raises:
        ValueError: the target is none, and got one; or it does not have the budget.
    """
    names = ("seeds", "epochs", "cores", "also", "data")
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name)}
    if arguments.report:
        given["train"] = False
    if given and not hasattr(module, "ALSO"):
        raise ValueError(f"{target}: expected no options of world models, got {', '.join(given)}")
    if arguments.budget not in module.BUDGETS:
        known = ", ".join(module.BUDGETS)
        raise ValueError(f"--budget: expected one of {known}, got {arguments.budget!r}")
    return given
