"""exp, tanh and the logistic function of vectors against numpy's in float64."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit

from iap_gym._compiled import functions
from iap_gym._compiled.functions import LARGEST_ARGUMENT
from iap_gym._compiled.simd import address, store, vectors


def over(function, lanes):
    load = vectors(lanes)[1]

    @njit
    def loop(x, out):
        for at in range(0, x.size, lanes):
            store(address(out), at, function(load(address(x), at)))

    def call(x):
        x = np.asarray(x, np.float32)
        out = np.full_like(x, -7.0)
        loop(x, out)
        return out

    return call


EXP, TANH, LOGISTIC = (
    over(function, 64) for function in (functions.exp, functions.tanh, functions.logistic)
)


def relative_error(actual, expected):
    return np.abs(actual / expected - 1).max()


def test_exp():
    x = np.linspace(-LARGEST_ARGUMENT, LARGEST_ARGUMENT, 2**20, dtype=np.float32)
    assert relative_error(EXP(x), np.exp(x.astype(np.float64))) < 2e-7


def padded(values):
    x = np.zeros(64, np.float32)
    x[: len(values)] = values
    return x


def test_exp_beyond_its_range_is_that_of_the_border():
    largest, smallest = np.exp(LARGEST_ARGUMENT), np.exp(-LARGEST_ARGUMENT)
    out = EXP(padded([88, -88, 1e30, -1e30, np.inf, -np.inf]))
    np.testing.assert_allclose(out[:6], [largest, smallest] * 3, rtol=1e-6)


@pytest.mark.parametrize("limit", [0.01, 1, 10, 100])
def test_tanh(limit):
    x = np.linspace(-limit, limit, 2**20, dtype=np.float32)
    assert relative_error(TANH(x), np.tanh(x.astype(np.float64))) < 4e-7


def test_tanh_of_the_smallest_numbers_is_the_number():
    # A gate is open wherever its argument is positive, be it the smallest float32.
    x = np.concatenate([np.float32(2.0) ** np.arange(-149, -21), [1.5e-45, 3e-42]])
    x = np.resize(np.concatenate([x, -x]), 5 * 64)
    np.testing.assert_array_equal(TANH(x), x.astype(np.float32))
    zeros = TANH(padded([-0.0]))
    assert not zeros.any()
    assert np.signbit(zeros).tolist() == [True] + [False] * 63


def test_tanh_is_at_most_one():
    x = np.linspace(5, 40, 2**18, dtype=np.float32)
    out = TANH(x)
    assert out.max() <= 1.0
    assert np.array_equal(TANH(-x), -out)
    out = TANH(padded([1e4, -1e4, 3e38, -3e38, np.inf, -np.inf]))
    np.testing.assert_allclose(out[:6], [1, -1] * 3, rtol=4e-7)
    assert np.abs(out).max() <= 1.0


def test_logistic():
    x = np.linspace(-86, 86, 2**20, dtype=np.float32)
    assert relative_error(LOGISTIC(x), 1 / (1 + np.exp(-x.astype(np.float64)))) < 4e-7
    out = LOGISTIC(padded([90, -90, 1e4, -1e4, np.inf, -np.inf]))
    np.testing.assert_allclose(out[:6], [1, 0] * 3, rtol=0, atol=1e-37)


@pytest.mark.parametrize("function", [TANH, LOGISTIC])
def test_nan_stays_nan_whatever_its_bits(function):
    bits = np.concatenate([0x7F800001 + 3 ** np.arange(14), 0xFF800001 + 3 ** np.arange(14)])
    x = padded(bits.astype(np.uint32).view(np.float32))
    out = function(x)
    np.testing.assert_array_equal(np.isnan(out), np.arange(64) < 28)


@pytest.mark.parametrize("lanes", [1, 8, 32])
def test_lanes_do_not_change_results(lanes):
    x = np.random.default_rng(0).normal(size=320).astype(np.float32) * 5
    for wide, function in ((TANH, functions.tanh), (LOGISTIC, functions.logistic)):
        np.testing.assert_array_equal(over(function, lanes)(x), wide(x))


@pytest.mark.parametrize(
    ("function", "exact"),
    [
        (functions.exp, np.exp),
        (functions.tanh, np.tanh),
        (functions.logistic, lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_float64_is_exact(function, exact):
    load = vectors(8)[1]

    @njit
    def loop(x, out):
        for at in range(0, x.size, 8):
            store(address(out), at, function(load(address(x), at)))

    x = np.concatenate([np.linspace(-30, 30, 8 * 999), [0.0, -0.0, 1e-300, -1e-300, *[0.5] * 4]])
    out = np.empty_like(x)
    loop(x, out)
    np.testing.assert_allclose(out, exact(x), rtol=6e-16, atol=0)
    x[:3] = np.nan, np.inf, -np.inf
    loop(x, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out[:3], exact(x[:3]))
