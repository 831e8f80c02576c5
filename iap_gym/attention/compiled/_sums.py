"""Sums over the queries of an image."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from iap_gym._compiled.cache import inner
from iap_gym.attention.compiled._simd import LANES, PART, load, vector

FLUSH_BLOCKS = 64  # after which sums of float32 go to float64


@inner
def query_weights(r: Any, learnt: bool, block: int, count: int, row: Any) -> Any:
    """Return r of a block of patches, 1 unless ``learnt``; 0 beyond the last patch.

    Args:
        r: pointer to N numbers if ``learnt``.
        learnt: whether r is used.
        block: the first patch.
        count: N.
        row: room for ``LANES`` numbers.
    """
    if not learnt and block + LANES <= count:
        return vector(1.0)
    for lane in range(LANES):
        row[lane] = np.float32(0.0)
        if block + lane < count:
            row[lane] = r[block + lane] if learnt else np.float32(1.0)
    return load(row, 0)


@inner
def flush(partial: Any, totals: Any, count: int) -> None:
    """Add ``count`` sums of ``PART`` float32 each to float64 totals, and start them again."""
    for index in range(count):
        for at in range(index * PART, (index + 1) * PART):
            totals[index] += np.float64(partial[at])
            partial[at] = np.float32(0.0)
