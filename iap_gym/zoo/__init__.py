"""Our ``RecurrentPPO`` in rl-baselines3-zoo, with hyperparameters for the MiniGrid tasks.

``python -m iap_gym.zoo.train`` and ``python -m iap_gym.zoo.enjoy`` are the zoo's own scripts that
know the algorithms below; all their options are the zoo's. For its other scripts, ``install()``.
"""

from __future__ import annotations

from iap_gym._optional import need

need("zoo", "rl_zoo3", "stable_baselines3", "sb3_contrib", "torch")

from iap_gym.zoo.plugin import ALGORITHMS, HYPERPARAMS, install  # noqa: E402

__all__ = ["ALGORITHMS", "HYPERPARAMS", "install"]
