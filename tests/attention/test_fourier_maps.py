import math

import numpy as np
import pytest
import torch

from iap_gym.attention import RandomFourierFeatures, SmoothedRandomFourierFeatures
from tests.attention.monte_carlo import estimates, standard_errors_off

Z = torch.tensor([0.3, -1.2, 0.7], dtype=torch.float64)
SIZES = range(1, 10)


def seeded():
    return torch.Generator().manual_seed(0)


@pytest.mark.parametrize("n", SIZES)
def test_fourier_features_equal_their_definition(n):
    features = RandomFourierFeatures(3, n, temperature=0.6, generator=seeded())
    angles = [math.sqrt(0.6) * float(omega.double() @ Z) for omega in features.omega]
    pairs = angles[: n // 2]
    expected = [math.sin(a) for a in pairs] + [math.cos(a) for a in pairs]
    if n % 2:
        expected.append(math.cos(angles[-1] + float(features.phase)))
    assert features.query(Z).shape == (n,) == (features.num_features,)
    np.testing.assert_allclose(features.query(Z), np.sqrt(2 / n) * np.array(expected), rtol=1e-6)


@pytest.mark.parametrize("n", SIZES[1:])
def test_smoothed_features_are_fourier_features_and_a_constant(n):
    smoothed = SmoothedRandomFourierFeatures(3, n, 0.6, 0.25, generator=seeded())
    plain = RandomFourierFeatures(3, n - 1, 0.6, generator=seeded())
    mapped = smoothed.query(Z)
    assert mapped.shape == (n,) == (smoothed.num_features,)
    assert torch.equal(mapped[:-1], plain.query(Z))
    assert float(mapped[-1]) == 0.5  # its square is the smoothing


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8])
def test_every_size_is_unbiased_at_the_point_itself(n):
    # Where a request for an odd size loses a feature, this comes out as (n - 1)/n.
    features = RandomFourierFeatures(3, n, generator=seeded())
    samples = estimates(features, Z[None], Z[None], 4000)
    assert standard_errors_off(samples, 1.0) < 4
    if n % 2 == 0:
        assert (samples - 1).abs().max() < 1e-6


def test_the_kernels_at_known_points():
    x, y = torch.tensor([1.0, 2.0, 0.0]), torch.tensor([0.0, 2.0, 1.0])  # |x - y|² = 2
    plain = RandomFourierFeatures(3, 4)
    assert float(plain.kernel(x, y)) == pytest.approx(math.exp(-1))
    warm = RandomFourierFeatures(3, 4, temperature=0.25)
    assert float(warm.kernel(x, y)) == pytest.approx(math.exp(-0.25))
    smoothed = SmoothedRandomFourierFeatures(3, 4, temperature=0.25, smoothing=0.5)
    assert float(smoothed.kernel(x, y)) == pytest.approx(math.exp(-0.25) + 0.5)
    assert float(SmoothedRandomFourierFeatures(3, 4).kernel(x, x)) == 2.0


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="num_features: expected an integer >= 1"):
        RandomFourierFeatures(3, 0)
    with pytest.raises(ValueError, match="num_features: expected an integer >= 2, got 1"):
        SmoothedRandomFourierFeatures(3, 1)
    with pytest.raises(ValueError, match="temperature: expected a finite number >= 0, got -1"):
        RandomFourierFeatures(3, 4, temperature=-1)
    with pytest.raises(ValueError, match="smoothing"):
        SmoothedRandomFourierFeatures(3, 4, smoothing=math.nan)
