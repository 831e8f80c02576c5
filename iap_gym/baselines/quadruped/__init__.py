"""Training the quadruped in stages, policies that were trained so, and walkers to compare with.

Each name loads on first use: the settings of ``stages`` are read without torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iap_gym.baselines.quadruped.pretrained import PRETRAINED, Pretrained, load_pretrained
    from iap_gym.baselines.quadruped.walkers import OracleWalker

__all__ = ["PRETRAINED", "OracleWalker", "Pretrained", "load_pretrained"]

_HOMES = {
    "PRETRAINED": "iap_gym.baselines.quadruped.pretrained",
    "Pretrained": "iap_gym.baselines.quadruped.pretrained",
    "load_pretrained": "iap_gym.baselines.quadruped.pretrained",
    "OracleWalker": "iap_gym.baselines.quadruped.walkers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
