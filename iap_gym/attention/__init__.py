"""Attention over the patches of an image, in time linear in their number (torch and numpy)."""

from iap_gym._optional import need

need("attention", "torch")

from iap_gym.attention.base import FeatureMap, RandomFeatureMap
from iap_gym.attention.feature_maps import (
    HybridFeatures,
    PositiveFeatures,
    ReLUFeatures,
    TrigonometricFeatures,
)
from iap_gym.attention.fourier_maps import RandomFourierFeatures, SmoothedRandomFourierFeatures
from iap_gym.attention.orthogonal import orthogonal_gaussian
from iap_gym.attention.projection_maps import (
    AngularFeatures,
    GeneralizedRandomFeatures,
    UnknownKernelError,
)
from iap_gym.attention.selector import PatchSelector
from iap_gym.attention.theory import mse_hybrid, mse_positive, mse_trigonometric

__all__ = [
    "AngularFeatures",
    "FeatureMap",
    "GeneralizedRandomFeatures",
    "HybridFeatures",
    "PatchSelector",
    "PositiveFeatures",
    "RandomFeatureMap",
    "RandomFourierFeatures",
    "ReLUFeatures",
    "SmoothedRandomFourierFeatures",
    "TrigonometricFeatures",
    "UnknownKernelError",
    "mse_hybrid",
    "mse_positive",
    "mse_trigonometric",
    "orthogonal_gaussian",
]
