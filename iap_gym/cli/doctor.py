"""``iap-gym doctor``: what this machine has, and the fix for each fault."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

import iap_gym

# Distribution: the extra of iap-gym that brings it, None for what is always there.
PACKAGES = {
    "gymnasium": None,
    "numpy": None,
    "torch": "attention",
    "numba": "fast",
    "shimmy": "distracting",
    "dm_control": "distracting",
    "mujoco": "distracting",
    "scikit-image": "distracting",
    "av": "distracting",
    "stable-baselines3": "baselines",
    "safetensors": "baselines",
    "tensorboard": "baselines",
    "matplotlib": "baselines",
    "scipy": "baselines",
    "tqdm": "baselines",
    "box2d": "carracing",
    "pygame-ce": "carracing",
    "minigrid": "minigrid",
    "gymnasium-robotics": "fetch",
    "pybullet": "quadruped",
    "trimesh": "meshes",
    "embreex": "meshes",
    "rl_zoo3": "zoo",
    "minari": "data",
    "h5py": "data",
}


@dataclass(frozen=True)
class Finding:
    """One line of the report; a fault has a fix."""

    name: str
    value: str
    fix: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("--quiet", action="store_true", help="print faults only")


def version(package: str) -> str | None:
    """Version of an installed distribution, None if there is none."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def findings() -> Iterator[Finding]:
    """Look at everything that users' problems come from."""
    yield Finding("iap-gym", iap_gym.__version__)
    yield Finding("python", f"{platform.python_version()} ({sys.executable})")
    yield Finding("platform", platform.platform(terse=True))
    yield Finding("cpu cores", str(len(os.sched_getaffinity(0)) if _linux() else os.cpu_count()))
    for package, extra in PACKAGES.items():
        absent = f'not installed (pip install "iap-gym[{extra}]" brings it)'
        yield Finding(package, version(package) or absent)
    if version("torch"):
        import torch

        yield Finding("torch threads", str(torch.get_num_threads()))
        yield Finding("torch device", "cuda" if torch.cuda.is_available() else "cpu")
    if version("dm_control"):
        yield from _simulator()


def _linux() -> bool:
    return sys.platform == "linux"


def _simulator() -> Iterator[Finding]:
    from iap_gym.envs._gl import rendering_report
    from iap_gym.envs.distracting_control.versions import check_pair

    try:
        check_pair()
    except ImportError as error:
        yield Finding("mujoco and dm_control", "no working pair", str(error))
        return
    report = rendering_report()
    yield Finding("MUJOCO_GL", os.environ.get("MUJOCO_GL", "not set"))
    if report.working:
        yield Finding("rendering", f"{report.backend} ({report.chosen_by}), {report.device}")
    else:
        yield Finding("rendering", f"{report.backend} fails: {report.error}", report.fix)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings.

    Returns:
        1 if one of them is a fault.
    """
    healthy = True
    for finding in findings():
        if finding.fix is not None:
            healthy = False
        elif arguments.quiet:
            continue
        print(f"{finding.name:<22}{finding.value}")
        if finding.fix is not None:
            print(f"{'':<22}fix: {finding.fix}")
    return 0 if healthy else 1
