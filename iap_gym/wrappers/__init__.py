"""Wrappers that put patch attention between an environment and an agent, or leave text out.

Those with attention need torch, and load it when they are first asked for; importing this module
does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from iap_gym import _optional
from iap_gym.wrappers.text import DropTextObservation

if TYPE_CHECKING:
    from iap_gym.wrappers.heat_map import score_map
    from iap_gym.wrappers.overlay import AttentionOverlay, mark_patches
    from iap_gym.wrappers.patch_selection import IAPObservation, VectorIAPObservation

__all__ = [
    "AttentionOverlay",
    "DropTextObservation",
    "IAPObservation",
    "VectorIAPObservation",
    "mark_patches",
    "score_map",
]

_MODULES = {
    "AttentionOverlay": "iap_gym.wrappers.overlay",
    "IAPObservation": "iap_gym.wrappers.patch_selection",
    "VectorIAPObservation": "iap_gym.wrappers.patch_selection",
    "mark_patches": "iap_gym.wrappers.overlay",
    "score_map": "iap_gym.wrappers.heat_map",
}


def __getattr__(name: str) -> Any:
    """Load a wrapper on first use.

    Raises:
        gymnasium.error.DependencyNotInstalled: torch is not installed.
        AttributeError: there is no such name.
    """
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _optional.require("torch", "attention")
    return getattr(importlib.import_module(_MODULES[name]), name)
