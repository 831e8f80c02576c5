"""The pair of simulator versions that works, checked before either is imported."""

from __future__ import annotations

import importlib.metadata
import re

WORKING_PAIR = {"dm_control": "1.0.43", "mujoco": "3.10.0"}
# At least the first, less than the second; pyproject.toml has the same bounds.
BOUNDS = {"dm_control": ("1.0.43", "1.0.44"), "mujoco": ("3.10", "3.11")}


def check_pair() -> None:
    """Refuse versions of dm_control and mujoco that fail later with errors that say nothing.

    A package that is not installed is no matter of this check.

    Raises:
        ImportError: a version outside the bounds is installed.
    """
    installed: dict[str, str] = {}
    for name in BOUNDS:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if all(_within(version, *BOUNDS[name]) for name, version in installed.items()):
        return
    found = " and ".join(f"{name} {version}" for name, version in installed.items())
    wanted = " and ".join(f"{name} {version}" for name, version in WORKING_PAIR.items())
    command = " ".join(f"{name}=={version}" for name, version in WORKING_PAIR.items())
    raise ImportError(
        f"{found} installed, but dm_control and mujoco are released in pairs and these "
        f"environments need {wanted}; run `pip install {command}`"
    )


def _within(version: str, lowest: str, limit: str) -> bool:
    return _numbers(lowest) <= _numbers(version) < _numbers(limit)


def _numbers(version: str) -> tuple[int, ...]:
    # The release numbers alone; trailing zeros carry no meaning ("3.10" is "3.10.0").
    numbers = [int(part) for part in re.findall(r"\d+", version.split("+")[0])][:3]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
