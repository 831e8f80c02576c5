"""Attention over the patches of an image, in time linear in their number (torch and numpy)."""

from iap_gym._optional import need

need("attention", "torch")

from iap_gym.attention.feature_maps import (
    FeatureMap,
    HybridFeatures,
    PositiveFeatures,
    ReLUFeatures,
    TrigonometricFeatures,
)
from iap_gym.attention.orthogonal import orthogonal_gaussian
from iap_gym.attention.selector import PatchSelector

__all__ = [
    "FeatureMap",
    "HybridFeatures",
    "PatchSelector",
    "PositiveFeatures",
    "ReLUFeatures",
    "TrigonometricFeatures",
    "orthogonal_gaussian",
]
