"""Learning algorithms that train on the environments; each loads on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iap_gym._lazy import lazy_names

if TYPE_CHECKING:
    from iap_gym.baselines.evolution.algorithm import EvolutionStrategies
    from iap_gym.baselines.planning.icem import ICEM
    from iap_gym.baselines.ppo.algorithm import RecurrentPPO
    from iap_gym.baselines.world_model.model import WorldModel

__all__ = ["ICEM", "EvolutionStrategies", "RecurrentPPO", "WorldModel"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ICEM": "iap_gym.baselines.planning.icem",
        "EvolutionStrategies": "iap_gym.baselines.evolution.algorithm",
        "RecurrentPPO": "iap_gym.baselines.ppo.algorithm",
        "WorldModel": "iap_gym.baselines.world_model.model",
    },
)
