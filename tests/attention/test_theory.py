"""Theorem 4.1 against the feature maps themselves, by Monte Carlo, and at its special cases."""

import math

import numpy as np
import pytest
import torch

from iap_gym.attention import (
    HybridFeatures,
    PositiveFeatures,
    TrigonometricFeatures,
    mse_hybrid,
    mse_positive,
    mse_trigonometric,
)
from tests.attention.monte_carlo import estimates, standard_errors_off

DRAWS = 40_000
ANGLES = torch.linspace(0, math.pi, 7, dtype=torch.float64)
LENGTHS = ((0.5, 0.5), (0.9, 0.9), (0.4, 1.0), (1.1, 0.3))


def vectors(angle, length, dim):
    """Return vectors (..., dim) of a plane that is no coordinate plane."""
    rotation = torch.linalg.qr(torch.arange(dim * dim).double().sin().view(dim, dim))[0]
    angle, length = torch.broadcast_tensors(torch.as_tensor(angle), torch.as_tensor(length))
    plane = torch.stack([angle.cos(), angle.sin()], -1) * length[..., None]
    return plane.double() @ rotation[:2]


def grid(dim):
    """Return x, y (28, dim): every angle at every pair of lengths."""
    first = torch.tensor([a for a, _ in LENGTHS], dtype=torch.float64)[:, None]
    second = torch.tensor([b for _, b in LENGTHS], dtype=torch.float64)[:, None]
    x = vectors(torch.zeros_like(ANGLES), first, dim).flatten(0, 1)
    return x, vectors(ANGLES, second, dim).flatten(0, 1)


@pytest.mark.parametrize(("dim", "m", "r"), [(4, 10, 5), (2, 3, 2), (3, 4, 1)])
@pytest.mark.parametrize("name", ["positive", "trigonometric", "hybrid"])
def test_closed_forms_equal_monte_carlo(name, dim, m, r):
    options = {"orthogonal": False, "generator": torch.Generator().manual_seed(0)}
    x, y = grid(dim)
    features, closed = {
        "positive": lambda: (PositiveFeatures(dim, m, **options), mse_positive(x, y, m)),
        "trigonometric": lambda: (
            TrigonometricFeatures(dim, m, **options),
            mse_trigonometric(x, y, m),
        ),
        "hybrid": lambda: (HybridFeatures(dim, m, r, **options), mse_hybrid(x, y, m, r)),
    }[name]()
    exact = features.kernel(x, y)
    squares = (estimates(features, x, y, DRAWS, seed=1) - exact).square()
    off = standard_errors_off(squares, closed)
    assert off.max() < 3, f"off by {off.max():.1f} standard errors"
    # The check above has power: the errors are known to a few percent.
    relative = squares.std(0) / math.sqrt(DRAWS) / closed.clamp(min=1e-4)
    assert relative.median() < 0.05


def test_the_hybrid_error_vanishes_where_both_others_do():
    for length in (0.3, 1.0, 2.0):
        x = vectors(torch.linspace(0, 3, 9), length, 4)
        m, r = 10, 5
        np.testing.assert_array_equal(mse_hybrid(x, x, m, r), 0)
        np.testing.assert_array_equal(mse_hybrid(x, -x, m, r), 0)
        np.testing.assert_array_equal(mse_trigonometric(x, x, m), 0)
        np.testing.assert_array_equal(mse_positive(x, -x, m), 0)
        assert (mse_positive(x, x, m) > 0).all()
        assert (mse_trigonometric(x, -x, m) > 0).all()


def test_many_signs_interpolate_between_the_other_two():
    # With r to infinity p is known: the error is that of p E + (1 - p) T.
    x, y = grid(4)
    cosine = (x * y).sum(-1) / x.norm(dim=-1) / y.norm(dim=-1)
    p = torch.arccos(cosine.clamp(-1, 1)) / math.pi
    e, t = mse_positive(x, y, 3), mse_trigonometric(x, y, 3)
    sm2 = (2 * (x * y).sum(-1)).exp()
    covariance = -sm2 / 3 * (1 - (x.square().sum(-1) - y.square().sum(-1)).cos())
    expected = p**2 * e + (1 - p) ** 2 * t + 2 * p * (1 - p) * covariance
    torch.testing.assert_close(mse_hybrid(x, y, 3, 10**12), expected, rtol=1e-6, atol=1e-9)


