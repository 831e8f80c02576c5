"""Gaussian directions that are orthogonal in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from iap_gym import _checks


def own_generator() -> torch.Generator:
    """Return a CPU generator seeded by the operating system; torch's global one is not touched."""
    generator = torch.Generator()
    generator.seed()
    return generator


def orthogonal_gaussian(rows: int, dim: int, generator: torch.Generator | None = None) -> Tensor:
    r"""Draw a block-orthogonal ensemble in which each row is marginally :math:`N(0, I)`.

    Rows are orthogonal to each other within each block of ``dim`` rows, and independent across
    blocks; the last block is cut. A block is :math:`\mathrm{diag}(\chi_d)\,Q`: ``Q`` is the
    orthogonal factor of a Gaussian matrix, its columns multiplied by the signs of the diagonal of
    ``R`` (without them ``Q`` is not uniform: LAPACK fixes signs of its own), and each row gets an
    *independent* chi-distributed length (lengths taken from the matrix that ``Q`` came from are
    correlated with it). Either omission biases every kernel estimated with the rows. The ensemble
    is that of Choromanski et al., "Rethinking Attention with Performers", 2021, and of the text
    below eq. 6 of "Unlocking Pixels for Reinforcement Learning via Implicit Attention", 2021.

    Args:
        rows: number of rows, at least 1.
        dim: size of a row, at least 1.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Returns:
        float32 (rows, dim).

    Raises:
        ValueError: ``rows`` or ``dim`` is not an integer of at least 1.
    """
    rows = _checks.integer("rows", rows, 1)
    dim = _checks.integer("dim", dim, 1)
    generator = own_generator() if generator is None else generator
    blocks = -(-rows // dim)
    gaussian = torch.randn(blocks, dim, dim, generator=generator, dtype=torch.float64)
    # torch ships no types for its linear algebra.
    qr = cast("Callable[[Tensor], tuple[Tensor, Tensor]]", torch.linalg.qr)  # pyright: ignore[reportUnknownMemberType]
    q, r = qr(gaussian)
    signs = torch.where(r.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0)
    directions = (q * signs[:, None, :]).reshape(blocks * dim, dim)[:rows]
    lengths = torch.randn(rows, dim, generator=generator, dtype=torch.float64).square().sum(1)
    return (lengths.sqrt()[:, None] * directions).float()
