"""Which code scores and selects: torch, or kernels that numba compiles."""

from __future__ import annotations

from types import ModuleType

from iap_gym._compiled.availability import import_kernels

BACKENDS = ("auto", "torch", "numba")


def compiled_calls() -> ModuleType | None:
    """Return ``compiled.calls``; None without numba, which ``import_kernels`` says more about."""
    return import_kernels("iap_gym.attention.compiled.calls", "patches are selected by torch")
