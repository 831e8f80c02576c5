"""Bootstrap intervals against the normal theory of the mean."""

import math

import numpy as np
import pytest
from scipy import stats

from iap_gym.baselines.experiments.statistics import (
    bootstrap_mean,
    share,
    student_mean,
    welch_difference,
)


def test_interval_has_the_width_of_normal_theory():
    values = np.random.default_rng(0).normal(5, 2, 400)
    found = bootstrap_mean(values)
    # Resampling n values has the standard deviation of the plain (1/n) variance.
    error = values.std() / np.sqrt(values.size)
    assert found.mean == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


def test_interval_covers_the_truth_about_95_times_in_100():
    rng = np.random.default_rng(1)
    trials, hits = 200, 0
    for _ in range(trials):
        found = bootstrap_mean(rng.normal(1, 3, 60))
        hits += found.low <= 1 <= found.high
    # Three standard errors of a rate of .94 (the percentile method is a little narrow at n = 60).
    assert abs(hits / trials - 0.94) < 3 * np.sqrt(0.94 * 0.06 / trials)


def test_same_numbers_give_the_same_interval():
    values = np.random.default_rng(0).normal(size=20)
    assert bootstrap_mean(values) == bootstrap_mean(values)


def test_too_few_numbers_have_no_interval():
    found = bootstrap_mean([1.0, 2.0, 3.0, 6.0])
    assert (found.mean, found.low, found.high) == (3.0, None, None)
    assert str(found) == "3.0"


def test_constant_sample_is_a_point():
    found = bootstrap_mean([3.0] * 5)
    assert (found.low, found.mean, found.high) == (3.0, 3.0, 3.0)


@pytest.mark.parametrize("values", [[], [1.0, np.nan], [[1.0, 2.0]]])
def test_what_has_no_mean_is_refused(values):
    with pytest.raises(ValueError, match=r"values: expected finite numbers of shape \(n,\)"):
        bootstrap_mean(values)


@pytest.mark.parametrize(("count", "total"), [(0, 10), (10, 10), (37, 100), (1, 1)])
def test_the_wilson_interval_is_the_closed_form(count, total):
    found = share([True] * count + [False] * (total - count))
    z, p = 1.959963984540054, count / total
    middle = (p + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(p * (1 - p) / total + z * z / (4 * total**2))
    assert found.mean == p
    assert found.low == pytest.approx(middle - half, abs=1e-9)
    assert found.high == pytest.approx(middle + half, abs=1e-9)
    with pytest.raises(ValueError, match="flags: expected a row of 0 and 1"):
        share([0.5])


@pytest.mark.parametrize("sizes", [(5, 5), (5, 12), (30, 6)])
def test_intervals_of_normal_theory_are_those_of_scipy(sizes):
    rng = np.random.default_rng(sum(sizes))
    a, b = rng.normal(1, 3, sizes[0]), rng.normal(0, 1, sizes[1])
    found = welch_difference(a, b)
    wanted = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    assert found.mean == pytest.approx(a.mean() - b.mean())
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    found, wanted = student_mean(a), stats.ttest_1samp(a, 0.0).confidence_interval()
    assert found.mean == pytest.approx(a.mean())
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))


def test_intervals_of_normal_theory_hold_the_truth_as_often_as_they_say():
    """For five normal numbers, of which the bootstrap's hold it 88 times in 100."""
    rng = np.random.default_rng(0)
    held = [
        [
            mean.low <= truth <= mean.high
            for mean, truth in ((student_mean(a), 1.0), (welch_difference(a, b), 1.0))
        ]
        for a, b in zip(rng.normal(1, 2, (2000, 5)), rng.normal(0, 1, (2000, 5)), strict=True)
    ]
    for share_held in np.mean(held, axis=0):
        assert abs(share_held - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 2000)


def test_few_numbers_or_such_without_spread_give_no_interval():
    for found in (
        student_mean([1.0, 2.0, 3.0, 4.0]),
        student_mean([2.5] * 9),
        welch_difference([2.5] * 5, [1.0] * 5),
        welch_difference([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 5.0]),
    ):
        assert (found.low, found.high) == (None, None)
    assert welch_difference([2.5] * 5, 1.0).mean == 1.5
