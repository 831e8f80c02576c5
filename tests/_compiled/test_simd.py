"""Operations that only some kernels use; those of all are tested with the scores of attention."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit
from numba.core.errors import TypingError

from iap_gym._compiled.simd import (
    address,
    byte_pointer,
    float_pointer,
    maximum,
    minimum,
    pointer_like,
    store,
    vectors,
    where_positive,
)

_, load, _ = vectors(8)
_, load_four, _ = vectors(4)


@njit
def _choices(x, y, out):
    a, b = load(address(x), 0), load(address(y), 0)
    chosen = (
        where_positive(a, b, 2.0),
        where_positive(a, 1.0, b),
        maximum(0.0, a),
        minimum(0.0, a),
    )
    for index in range(len(chosen)):
        store(address(out), 8 * index, chosen[index])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_choices_and_what_becomes_of_nan(dtype):
    x = np.array([1, -1, 0, -0.0, np.nan, 1e-45, np.inf, -np.inf], dtype)
    y = np.arange(8, dtype=dtype) + 10
    out = np.empty(32, dtype)
    _choices(x, y, out)
    positive = x > 0
    expected = [
        np.where(positive, y, 2),
        np.where(positive, 1, y),
        np.where(x < 0, 0, x),
        np.where(x > 0, 0, x),
    ]
    np.testing.assert_array_equal(out.reshape(4, 8), expected)


@njit
def _copy(source, target, flags):
    floats, out, bytes_ = float_pointer(source), float_pointer(target), byte_pointer(flags)
    for at in range(8):
        out[at] = floats[at] if bytes_[at] else np.float32(0.0)


def test_pointers_from_addresses():
    x, out = np.arange(1, 9, dtype=np.float32), np.empty(8, np.float32)
    flags = np.arange(8) % 3 == 0
    _copy(x.ctypes.data, out.ctypes.data, flags.ctypes.data)
    np.testing.assert_array_equal(out, np.where(flags, x, 0))


@njit
def _mixed(x):
    return load(address(x), 0) + load_four(address(x), 0)


def test_vectors_of_different_widths_do_not_mix():
    with pytest.raises(TypingError):
        _mixed(np.ones(8, np.float32))


@njit
def _arithmetic(x, y, out):
    a, b = load(address(x), 0), load(address(y), 0)
    third = 1.0 / 3.0
    store(address(out), 0, (a * third + b - a / b) * (2.0 - third))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_have_the_digits_of_the_vectors_that_they_meet(dtype):
    x, y = np.arange(1, 9).astype(dtype), np.arange(3, 11).astype(dtype) / 7
    out = np.empty(8, dtype)
    _arithmetic(x, y, out)
    a, b = x.astype(float), y.astype(float)
    expected = (a / 3 + b - a / b) * (2 - 1 / 3)
    scale = np.abs(a / 3) + b + a / b
    tolerance = 5e-7 if dtype == np.float32 else 1e-15
    assert (np.abs(out - expected) <= tolerance * scale).all()


@njit
def _sum_of_types(x, y):
    return load(address(x), 0) + load(address(y), 0)


def test_vectors_of_different_numbers_do_not_mix():
    with pytest.raises(TypingError):
        _sum_of_types(np.ones(8, np.float32), np.ones(8))


@njit
def _double(like, source, target):
    numbers, out = pointer_like(like, source), pointer_like(like, target)
    for at in range(4):
        out[at] = 2 * numbers[at]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pointers_to_the_numbers_of_an_array(dtype):
    x, out = np.arange(4).astype(dtype), np.empty(4, dtype)
    _double(x, x.ctypes.data, out.ctypes.data)
    np.testing.assert_array_equal(out, 2 * x)
