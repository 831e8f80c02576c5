"""Three estimators of the softmax kernel, in closed form and by Monte Carlo; the angular kernel.

The settings are those of the paper's figures, m = 10 and r = 5. The lengths of its vectors are not
in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from iap_gym.attention import (
    AngularFeatures,
    HybridFeatures,
    PositiveFeatures,
    RandomFeatureMap,
    TrigonometricFeatures,
    mse_hybrid,
    mse_positive,
    mse_trigonometric,
)
from iap_gym.baselines.experiments.reproduce.output import COLORS

DIM, M, R = 4, 10, 5
SLICE = 0.5  # the length of the vectors of fig. 4, which fig. 3 marks
POINTS = np.arange(-8, 9) * (math.pi / 4)  # angles of the Monte Carlo on fig. 4
ANGULAR_POINTS = np.linspace(0, math.pi, 13)
TINY = 1e-12  # errors below are rounding: the exact value is 0

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Estimator:
    """One estimator of the softmax kernel with its error in closed form."""

    name: str
    label: str
    color: str
    mse: Callable[[Array, Array], torch.Tensor]
    features: Callable[[torch.Generator], RandomFeatureMap]


def _independent(generator: torch.Generator) -> dict[str, Any]:
    return {"orthogonal": False, "generator": generator}  # as the theorem has it


ESTIMATORS = (
    Estimator(
        "trigonometric",
        "trigonometric",
        COLORS[0],
        lambda x, y: mse_trigonometric(x, y, M),
        lambda generator: TrigonometricFeatures(DIM, M, **_independent(generator)),
    ),
    Estimator(
        "positive",
        "positive (exp)",
        COLORS[1],
        lambda x, y: mse_positive(x, y, M),
        lambda generator: PositiveFeatures(DIM, M, **_independent(generator)),
    ),
    Estimator(
        "hybrid",
        "hybrid",
        COLORS[2],
        lambda x, y: mse_hybrid(x, y, M, R),
        lambda generator: HybridFeatures(DIM, M, R, **_independent(generator)),
    ),
)


def vectors(angle: Any, length: Any) -> tuple[Array, Array]:
    """Return x and y (..., DIM) of the same length with an angle between them, broadcast."""
    angle, length = np.broadcast_arrays(np.asarray(angle, float), np.asarray(length, float))
    x, y = np.zeros((*angle.shape, DIM)), np.zeros((*angle.shape, DIM))
    x[..., 0] = length
    y[..., 0], y[..., 1] = length * np.cos(angle), length * np.sin(angle)
    return x, y


def sample(features: RandomFeatureMap, x: Array, y: Array, draws: int, seed: int) -> Array:
    """Return the estimates of ``draws`` independent draws, (draws, P) for pairs (P, DIM)."""
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.as_tensor(x), torch.as_tensor(y)
    found = torch.empty(draws, len(first), dtype=torch.float64)
    for draw in range(draws):
        features.redraw(generator)
        found[draw] = (features.query(first) * features.key(second)).sum(-1)
    return found.numpy()


def check(estimator: Estimator, draws: int, seed: int) -> list[dict[str, Any]]:
    """Measure the error at ``POINTS``: the mean of squared errors with its standard error."""
    x, y = vectors(POINTS, SLICE)
    features = estimator.features(torch.Generator().manual_seed(seed))
    exact = np.exp((x * y).sum(-1))
    squares = (sample(features, x, y, draws, seed) - exact) ** 2
    measured, spread = squares.mean(0), squares.std(0, ddof=1) / math.sqrt(draws)
    return [
        {
            "estimator": estimator.name,
            "angle": float(angle),
            "closed_form": float(closed),
            "measured": float(mean),
            "standard_error": float(error),
            # With an error of 0 in theory only rounding is left to measure.
            "deviation": float((mean - closed) / error) if closed > TINY else 0.0,
        }
        for angle, closed, mean, error in zip(
            POINTS, estimator.mse(x, y), measured, spread, strict=True
        )
    ]


def check_angular(draws: int, seed: int) -> list[dict[str, Any]]:
    """Measure the mean of sign features of r vectors at ``ANGULAR_POINTS``."""
    x, y = vectors(ANGULAR_POINTS, 1.0)
    features = AngularFeatures(DIM, R, generator=torch.Generator().manual_seed(seed))
    samples = sample(features, x, y, draws, seed)
    spread = samples.std(0, ddof=1) / math.sqrt(draws)
    exact = 1 - 2 * ANGULAR_POINTS / math.pi
    return [
        {
            "angle": float(angle),
            "kernel": float(kernel),
            "estimate": float(mean),
            "standard_error": float(error),
            "deviation": float((mean - kernel) / error) if error > TINY else 0.0,
        }
        for angle, kernel, mean, error in zip(
            ANGULAR_POINTS, exact, samples.mean(0), spread, strict=True
        )
    ]
