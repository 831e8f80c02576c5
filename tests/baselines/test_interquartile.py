"""Interquartile means by hand and against scipy, and their bootstrap intervals."""

import numpy as np
import pytest
from scipy import stats

from iap_gym.baselines.experiments.statistics import (
    Mean,
    bootstrap_mean,
    interquartile_interval,
    interquartile_mean,
)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([9, 1, 2, -50], 1.5),  # n = 4: one at each end
        ([1, 2, 3, 4, 100], 3),  # n = 5: one at each end
        ([7, 0, 1, 2, 3, 4, 5, 600], 3.5),  # n = 8: two at each end
        ([1, 2, 6], 3),  # n = 3: the mean
        ([5], 5),
    ],
)
def test_by_hand(values, wanted):
    assert interquartile_mean(values) == wanted


@pytest.mark.parametrize("n", [1, 3, 4, 7, 11, 20])
def test_is_the_equation_and_scipys_trimmed_mean(n):
    values = np.random.default_rng(n).normal(size=(n, 3))
    found = interquartile_mean(values, axis=0)
    k = n // 4
    np.testing.assert_allclose(found, np.sort(values, axis=0)[k : n - k].sum(0) / (n - 2 * k))
    np.testing.assert_allclose(found, stats.trim_mean(values, 0.25, axis=0))


@pytest.mark.parametrize(("n", "wanted"), [(3, 0.75), (5, 0.90), (20, 0.95)])
def test_interval_covers_the_truth_as_often_as_its_docstring_says(n, wanted):
    """Trials share their resamples in blocks, each block with its own generator."""
    rng = np.random.default_rng(n)
    hits = []
    for _ in range(20):
        low, high = interquartile_interval(rng.normal(1, 3, (n, 50)), rng)
        hits.append(np.mean((low <= 1) & (high >= 1)))
    error = np.std(hits, ddof=1) / np.sqrt(len(hits))
    assert abs(np.mean(hits) - wanted) < 3 * error + 0.005  # the docstring gives whole per cents


def test_interval_is_that_of_resampled_whole_runs():
    """All combinations of three runs, counted out: the quantiles that resampling tends to."""
    curves = np.array([[0.0, 10.0], [1.0, 20.0], [5.0, -3.0]])
    low, high = interquartile_interval(curves, np.random.default_rng(0))
    means = np.array(
        [curves[[i, j, k]].mean(0) for i in range(3) for j in range(3) for k in range(3)]
    )
    # 27 equally likely means: 2.5 % lies in the first of them, 1/27 = 3.7 %.
    np.testing.assert_allclose(low, means.min(0))
    np.testing.assert_allclose(high, means.max(0))


def test_two_runs_have_no_interval_and_equal_runs_a_point():
    rng = np.random.default_rng(0)
    assert interquartile_interval(np.ones((2, 4)), rng) is None
    low, high = interquartile_interval(np.full((3, 4), 0.3), rng)
    np.testing.assert_allclose(low, 0.3)
    np.testing.assert_allclose(high, 0.3)


def test_same_generator_gives_the_same_interval():
    curves = np.random.default_rng(0).normal(size=(5, 7))
    first, second = (interquartile_interval(curves, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_small_returns_are_printed_with_more_digits():
    assert str(bootstrap_mean([0.9412, 0.9])) == "0.921"
    assert str(Mean(0.5, 0.25, 1.0)) == "0.500 [0.250, 1.000]"
    assert str(Mean(0.5, 0.25, 1.1)) == "0.5 [0.2, 1.1]"
