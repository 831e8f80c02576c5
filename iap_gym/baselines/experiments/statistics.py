"""Means with bootstrap intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

RESAMPLES = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Mean:
    """A sample mean and its 95 % bootstrap interval (percentile method, 10,000 resamples)."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} [{self.low:.1f}, {self.high:.1f}]"

    def to_json(self) -> dict[str, float]:
        """Return the fields as JSON values."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


def bootstrap_mean(values: Any, seed: int = 0) -> Mean:
    """Estimate a mean with its interval.

    Args:
        values: (n,) numbers, n >= 1; with n = 1 the interval is that one point.
        seed: of the resampling, so that the same numbers print the same interval.

    Raises:
        ValueError: no value, or one that is not finite.
    """
    sample = np.asarray(values, float)
    if sample.ndim != 1 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"values: expected a row of finite numbers, got {values!r}")
    mean = float(sample.mean())
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
