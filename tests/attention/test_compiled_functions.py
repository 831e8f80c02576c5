"""sin and cos of vectors against numpy's in float64, and the operations of vectors."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit

from iap_gym._compiled.simd import address, maximum, minimum, store
from iap_gym.attention.compiled._functions import sine_cosine
from iap_gym.attention.compiled._simd import (
    LANES,
    PART,
    add_product,
    inverse_length,
    largest,
    load,
    sign,
    vector,
)


@njit
def _sine_cosine(x, sines, cosines):
    for at in range(0, x.size, LANES):
        sine, cosine = sine_cosine(load(address(x), at))
        store(address(sines), at, sine)
        store(address(cosines), at, cosine)


@njit
def _operations(x, y, out, sums):
    a, b = load(address(x), 0), load(address(y), 0)
    results = (
        a + b,
        a - b,
        a * b,
        a / b,
        2.0 - a,
        a * np.float32(0.5),
        maximum(a, b),
        minimum(a, 0.25),
        sign(a),
        inverse_length(maximum(a, 0.0)),
        vector(3.0),
    )
    for index in range(len(results)):
        store(address(out), index * LANES, results[index])
    add_product(address(sums), 0, a, b)
    return largest(a)


@pytest.mark.parametrize("limit", [0.01, 4, 2000])
def test_sine_and_cosine(limit):
    x = np.linspace(-limit, limit, 2**20, dtype=np.float32)
    sines, cosines = np.empty_like(x), np.empty_like(x)
    _sine_cosine(x, sines, cosines)
    assert np.abs(sines - np.sin(x.astype(np.float64))).max() < 3e-7
    assert np.abs(cosines - np.cos(x.astype(np.float64))).max() < 3e-7


def test_operations_of_vectors():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, LANES)).astype(np.float32)
    x[:2] = 0.0, -0.0
    out = np.empty((11, LANES), np.float32)
    sums = np.ones(PART, np.float32)
    assert _operations(x, y, out.reshape(-1), sums) == x.max()
    positive = np.where(x > 0, x, 1)
    expected = [
        x + y,
        x - y,
        x * y,
        x / y,
        2 - x,
        x / 2,
        np.maximum(x, y),
        np.minimum(x, 0.25),
        np.where(x >= 0, 1, -1),
        1 / np.sqrt(positive),
        np.full(LANES, 3),
    ]
    np.testing.assert_allclose(out, expected, rtol=2e-7)
    np.testing.assert_allclose(sums, 1 + (x * y).reshape(-1, PART).sum(0), rtol=1e-5, atol=1e-6)
