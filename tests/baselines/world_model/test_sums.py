"""Products that are summed over sequences and steps."""

import numpy as np
import pytest

pytest.importorskip("numba")

from numba import njit

from iap_gym._compiled.simd import address
from iap_gym.baselines.world_model.compiled._sums import COLUMNS, ROWS, add_outer_sums


@njit
def _sums(rows, columns, steps, width, a, a_step, b, b_pitch, b_step, c, c_pitch):
    a, b, c = address(a), address(b), address(c)
    add_outer_sums(rows, columns, steps, width, a, a_step, b, b_pitch, b_step, c, c_pitch)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, ROWS, 2 * ROWS + 3])
@pytest.mark.parametrize("columns", [1, COLUMNS, 2 * COLUMNS + 1])
def test_sums_with_all_leftovers(rows, columns, dtype):
    rng = np.random.default_rng(rows * columns)
    steps, width = 3, 48
    a = rng.normal(size=(steps, rows + 2, width)).astype(dtype)
    b = rng.normal(size=(steps, columns + 1, width)).astype(dtype)
    c = rng.normal(size=(rows, columns + 1)).astype(dtype)
    before = c.copy()
    pitches = (rows + 2) * width, (columns + 1) * width
    _sums(rows, columns, steps, width, a, pitches[0], b, width, pitches[1], c, columns + 1)
    expected = np.einsum("tiw,tjw->ij", a[:, :rows].astype(float), b[:, :columns].astype(float))
    atol = 2e-5 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(c[:, :-1], before[:, :-1] + expected, rtol=0, atol=atol)
    np.testing.assert_array_equal(c[:, -1], before[:, -1])
    # rows of B that are all the same: sums of the rows of A
    ones, sums = np.ones(width, dtype), np.zeros(rows, dtype)
    _sums(rows, 1, steps, width, a, pitches[0], ones, 0, 0, sums, 1)
    np.testing.assert_allclose(sums, a[:, :rows].sum((0, 2), dtype=float), rtol=0, atol=atol)
