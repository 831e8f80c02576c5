"""Scores and selection of uint8 images from arrays of numpy, by the compiled kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from iap_gym.attention.compiled import kernels
from iap_gym.attention.compiled._estimate import Samples, estimate_room
from iap_gym.attention.compiled._pixels import layout_of
from iap_gym.attention.compiled._projection import Weights
from iap_gym.attention.compiled._simd import LANES
from iap_gym.attention.patches import PatchGrid
from iap_gym.attention.projection import Scaling, fits_float32
from iap_gym.attention.ranking import best_indices

Floats = NDArray[np.float32]

NONE: Floats = np.empty(0, np.float32)

# Of more patches than this a list kept by insertion would take longer than a partition.
INSERT_AT_MOST = 64


@dataclass(frozen=True)
class Parameters:
    """Numbers of a selector, contiguous float32; ``NONE`` for those that it does not have."""

    query: Floats  # (D, d)
    key: Floats  # (D, d)
    query_bias: Floats  # (d,)
    key_bias: Floats  # (d,)
    r: Floats  # (N,)
    pixel_offset: float  # subtracted from pixels in [0, 1]
    omega: Floats  # (m, d) of an estimated kernel
    xi: Floats  # (r, d) of the hybrid kernel


def scores(
    images: NDArray[np.uint8], grid: PatchGrid, p: Parameters, scaling: Scaling, kernel: str
) -> tuple[Floats, NDArray[np.bool_]] | None:
    """Score the patches of images.

    Args:
        images: contiguous (B, H, W, C).
        grid: where the patches lie.
        p: of the selector.
        scaling: of queries and keys.
        kernel: "relu", "hybrid", "positive" or "trigonometric".

    Returns:
        Scores (B, N), and (B,) whether float32 held the numbers of an image, without which its
        scores are of no use; or None where the weights are such that it would not do.

    Raises:
        ValueError: a parameter is not finite.
    """
    matrix, shift, lengths = kernels.fold(
        p.query, p.key, p.query_bias, p.key_bias, scaling.factor, p.pixel_offset
    )
    largest_r = float(np.abs(p.r).max()) if p.r.size else 0.0
    if not fits_float32(lengths.tolist(), largest_r, scaling, exponential=kernel != "relu"):
        return None
    size = scaling.query_size
    unit_length = size**0.25 if scaling.name == "unit" else 0.0
    weights = Weights(matrix, shift, len(shift), size, unit_length)
    layout = layout_of(len(images), grid.image_shape, grid.shape, grid.patch, grid.stride)
    out = np.empty(layout.images * layout.count + LANES, np.float32)
    fits = np.ones(layout.images, np.bool_)
    data = images.reshape(-1)
    if kernel == "relu":
        floats, doubles = kernels.relu_room(layout, weights)
        kernels.relu(data, layout, weights, p.r, _room(floats), np.empty(doubles), out)
    else:
        xi = p.xi if len(p.xi) else np.empty((0, size), np.float32)
        parts = kernel != "positive", kernel != "trigonometric"
        samples = Samples(p.omega, xi, len(p.omega), len(xi), *parts)
        floats, doubles = estimate_room(layout, weights, samples)
        room = _room(floats), np.empty(doubles)
        kernels.estimated(data, layout, weights, p.r, samples, *room, out, fits)
    return out[: layout.images * layout.count].reshape(layout.images, layout.count), fits


def best(scores: Floats, count: int) -> torch.Tensor:
    """Return what ``ranking.best_indices`` does for contiguous scores (B, N)."""
    if count > INSERT_AT_MOST:
        return best_indices(torch.as_tensor(scores), count)
    return torch.as_tensor(kernels.best(scores, *scores.shape, count))


def _room(numbers: int) -> Floats:
    """Return uninitialised numbers of which the first starts a line of the cache."""
    memory = np.empty(numbers + 16, np.float32)
    first = -memory.ctypes.data % 64 // 4
    return memory[first : first + numbers]
