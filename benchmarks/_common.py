"""What benchmarks share: timing in turn, and where it was done."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import iap_gym


def shortest(
    ways: Mapping[str, Callable[[], object]], rounds: int, seconds: float
) -> tuple[dict[str, float], dict[str, int]]:
    """Run all in turn for ``seconds`` each, at least twice, round after round; seconds and runs."""
    best = dict.fromkeys(ways, float("inf"))
    runs = dict.fromkeys(ways, 0)
    for _ in range(rounds):
        for name, way in ways.items():
            now = begin = time.perf_counter()
            done = 0
            while done < 2 or now < begin + seconds:
                start = time.perf_counter()
                way()
                now = time.perf_counter()
                best[name] = min(best[name], now - start)
                done += 1
            runs[name] += done
    return best, runs


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks; ways that allocate many would wait for the kernel's pages."""
    mmap_threshold, trim_threshold = -3, -1  # of mallopt
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(mmap_threshold, 32 * 2**20)
        mallopt(trim_threshold, 2**30)


def processor() -> str:
    """Return the name of the processor where Linux tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "unknown")


def circumstances(packages: Iterable[str], load_before: float) -> dict[str, Any]:
    """Return the command, versions of packages, the machine and its load, for the results."""
    versions = {name: importlib.metadata.version(name) for name in packages}
    return {
        "command": " ".join(["python", *sys.argv]),
        "versions": versions
        | {"iap_gym": iap_gym.__version__, "python": platform.python_version()},
        "machine": f"{processor()}, {os.cpu_count()} CPUs, 1 thread used",
        "load_average_before_and_after": [round(load_before, 2), round(os.getloadavg()[0], 2)],
    }
