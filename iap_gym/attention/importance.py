r"""Importance of patches: the attention that each key receives from all queries of its image.

Every function returns values and a logarithm per image, with

.. math:: s_j = \sum_i r_i K(q_i, k_j) = \mathrm{values}_j \, e^{\mathrm{log\_scale}} .

The logarithm is shared by all queries and keys of an image, so that it cannot change a ranking; a
maximum per query, usual where attention is normalised by rows, would reweight the queries here.

Shapes: queries are (B, d, N), keys (B, d, N'), with the patches along the contiguous axis; r is
(N,) or None for ones; values (B, N'); log_scale (B,). N' is N, or larger: the first N keys are
those of the queries' patches and the rest copies of one of them, there to fill a block (see
``patches.COLUMNS``). Sums over features are matrix products or additions in a fixed order, never
``Tensor.sum``, whose order differs from column to column: equal keys get equal scores.

The cost is linear in N, but for the two brute-force kernels, whose time is quadratic and which form
max(``BLOCK_NUMBERS``, ``COLUMNS`` N') numbers of the attention matrix at a time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from iap_gym.attention.patches import COLUMNS
from iap_gym.attention.projection import sum_rows

# Numbers of the attention matrix that are formed at a time, if they are whole blocks of columns;
# about a processor's cache.
BLOCK_NUMBERS = 2**18

# The largest score of an image is kept within these natural logarithms, where it is a normal
# float32 and leaves room for smaller ones; scores inside are true values.
LOG_SMALLEST = -60.0
LOG_LARGEST = 87.0

Scores = tuple[Tensor, Tensor]


def to_float32(values: Tensor, log_scale: Tensor) -> Tensor:
    """Apply ``exp(log_scale)``, or as much of it as float32 can hold, to values (B, N')."""
    top = values.detach().abs().amax(dim=1)
    top = torch.where(top > 0, top, torch.ones_like(top))
    factor = (top.log() + log_scale).clamp(LOG_SMALLEST, LOG_LARGEST).exp()
    return (values / top[:, None] * factor[:, None]).float()


def relu_scores(queries: Tensor, keys: Tensor, r: Tensor | None) -> Tensor:
    """Sum relu(q) · relu(k) over queries; true values (B, N'), no scale is needed."""
    rectified = queries.relu()
    total = rectified.sum(-1) if r is None else rectified @ r
    return (total[:, None, :] @ keys.relu())[:, 0]


def positive_scores(queries: Tensor, keys: Tensor, r: Tensor | None, omega: Tensor) -> Scores:
    """Sum the positive estimate of the softmax kernel; omega is (m, d)."""
    query_rows, key_rows = _plain_rows(queries, r), _plain_rows(keys, None)
    values, log_scale, _ = _positive_part(
        _projection(queries, omega), _projection(keys, omega), query_rows, key_rows
    )
    return values / len(omega), log_scale


def trigonometric_scores(queries: Tensor, keys: Tensor, r: Tensor | None, omega: Tensor) -> Scores:
    """Sum the trigonometric estimate of the softmax kernel; omega is (m, d)."""
    query_rows, key_rows = _plain_rows(queries, r), _plain_rows(keys, None)
    values, log_scale, _ = _trigonometric_part(
        _projection(queries, omega), _projection(keys, omega), query_rows, key_rows
    )
    return values / len(omega), log_scale


def hybrid_scores(
    queries: Tensor, keys: Tensor, r: Tensor | None, omega: Tensor, xi: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum the hybrid estimate of the softmax kernel; omega is (m, d), xi (r, d).

    Returns values and log_scale, and (B,), on the scale of the values, the largest sum of the
    absolute terms that add up to a value: how much larger than the values they are says how many
    digits cancel. Opposite queries and keys have none left where exp(|x|²) is beyond the type's.

    The 3m(1+r) features of a patch are never formed. They are products of 3m features and 1+r
    signs, so that the sum over queries is a matrix of (1+r) x 3m, applied to a key from one side
    and then from the other.
    """
    projected_queries, projected_keys = _projection(queries, omega), _projection(keys, omega)
    query_signs, key_signs = _signs(queries, xi), _signs(keys, xi) / len(xi)
    weights = _plain_rows(queries, r)
    query_rows = torch.cat([weights, weights * query_signs], dim=1)
    plain = _plain_rows(keys, None)
    waves, wave_scale, wave_terms = _trigonometric_part(
        projected_queries, projected_keys, query_rows, torch.cat([plain, key_signs], dim=1)
    )
    # The minus of eq. 9, on the side of the keys alone.
    positive, positive_scale, positive_terms = _positive_part(
        projected_queries, projected_keys, query_rows, torch.cat([plain, -key_signs], dim=1)
    )
    log_scale = torch.maximum(wave_scale, positive_scale)
    wave_factor, positive_factor = (
        (wave_scale - log_scale).exp(),
        (positive_scale - log_scale).exp(),
    )
    values = waves * wave_factor[:, None] + positive * positive_factor[:, None]
    terms = wave_terms * wave_factor.detach() + positive_terms * positive_factor.detach()
    return values / (2 * len(omega)), log_scale, terms / (2 * len(omega))


def softmax_scores(queries: Tensor, keys: Tensor, r: Tensor | None) -> Scores:
    """Sum exp(q · k) over queries, a block of keys at a time."""
    weights = _plain_rows(queries, r)
    values: list[Tensor] = []
    logs: list[Tensor] = []
    for image_queries, image_keys, row in zip(queries, keys, weights, strict=True):
        for block in torch.split(image_keys, _block(queries), dim=1):
            logits = image_queries.T @ block  # (N, block)
            # A logarithm per key, taken back below; it is not a maximum per query.
            log = logits.detach().amax(dim=0)
            values.append(row @ (logits - log).exp_())
            logs.append(log)
    log_scales = torch.cat(logs).view(len(keys), -1)
    log_scale = log_scales.amax(dim=1)
    scaled = torch.cat(values, dim=1).view(len(keys), -1)
    return scaled * (log_scales - log_scale[:, None]).exp(), log_scale


def normalized_softmax_scores(queries: Tensor, keys: Tensor, r: Tensor | None) -> Scores:
    """Sum the rows of softmax(q · k), normalised over keys, a block of queries at a time."""
    weights = _plain_rows(queries, r)
    count, block = queries.shape[-1], _block(keys)
    totals: list[Tensor] = []
    for image_queries, image_keys, row in zip(queries, keys, weights, strict=True):
        total = torch.zeros_like(image_keys[:1])
        parts = torch.split(image_queries, block, dim=1)
        for part, part_row in zip(parts, torch.split(row, block, dim=1), strict=True):
            logits = part.T @ image_keys  # (block, N')
            # Of the patches alone: a copy in the padding may round higher by more than exp holds.
            largest = logits.detach()[:, :count].amax(dim=1, keepdim=True)
            attention = (logits - largest).exp_()
            mass = attention[:, :count].sum(1)
            total = total + (part_row / mass) @ attention
        totals.append(total)
    return torch.cat(totals)[:, :count], torch.zeros_like(keys[:, 0, 0])


def _block(z: Tensor) -> int:
    """Rows or columns of the attention matrix to form at a time, in whole blocks of columns."""
    return max(1, BLOCK_NUMBERS // (z.shape[-1] * COLUMNS)) * COLUMNS


Projection = tuple[Tensor, Tensor]  # omega · z, (B, m, N), and |z|²/2, (B, 1, N)


def _projection(z: Tensor, omega: Tensor) -> Projection:
    return omega @ z, sum_rows(z.square()) / 2


def _plain_rows(z: Tensor, r: Tensor | None) -> Tensor:
    """One row of weights (B, 1, N) where a hybrid kernel has more."""
    row = torch.ones_like(z[:, :1])
    return row if r is None else row * r


def _signs(z: Tensor, xi: Tensor) -> Tensor:
    """Return sgn(xi · z), (B, r, N), with sgn(0) = 1."""
    return (xi @ z >= 0).to(z.dtype).mul_(2).sub_(1)


def _trigonometric_part(
    queries: Projection, keys: Projection, query_rows: Tensor, key_rows: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum over queries, rows and samples; rows are (B, s, N) weights of queries and of keys.

    Returns values (B, N), their log_scale (B,), and their largest sum of absolute rows (B,).
    """
    query_phase, query_half = queries
    key_phase, key_half = keys
    query_log = query_half.detach().amax(dim=2, keepdim=True)  # (B, 1, 1)
    key_log = key_half.detach().amax(dim=2, keepdim=True)
    weights = query_rows * (query_half - query_log).exp()  # (B, s, N)
    sines = weights @ query_phase.sin().mT  # (B, s, m)
    cosines = weights @ query_phase.cos().mT
    rows = sines @ key_phase.sin() + cosines @ key_phase.cos()  # (B, s, N)
    growth = (key_half - key_log).exp()
    weighted = rows * key_rows
    values = sum_rows(weighted) * growth
    return values[:, 0], (query_log + key_log)[:, 0, 0], _largest_terms(weighted, growth)


def _positive_part(
    queries: Projection, keys: Projection, query_rows: Tensor, key_rows: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Sum as ``_trigonometric_part`` does."""
    # |z|²/2 inside the exponent: exp(omega · z) alone overflows where the feature is small.
    query_exponent = queries[0] - queries[1]  # (B, m, N)
    # A logarithm per sample, given back to the keys' exponent of that sample.
    sample_log = query_exponent.detach().amax(dim=2, keepdim=True)  # (B, m, 1)
    total = query_rows @ (query_exponent - sample_log).exp_().mT  # (B, s, m)
    key_exponent = keys[0] - keys[1] + sample_log
    log_scale = key_exponent.detach().amax(dim=(1, 2), keepdim=True)
    rows = total @ (key_exponent - log_scale).exp_()  # (B, s, N)
    weighted = rows * key_rows
    return sum_rows(weighted)[:, 0], log_scale[:, 0, 0], _largest_terms(weighted, None)


def _largest_terms(weighted: Tensor, growth: Tensor | None) -> Tensor:
    """Return (B,), the largest over patches of the sum of absolute rows (B, s, N)."""
    if weighted.shape[1] == 1:  # nothing to cancel; not asked for
        return torch.zeros_like(weighted[:, 0, 0])
    total = weighted.detach().abs().sum(1)
    return (total if growth is None else total * growth.detach()[:, 0]).amax(dim=1)
