"""Training the quadruped in stages, policies that were trained so, and walkers to compare with.

Each name loads on first use: the settings of ``stages`` are read without torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iap_gym._lazy import lazy_names

if TYPE_CHECKING:
    from iap_gym.baselines.quadruped.pretrained import PRETRAINED, Pretrained, load_pretrained
    from iap_gym.baselines.quadruped.walkers import OracleWalker

__all__ = ["PRETRAINED", "OracleWalker", "Pretrained", "load_pretrained"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "PRETRAINED": "iap_gym.baselines.quadruped.pretrained",
        "Pretrained": "iap_gym.baselines.quadruped.pretrained",
        "load_pretrained": "iap_gym.baselines.quadruped.pretrained",
        "OracleWalker": "iap_gym.baselines.quadruped.walkers",
    },
)
