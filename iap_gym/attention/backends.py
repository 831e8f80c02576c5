"""Which code scores and selects: torch, or kernels that numba compiles."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from types import ModuleType

from iap_gym._optional import require

BACKENDS = ("auto", "torch", "numba")


@functools.cache
def compiled_calls() -> ModuleType | None:
    """Return ``compiled.calls``; None if numba is absent, broken (with a warning) or switched off.

    Importing numba takes a fraction of a second, so that this is called when it is first needed.
    """
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        numba = require("numba", "fast")
    except ImportError as error:  # such as a numpy that this numba does not know yet
        warnings.warn(
            f"numba is installed but cannot be imported, patches are selected by torch: {error}",
            RuntimeWarning,
            stacklevel=3,
        )
        return None
    if numba.config.DISABLE_JIT:
        return None
    from iap_gym.attention.compiled import calls

    return calls
