"""Gymnasium environments, attention wrappers and recurrent baselines for learning from pixels.

``import iap_gym`` registers the environments and loads neither a simulator nor torch.
"""

from iap_gym.registry import register_all

__version__ = "0.1.0"

register_all()
