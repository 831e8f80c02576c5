"""The pair of simulator versions that works, checked before either is imported."""

from __future__ import annotations

from iap_gym.envs import _versions

WORKING_PAIR = {"dm_control": "1.0.43", "mujoco": "3.10.0"}
# At least the first, less than the second; pyproject.toml has the same bounds.
BOUNDS = {"dm_control": ("1.0.43", "1.0.44"), "mujoco": ("3.10", "3.11")}


def check_pair() -> None:
    """Refuse versions of dm_control and mujoco that fail later with errors that say nothing.

    A package that is not installed is no matter of this check.

    Raises:
        ImportError: a version outside the bounds is installed.
    """
    installed = _versions.outside(BOUNDS)
    if installed:
        raise ImportError(
            f"{_versions.listed(installed)} installed, but dm_control and mujoco are released in "
            f"pairs and these environments need {_versions.listed(WORKING_PAIR)}; run "
            f"`{_versions.pip_install(WORKING_PAIR)}`"
        )
