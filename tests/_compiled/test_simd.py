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


def test_choices_and_what_becomes_of_nan():
    nan = np.float32(np.nan)
    x = np.array([1, -1, 0, -0.0, nan, 1e-45, np.inf, -np.inf], np.float32)
    y = np.arange(8, dtype=np.float32) + 10
    out = np.empty(32, np.float32)
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
