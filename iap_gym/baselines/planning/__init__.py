"""Planning with a model: the improved cross-entropy method, which sees numbers only."""

from iap_gym.baselines.planning.colored_noise import colored_noise
from iap_gym.baselines.planning.icem import ICEM

__all__ = ["ICEM", "colored_noise"]