def test_the_equations_of_the_paper():
    """Eqs. 13 and 14 and theorem 4.1 in plain Python, at one pair."""
    x, y, m, r = np.array([0.4, -0.3, 0.7]), np.array([0.1, 0.8, 0.2]), 10, 5
    sm, sum2, dif2 = math.exp(x @ y), (x + y) @ (x + y), (x - y) @ (x - y)
    e = math.exp(sum2) * sm**2 * (1 - math.exp(-sum2)) / m
    t = math.exp(sum2) * sm**-2 * (1 - math.exp(-dif2)) ** 2 / (2 * m)
    p = math.acos(x @ y / math.sqrt((x @ x) * (y @ y))) / math.pi
    last = 2 / m * (1 - 1 / r) * sm**2 * (1 - math.cos(x @ x - y @ y))
    h = p**2 * e + (1 - p) ** 2 * t + p * (1 - p) * ((e + t) / r - last)
    assert float(mse_positive(x, y, m)) == pytest.approx(e, rel=1e-12)
    assert float(mse_trigonometric(x, y, m)) == pytest.approx(t, rel=1e-12)
    assert float(mse_hybrid(x, y, m, r)) == pytest.approx(h, rel=1e-12)


def test_long_vectors_do_not_overflow_and_short_ones_keep_their_digits():
    for length in (5.0, 9.0):
        x, y = vectors(0.0, length, 4), vectors(ANGLES, length, 4)
        for error in (mse_positive(x, y, 10), mse_trigonometric(x, y, 10), mse_hybrid(x, y, 10, 5)):
            assert torch.isfinite(error).all()
            assert (error >= 0).all()
    far = vectors(torch.tensor([0.0, 1.0, math.pi]), 40.0, 4)
    hybrid = mse_hybrid(far[:1], torch.stack([far[0], far[1], -far[0]]), 10, 5)
    assert hybrid.tolist() == [0.0, math.inf, 0.0]
    tiny = vectors(0.0, 1e-9, 4)
    assert float(mse_positive(tiny, tiny, 1)) == pytest.approx(4e-18, rel=1e-6)
    assert float(mse_trigonometric(tiny, -tiny, 1)) == pytest.approx(8e-36, rel=1e-6)


def test_a_vector_of_zeros():
    # Its sign is 1, so that signs agree with those of any other vector half of the time.
    zero, y = torch.zeros(3, dtype=torch.float64), torch.tensor([0.3, -0.8, 0.5]).double()
    features = HybridFeatures(3, 4, 2, orthogonal=False, generator=torch.Generator().manual_seed(0))
    squares = (estimates(features, zero[None], y[None], 20_000) - 1).square()
    assert standard_errors_off(squares, mse_hybrid(zero, y, 4, 2)) < 3
    assert float(mse_hybrid(zero, zero, 4, 2)) == 0


def test_numpy_and_torch_of_any_float_give_float64_and_broadcast():
    x, y = np.full((5, 1, 3), 0.2, np.float32), np.full((4, 3), 0.1)
    for error in (mse_positive(x, y, 2), mse_trigonometric(x, y, 2), mse_hybrid(x, y, 2, 3)):
        assert error.shape == (5, 4)
        assert error.dtype == torch.float64
    a = mse_hybrid(torch.tensor(x), torch.tensor(y), 2, 3)
    torch.testing.assert_close(a, mse_hybrid(x, y, 2, 3), rtol=0, atol=0)


def test_bad_arguments_are_refused():
    x = np.zeros(3)
    for error in (mse_positive, mse_trigonometric):
        with pytest.raises(ValueError, match="m: expected an integer >= 1, got 0"):
            error(x, x, 0)
    with pytest.raises(ValueError, match="r: expected"):
        mse_hybrid(x, x, 2, 0)
    with pytest.raises(ValueError, match=r"y: expected shape \(\.\.\., 3\)"):
        mse_positive(x, np.zeros(4), 1)
    with pytest.raises(ValueError, match="y: expected a shape that broadcasts"):
        mse_positive(np.zeros((2, 3)), np.zeros((4, 3)), 1)
    with pytest.raises(ValueError, match="x: expected"):
        mse_positive(0.5, 0.5, 1)
