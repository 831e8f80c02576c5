"""MiniGrid under Stable-Baselines3: the GateL0RD paper's tasks and its network.

Each name loads on first use, so that whoever makes environments alone loads no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from iap_gym._optional import need

if TYPE_CHECKING:
    from iap_gym.baselines.minigrid.features import MiniGridFeatures, is_grid_view
    from iap_gym.baselines.minigrid.tasks import (
        PAPER_TASKS,
        TASKS,
        TRANSFER,
        is_minigrid,
        is_success,
        make_minigrid,
    )

__all__ = [
    "PAPER_TASKS",
    "TASKS",
    "TRANSFER",
    "MiniGridFeatures",
    "is_grid_view",
    "is_minigrid",
    "is_success",
    "make_minigrid",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "tasks"
    if name in ("MiniGridFeatures", "is_grid_view"):
        need("baselines", "torch", "stable_baselines3")
        home = "features"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
