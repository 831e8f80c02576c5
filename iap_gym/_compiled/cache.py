"""Compilation of the functions that are called from Python, kept on disk where that is possible."""

# pyright: basic

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

# Integers that are no literals: for each of those, numba compiles what is called with it anew.
ZERO: Any = np.int64(0)
ONE: Any = np.int64(1)

# Functions that only compiled ones call; they are compiled into those. No error is raised inside.
# Without the wrappers, which calls from Python or C would need, they compile in less time.
INNER = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = njit(**INNER)
inlined = njit(**INNER, inline="always")


def variant(name: str) -> Callable[[Callable[..., Any]], Any]:
    """Decorate as ``inner`` a function that is defined several times, with a name for each.

    Kept machine code of two entry points may come from two processes. Their symbols are linked by
    names, which must therefore not stand for another function in another process.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        function.__qualname__ = name
        return inner(function)

    return decorate


def checksum_of_sources(*files: str) -> int:
    """Return a number that changes when a source beside ``files``, or one of this package, does.

    numba compiles a kept function anew when its own file changes, not when one does that it calls.
    What is kept should therefore be a closure over this number, which numba takes into account.
    """
    folders = [Path(file).parent for file in (*files, __file__)]
    sources = [source for folder in folders for source in sorted(folder.glob("*.py"))]
    return zlib.crc32(b"".join(source.read_bytes() for source in sources))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function when it is called first; releases the interpreter lock while it runs.

    The machine code is kept in ``__pycache__``, in the user's cache folder where that is read-only,
    or in ``NUMBA_CACHE_DIR``; where none of them can be written it is compiled in each process.
    """
    try:
        return njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # numba finds no folder
        return njit(nogil=True, error_model="numpy")(function)
