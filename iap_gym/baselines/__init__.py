"""Learning algorithms that train on the environments; each loads on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iap_gym.baselines.evolution.algorithm import EvolutionStrategies
    from iap_gym.baselines.planning.icem import ICEM
    from iap_gym.baselines.ppo.algorithm import RecurrentPPO
    from iap_gym.baselines.world_model.model import WorldModel

__all__ = ["ICEM", "EvolutionStrategies", "RecurrentPPO", "WorldModel"]

_HOMES = {
    "ICEM": "iap_gym.baselines.planning.icem",
    "EvolutionStrategies": "iap_gym.baselines.evolution.algorithm",
    "RecurrentPPO": "iap_gym.baselines.ppo.algorithm",
    "WorldModel": "iap_gym.baselines.world_model.model",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
