"""Proximal policy optimization with any recurrent core, over sb3-contrib's RecurrentPPO."""

from iap_gym._optional import need

need("baselines", "torch", "stable_baselines3", "sb3_contrib")

from iap_gym.baselines.non_finite import (  # noqa: E402
    NonFiniteError,
    NonFiniteObservationError,
    NonFiniteRewardError,
)
from iap_gym.baselines.ppo.algorithm import RecurrentPPO  # noqa: E402
from iap_gym.baselines.ppo.initialization import row_normalized_  # noqa: E402
from iap_gym.baselines.ppo.policies import (  # noqa: E402
    CnnCorePolicy,
    CorePolicy,
    MlpCorePolicy,
    MultiInputCorePolicy,
)

__all__ = [
    "CnnCorePolicy",
    "CorePolicy",
    "MlpCorePolicy",
    "MultiInputCorePolicy",
    "NonFiniteError",
    "NonFiniteObservationError",
    "NonFiniteRewardError",
    "RecurrentPPO",
    "row_normalized_",
]
