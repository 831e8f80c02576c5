"""Products of matrices in tiles."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit

from iap_gym._compiled.simd import address
from iap_gym.recurrent.compiled._product import ROWS, WIDTHS, product


@njit
def _product(
    rows, columns, depth, start, start_pitch, start_step, a, a_row, a_step, b, b_pitch, c, c_pitch
):  # fmt: skip
    a, b, c = address(a), address(b), address(c)
    start = address(start)
    product(
        rows, columns, depth,
        start, start_pitch, start_step, a, a_row, a_step, b, b_pitch, c, c_pitch,
    )  # fmt: skip


def numbers(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 7, ROWS, 9, 31])
@pytest.mark.parametrize("columns", [1, 7, 8, 15, WIDTHS[0], 33, 75])
def test_products_with_all_leftovers(rows, columns):
    rng = np.random.default_rng(rows * columns)
    for depth in (0, 1, 5, 64):
        a, b = numbers(rng, rows, depth + 3), numbers(rng, max(depth, 1), columns + 2)
        bias, c = numbers(rng, columns), np.full((rows, columns + 1), np.nan, np.float32)
        _product(
            rows, columns, depth, bias, 0, 1, a, depth + 3, 1, b, columns + 2, c, columns + 1
        )  # fmt: skip
        expected = bias + a[:, :depth].astype(float) @ b[:depth, :columns]
        np.testing.assert_allclose(c[:, :-1], expected, rtol=1e-5, atol=1e-5)
        assert np.isnan(c[:, -1]).all()  # what lies between the rows is left alone


def test_a_transposed_product_is_added_in_place():
    rng = np.random.default_rng(0)
    a, b, c = numbers(rng, 50, 19), numbers(rng, 50, 41), numbers(rng, 19, 41)
    expected = c + a.T.astype(float) @ b
    _product(19, 41, 50, c, 41, 1, a, 1, 19, b, 41, c, 41)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


def test_no_gradient_of_a_row_depends_on_its_neighbours():
    rng = np.random.default_rng(1)
    a, b, bias = numbers(rng, 19, 30), numbers(rng, 30, 41), np.zeros(41, np.float32)
    a[5] = np.nan
    c = np.empty((19, 41), np.float32)
    _product(19, 41, 30, bias, 0, 1, a, 30, 1, b, 41, c, 41)
    np.testing.assert_array_equal(np.isnan(c).all(axis=1), np.arange(19) == 5)
    np.testing.assert_array_equal(np.isnan(c).any(axis=1), np.arange(19) == 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_start_whose_columns_are_the_same(dtype):
    rng = np.random.default_rng(2)
    a, b, bias = (rng.normal(size=shape).astype(dtype) for shape in ((19, 5), (5, 45), 19))
    c = np.empty((19, 45), dtype)
    _product(19, 45, 5, bias, 1, 0, a, 5, 1, b, 45, c, 45)
    expected = bias[:, None] + a.astype(float) @ b
    np.testing.assert_allclose(c, expected, rtol=0, atol=1e-5 if dtype == np.float32 else 1e-14)
