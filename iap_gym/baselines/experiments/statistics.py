"""Means with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

RESAMPLES = 10_000
CONFIDENCE = 0.95
FEWEST = 5  # resamples of fewer numbers take too few different values to speak of 95 %


@dataclass(frozen=True)
class Mean:
    """A sample mean and its 95 % bootstrap interval (percentile method, 10,000 resamples)."""

    mean: float
    low: float | None  # None: too few numbers for an interval
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"

    def to_json(self) -> dict[str, float | None]:
        """Return the fields as JSON values."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def bootstrap_mean(values: Any, seed: int = 0) -> Mean:
    """Estimate a mean with its interval.

    Args:
        values: (n,) numbers, n >= 1; fewer than ``FEWEST`` give no interval.
        seed: of the resampling, so that the same numbers print the same interval.

    Raises:
        ValueError: no value, or one that is not finite.
    """
    sample = np.asarray(values, float)
    if sample.ndim != 1 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"values: expected a row of finite numbers, got {values!r}")
    mean = float(sample.mean())
    if sample.size < FEWEST:
        return Mean(mean, None, None)
    if np.ptp(sample) == 0:  # nothing to resample; scipy would warn of a degenerate distribution
        return Mean(mean, mean, mean)
    interval = stats.bootstrap(
        (sample,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Mean(mean, float(interval.low), float(interval.high))
