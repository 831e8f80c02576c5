"""Every feature map of the package estimates its kernel without bias, by Monte Carlo."""

import inspect
import math

import pytest
import torch

from iap_gym import attention
from iap_gym.attention import (
    AngularFeatures,
    FeatureMap,
    GeneralizedRandomFeatures,
    HybridFeatures,
    PositiveFeatures,
    RandomFeatureMap,
    RandomFourierFeatures,
    ReLUFeatures,
    SmoothedRandomFourierFeatures,
    TrigonometricFeatures,
    base,
    orthogonal_gaussian,
)
from tests.attention.monte_carlo import estimates, standard_errors_off

DIMS = (1, 2, 3, 4, 8)
DRAWS = 1500
# Of some 1400 means in this file the largest miss is expected near 3.5 standard errors.
ALLOWED = 4.5

# Maps by class: each is built from (dim, size, options), with the size odd or even. A constant
# follows: how long the vectors are, so that the estimates of exponentials have finite errors.
CASES = {
    ReLUFeatures: (lambda d, n, **options: ReLUFeatures(d), 1.0),
    PositiveFeatures: (PositiveFeatures, 0.6),
    TrigonometricFeatures: (TrigonometricFeatures, 0.8),
    HybridFeatures: (lambda d, n, **options: HybridFeatures(d, n, 5, **options), 0.6),
    AngularFeatures: (AngularFeatures, 1.0),
    GeneralizedRandomFeatures: (
        lambda d, n, **options: GeneralizedRandomFeatures(d, n, "relu", **options),
        1.0,
    ),
    RandomFourierFeatures: (RandomFourierFeatures, 1.0),
    SmoothedRandomFourierFeatures: (
        lambda d, n, **options: SmoothedRandomFourierFeatures(d, n, 0.5, 0.25, **options),
        1.0,
    ),
}


def public_maps():
    found = {value for value in vars(attention).values() if inspect.isclass(value)}
    return {c for c in found if issubclass(c, FeatureMap)} - {FeatureMap, RandomFeatureMap}


def test_no_map_is_forgotten():
    assert set(CASES) == public_maps()


def pairs(dim, length):
    """Return pairs (P, dim), float64: along each axis, diagonal, opposite, oblique, unequal."""
    e = torch.eye(dim, dtype=torch.float64)
    diagonal = e.sum(0) / math.sqrt(dim)
    oblique = torch.linspace(1, -0.7, dim, dtype=torch.float64)
    oblique = oblique / oblique.norm()
    x = [*e, diagonal, e[0], diagonal, oblique, e[-1]]
    y = [*e, diagonal, -e[0], oblique, 0.4 * e[-1], 0.3 * oblique]
    return length * torch.stack(x), length * torch.stack(y)


def worst(build, length, dim, size, orthogonal, symmetric=None):
    extra = {} if symmetric is None else {"symmetric": symmetric}
    generator = torch.Generator().manual_seed(0)
    features = build(dim, size, orthogonal=orthogonal, generator=generator, **extra)
    x, y = pairs(dim, length)
    samples = estimates(features, x, y, DRAWS, seed=dim)
    return standard_errors_off(samples, features.kernel(x, y)).max()


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kind", [kind for kind in CASES if issubclass(kind, RandomFeatureMap)])
def test_every_random_map_is_unbiased(kind, dim, orthogonal):
    build, length = CASES[kind]
    for size in (30, 7):
        off = worst(build, length, dim, size, orthogonal)
        assert off < ALLOWED, f"size {size}: off by {off:.1f} standard errors"


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("dim", DIMS)
def test_symmetric_positive_features_are_unbiased(dim, orthogonal):
    off = worst(PositiveFeatures, 0.6, dim, 15, orthogonal, symmetric=True)
    assert off < ALLOWED, f"off by {off:.1f} standard errors"


def test_relu_features_equal_their_kernel():
    for dim in DIMS:
        features = ReLUFeatures(dim)
        x, y = pairs(dim, 1.0)
        exact = (features.query(x) * features.key(y)).sum(-1)
        torch.testing.assert_close(exact, features.kernel(x, y))


@pytest.mark.parametrize("fault", ["no sign fix", "dependent lengths"])
def test_these_checks_find_the_faults_of_common_ensembles(fault, monkeypatch):
    def faulty(rows, dim, generator):
        gaussian = torch.randn(-(-rows // dim), dim, dim, generator=generator)
        q, r = torch.linalg.qr(gaussian)
        if fault == "dependent lengths":
            q = q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
            lengths = gaussian.norm(dim=2)
        else:
            lengths = torch.randn(gaussian.shape[0], dim, dim, generator=generator).norm(dim=2)
        return (q * lengths[:, None, :]).mT.reshape(-1, dim)[:rows]

    assert faulty(6, 4, None).shape == orthogonal_gaussian(6, 4).shape
    monkeypatch.setattr(base, "orthogonal_gaussian", faulty)
    build, length = CASES[PositiveFeatures]
    assert worst(build, length, 2, 30, orthogonal=True) > ALLOWED
