"""Which versions are installed, and whether they are within bounds; nothing is imported for it."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping

# Distribution: at least the first version, less than the second.
Bounds = Mapping[str, tuple[str, str]]


def outside(bounds: Bounds) -> dict[str, str]:
    """Return the installed versions of all packages of ``bounds`` if one is outside, else nothing.

    A package that is not installed is no matter of this check.
    """
    installed: dict[str, str] = {}
    for name in bounds:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if all(_within(version, *bounds[name]) for name, version in installed.items()):
        return {}
    return installed


def listed(versions: Mapping[str, str]) -> str:
    """Return "a 1 and b 2"."""
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def pip_install(versions: Mapping[str, str]) -> str:
    """Return the command that installs these versions."""
    return " ".join(["pip install", *(f"{name}=={each}" for name, each in versions.items())])


def _within(version: str, lowest: str, limit: str) -> bool:
    return _numbers(lowest) <= _numbers(version) < _numbers(limit)


def _numbers(version: str) -> tuple[int, ...]:
    # The release numbers alone; trailing zeros carry no meaning ("3.10" is "3.10.0").
    numbers = [int(part) for part in re.findall(r"\d+", version.split("+")[0])][:3]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
