"""Whether numba is there to compile kernels."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import warnings
from types import ModuleType

from iap_gym._optional import require


@functools.cache
def import_kernels(module: str, otherwise: str) -> ModuleType | None:
    """Import a module of kernels; None if numba is absent, broken or switched off.

    Importing numba takes a fraction of a second, so that this is called when it is first needed.

    Args:
        module: dotted name.
        otherwise: what torch then does, for the warning where numba is broken.
    """
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        numba = require("numba", "fast")
    except ImportError as error:  # such as a numpy that this numba does not know yet
        warnings.warn(
            f"numba is installed but cannot be imported, {otherwise}: {error}",
            RuntimeWarning,
            stacklevel=4,
        )
        return None
    if numba.config.DISABLE_JIT:
        return None
    return importlib.import_module(module)
