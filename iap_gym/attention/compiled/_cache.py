"""Compilation of the functions that are called from Python, kept on disk where that is possible."""

# pyright: basic

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def _checksum() -> int:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return zlib.crc32(b"".join(file.read_bytes() for file in files))


# numba compiles a kept function anew when its own file changes, not when one does that it calls.
# What is kept is therefore a closure over this number, which numba takes into account.
SOURCES = _checksum()

# Functions that only compiled ones call; they are compiled into those. No error is raised inside.
inner = njit(error_model="numpy")
inlined = njit(error_model="numpy", inline="always")


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is called first; releases the interpreter lock while it runs.

    The machine code is kept in ``__pycache__``, in the user's cache folder where that is read-only,
    or in ``NUMBA_CACHE_DIR``; where none of them can be written it is compiled in each process.
    """
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba finds no folder
        return njit(nogil=True, error_model="numpy")(function)
