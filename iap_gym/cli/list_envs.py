"""``iap-gym list``: the registered environments."""

from __future__ import annotations

import argparse
from importlib import metadata

from iap_gym.registry import ENTRIES

# One distribution that only this extra brings.
MARKS = {"distracting": "dm_control"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    families = sorted({entry.family for entry in ENTRIES})
    parser.add_argument("--family", choices=families, help="only these")


def installed(extra: str | None) -> bool:
    """Whether an extra of iap-gym is installed; None, for what needs no extra, always is."""
    if extra is None:
        return True
    try:
        metadata.version(MARKS[extra])
    except metadata.PackageNotFoundError:
        return False
    return True


def run(arguments: argparse.Namespace) -> int:
    """Print one line an environment."""
    for entry in ENTRIES:
        if arguments.family in (None, entry.family):
            needs = "" if installed(entry.extra) else f'  pip install "iap-gym[{entry.extra}]"'
            print(f"{entry.id:<48}{entry.family}{needs}")
    return 0
