"""``iap-gym list``: the environments: registered ones, and upstream ones that ours trains on."""

from __future__ import annotations

import argparse
from importlib import metadata

from iap_gym.registry import ENTRIES, UPSTREAM, UpstreamEntry

# One distribution that only this extra brings.
MARKS = {
    "distracting": "dm_control",
    "fetch": "gymnasium-robotics",
    "minigrid": "minigrid",
    "quadruped": "pybullet",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    families = sorted({entry.family for entry in (*ENTRIES, *UPSTREAM)})
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
    for entry in (*ENTRIES, *UPSTREAM):
        if arguments.family not in (None, entry.family):
            continue
        line = f"{entry.id:<48}{entry.family}"
        if isinstance(entry, UpstreamEntry):  # `import iap_gym` does not register it
            line += f'  gym.make("{entry.module}:{entry.id}")'
        if not installed(entry.extra):
            line += f'  pip install "iap-gym[{entry.extra}]"'
        print(line)
    return 0
