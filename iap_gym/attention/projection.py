"""Patches to scaled queries and keys, in float32 or, where that cannot hold them, in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym import _checks
from iap_gym.attention.patches import PatchGrid

INPUT_SCALINGS = ("quarter", "unit", "patch")

# float32 is used while the length of every query and key, bounded over all images, stays within
# these powers of two, and below the square root of LARGEST_EXPONENT for a kernel that
# exponentiates it: rounding such an exponent changes a score by about 1e-4.
LARGEST_LENGTH = 2.0**30
SMALLEST_LENGTH = 2.0**-30
LARGEST_EXPONENT = 1024.0
# A hybrid score is a sum whose terms cancel where queries and keys are opposite. float32 is left
# when the terms are larger than the largest score of the image by more than this.
LARGEST_CANCELLATION = 100.0


@dataclass(frozen=True)
class Scaling:
    """One of ``INPUT_SCALINGS`` for queries of size d of patches of size D."""

    name: str
    query_size: int  # d
    patch_dim: int  # D

    @property
    def factor(self) -> float:
        """The constant factor of queries and keys, which is folded into the weights."""
        sizes = {"quarter": self.query_size, "patch": self.patch_dim, "unit": 1}
        return float(sizes[self.name] ** -0.25)

    def normalize(self, u: Tensor) -> Tensor:
        """Give vectors (B, d, N) the length d^(1/4) if the scaling is "unit"; zeros stay zeros."""
        if self.name != "unit":
            return u
        squares = sum_rows(u.square())
        # Divided by 1 where u = 0, so that value and gradient are 0 and not NaN.
        lengths = torch.where(squares > 0, squares, torch.ones_like(squares)).sqrt()
        return u / lengths * self.query_size**0.25


def sum_rows(z: Tensor) -> Tensor:
    """Sum (B, s, N) to (B, 1, N), one row after the other.

    ``Tensor.sum`` adds in an order that differs from column to column, and with it the rounding.
    """
    total = z[:, :1]
    for row in range(1, z.shape[1]):
        total = total + z[:, row : row + 1]
    return total


def working_dtype(
    weight: Tensor,
    bias: Tensor | None,
    r: Tensor | None,
    pixel_offset: float,
    scaling: Scaling,
    exponential: bool,
) -> torch.dtype:
    """Return float64 if some image could exceed what float32 can hold, else float32.

    It depends on the weights alone, so that one policy rounds in one way.

    Args:
        weight: (2, D, d), of queries and of keys.
        bias: (2, d) or None.
        r: (N,) or None.
        pixel_offset: subtracted from pixels.
        scaling: of queries and keys.
        exponential: whether the kernel exponentiates products of queries and keys.

    Raises:
        ValueError: a weight is not finite.
    """
    with torch.no_grad():
        # Summed in float64, where finite weights cannot overflow.
        bounds = weight.abs().sum(1, dtype=torch.float64)
        bounds = bounds * max(abs(pixel_offset), abs(1 - pixel_offset))
        if bias is not None:
            bounds = bounds + bias.abs()
        largest_r = 0.0 if r is None else float(r.abs().max())
    rows = cast("NDArray[np.float64]", bounds.cpu().numpy())
    lengths = [math.hypot(*row) * scaling.factor for row in rows]
    fits = fits_float32(lengths, largest_r, scaling, exponential)
    return torch.float32 if fits else torch.float64


def fits_float32(
    lengths: Sequence[float], largest_r: float, scaling: Scaling, exponential: bool
) -> bool:
    """Say whether float32 can hold the queries and keys of every image.

    Args:
        lengths: bounds of the lengths of queries and of keys over all images.
        largest_r: the largest absolute number of r, 0 without.
        scaling: of queries and keys.
        exponential: as in ``working_dtype``.

    Raises:
        ValueError: a number is not finite, since a weight is not.
    """
    if not math.isfinite(sum(lengths) + largest_r):
        raise _checks.refuse("weights of the selector", "finite numbers", "inf or NaN")
    exponent = 0.0
    if exponential:
        unit = scaling.name == "unit"
        exponent = math.sqrt(scaling.query_size) if unit else max(lengths) ** 2
    return (
        max(lengths) <= LARGEST_LENGTH
        and all(length == 0 or length >= SMALLEST_LENGTH for length in lengths)
        and exponent <= LARGEST_EXPONENT
        and largest_r <= LARGEST_LENGTH
    )


def queries_and_keys(
    grid: PatchGrid,
    images: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    pixel_offset: float,
    scaling: Scaling,
) -> tuple[Tensor, Tensor]:
    """Project the patches of images.

    Args:
        grid: where the patches lie.
        images: (B, H, W, C), uint8 or floats in [0, 1].
        weight: (2, D, d), of queries and of keys; its type is used throughout.
        bias: (2, d) or None.
        pixel_offset: subtracted from pixels.
        scaling: of queries and keys.

    Returns:
        Queries (B, d, N) and keys (B, d, N'), the last repeated as ``PatchGrid.affine`` does.
    """
    joint = torch.cat([weight[0], weight[1]], dim=1)  # (D, 2d): one matrix product for both
    shift = torch.zeros_like(joint[0])
    if bias is not None:
        shift = bias.reshape(-1) * scaling.factor
    if pixel_offset:
        shift = shift - joint.sum(0) * (pixel_offset * scaling.factor)
    pixel = 1 / 255 if images.dtype == torch.uint8 else 1.0
    projected = grid.affine(images, joint * (scaling.factor * pixel), shift)
    size = scaling.query_size
    queries = projected[:, :size, : grid.num_patches]
    return scaling.normalize(queries), scaling.normalize(projected[:, size:])
