"""Evolution strategies: search over the numbers of a policy by rollouts, without gradients.

Each file has one part: ``optimizer`` (numbers only), ``policies`` (observations to actions),
``rollout`` (one episode), ``evaluation`` and ``processes`` (many, here or in workers),
``algorithm`` (all of it together), ``checkpoint`` and ``callbacks``.
"""

from iap_gym._optional import need

need("baselines", "torch", "safetensors", "cloudpickle")

from iap_gym.baselines.evolution.algorithm import EvolutionStrategies
from iap_gym.baselines.evolution.callbacks import CheckpointCallback
from iap_gym.baselines.evolution.evaluation import EvaluationError
from iap_gym.baselines.evolution.optimizer import EvolutionOptimizer
from iap_gym.baselines.evolution.rollout import Episode, run_episode
from iap_gym.baselines.non_finite import NonFiniteRewardError

__all__ = [
    "CheckpointCallback",
    "Episode",
    "EvaluationError",
    "EvolutionOptimizer",
    "EvolutionStrategies",
    "NonFiniteRewardError",
    "run_episode",
]
