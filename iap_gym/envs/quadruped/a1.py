"""The Unitree A1 of pybullet_data: names, sizes and limits, in metres, radians and N m.

Source: ``pybullet_data/a1/a1.urdf``, whose numbers the tests compare with these; the limit of the
motors' torque is the maker's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym._optional import require

NO_WHEELS = (3, 12)  # the first Python without wheels of PyBullet

LEGS = ("FR", "FL", "RR", "RL")  # front right, front left, rear right, rear left
JOINTS = ("abduction", "hip", "knee")
# Order of every array of twelve joints: leg by leg in the order of LEGS, each leg's JOINTS.
JOINT_NAMES = tuple(f"{leg}_{name}_joint" for leg in LEGS for name in ("hip", "upper", "lower"))
TOE_NAMES = tuple(f"{leg}_toe" for leg in LEGS)  # links
LOWER_LEG_NAMES = tuple(f"{leg}_lower" for leg in LEGS)

MASS = 12.458  # kg
LINK_LENGTH = 0.2  # of a thigh, and of a shank
TOE_RADIUS = 0.02
TRUNK_SIZE = (0.267, 0.194, 0.114)
HIP_ORIGIN = (0.183, 0.047)  # |x|, |y| of an abduction axis in the trunk's frame
HIP_OFFSET = 0.08505  # from the abduction axis outward to the leg's plane
NOSE = 0.281  # x of the foremost point of the trunk's mesh
CAMERA_POSITION = (0.29, 0.0, 0.03)  # in the trunk's frame, before its nose
START_HEIGHT = 0.32  # of the trunk's origin above the ground, in the neutral pose

# Lowest and highest angle of a leg's three joints.
JOINT_LOW = (-0.802851455917, -1.0471975512, -2.69653369433)
JOINT_HIGH = (0.802851455917, 4.18879020479, -0.916297857297)
TORQUE_LIMIT = 33.5

# Abduction, hip and knee of a leg whose foot is straight below its hip.
NEUTRAL_LEG = (0.0, np.pi / 4, -np.pi / 2)
# Sign of a positive (leftward) abduction for each leg: outward for the left legs.
OUTWARD = (-1.0, 1.0, -1.0, 1.0)


def require_bullet(module: str = "pybullet") -> ModuleType:
    """Import a module of PyBullet.

    Raises:
        gymnasium.error.DependencyNotInstalled: it is absent; on Python 3.12 and newer the error
            says that PyBullet has no wheel there.
    """
    hint = ""
    if sys.version_info >= NO_WHEELS:
        version = ".".join(str(number) for number in sys.version_info[:2])
        hint = f"PyBullet has no wheels for Python {version}, use Python 3.11"
    return require(module, "quadruped", hint)


def neutral_pose() -> NDArray[np.float64]:
    """Return the twelve angles (12,), rad, of the neutral pose."""
    return np.tile(np.array(NEUTRAL_LEG), len(LEGS))


def urdf_path(path: str | os.PathLike[str] | None = None) -> str:
    """Return the path of the robot's description.

    Args:
        path: of another URDF with the same joint names; None for that of pybullet_data.

    Raises:
        ValueError: it is no path.
        FileNotFoundError: there is no such file; names it.
        gymnasium.error.DependencyNotInstalled: ``path`` is None and pybullet_data is absent.
    """
    if path is None:
        data = require_bullet("pybullet_data")
        path = Path(data.getDataPath()) / "a1" / "a1.urdf"
    _checks.instance("urdf", path, str | os.PathLike, "a path")  # type: ignore[arg-type]
    if not Path(path).is_file():
        raise FileNotFoundError(f"urdf: there is no file {os.fspath(path)}")
    return os.fspath(path)
