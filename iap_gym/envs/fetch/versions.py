"""The versions of gymnasium-robotics and mujoco that work together, checked before an import."""

from __future__ import annotations

from iap_gym.envs import _versions

WORKING_PAIR = {"gymnasium-robotics": "1.4.2", "mujoco": "3.10.0"}
# At least the first, less than the second: what was tried. With mujoco 3.12 and newer
# gymnasium-robotics 1.4.2 itself fails, with an AssertionError about the kind of a joint.
BOUNDS = {"gymnasium-robotics": ("1.4.2", "1.5"), "mujoco": ("3.8.1", "3.12")}


def check_pair() -> None:
    """Refuse versions with which the robot breaks, or may move differently.

    A package that is not installed is no matter of this check.

    Raises:
        ImportError: a version outside the bounds is installed.
    """
    installed = _versions.outside(BOUNDS)
    if installed:
        ranges = " and ".join(f"{name}>={low},<{high}" for name, (low, high) in BOUNDS.items())
        raise ImportError(
            f"{_versions.listed(installed)} installed, but FetchPickAndPlace works with {ranges}; "
            f"run `{_versions.pip_install(WORKING_PAIR)}`"
        )
