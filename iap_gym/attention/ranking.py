"""The best numbers of each row, ties to the lowest index."""

from __future__ import annotations

from torch import Tensor

SORT_AT_MOST = 1024  # columns up to which a plain stable sort is the faster one


def best_indices(scores: Tensor, count: int) -> Tensor:
    """Return the first ``count`` columns of a stable descending argsort, without sorting all.

    Args:
        scores: (B, N), no NaN.
        count: how many, at most N.

    Returns:
        int64 (B, count), best first; equal scores in order of their index.
    """
    if scores.shape[1] <= SORT_AT_MOST:
        return scores.argsort(dim=1, descending=True, stable=True)[:, :count]
    values, indices = scores.topk(count, dim=1)
    last = values[:, -1:]
    if bool(((scores >= last).sum(1) > count).any()):
        indices = _lowest_indices(scores, last, count)
    else:
        indices = indices.sort(dim=1).values
    order = scores.gather(1, indices).sort(dim=1, descending=True, stable=True).indices
    return indices.gather(1, order)


def _lowest_indices(scores: Tensor, last: Tensor, count: int) -> Tensor:
    """Return, in ascending order, all that exceed ``last`` and the first that equal it."""
    above = scores > last
    equal = scores == last
    room = count - above.sum(1, keepdim=True)
    kept = above | (equal & (equal.cumsum(1) <= room))
    return kept.nonzero()[:, 1].view(len(scores), count)
