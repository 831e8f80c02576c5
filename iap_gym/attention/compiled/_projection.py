"""Bytes of an image to scaled queries and keys, a block of ``LANES`` patches at a time."""

# pyright: basic

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from iap_gym._compiled.cache import inner
from iap_gym._compiled.simd import address, store
from iap_gym.attention.compiled._pixels import BLOCK_ROWS, PITCH, Layout, pixel_block
from iap_gym.attention.compiled._simd import LANES, inverse_length, load, spread, vector

GROUP = 4  # queries and keys computed together; weights are padded to a multiple


class Weights(NamedTuple):
    """Of queries and keys together, for pixels from 0 to 255; arrays, or pointers when compiled."""

    matrix: Any  # float32 (D, J)
    shift: Any  # float32 (J,)
    width: int  # J, which is 2d padded
    size: int  # d
    unit_length: float  # d^(1/4), or 0 where lengths stay


@inner
def pointers(weights: Any) -> Any:
    """Return weights with pointers instead of the arrays."""
    matrix, shift = address(weights.matrix), address(weights.shift)
    return Weights(matrix, shift, weights.width, weights.size, weights.unit_length)


def shared_room(layout: Layout, weights: Weights) -> int:
    """Return how many float32 pixels, projections, weights of queries and all keys take."""
    keys = -(-layout.count // LANES) * LANES * weights.size
    return layout.pixel_numbers + (weights.width + 1) * LANES + keys


@inner
def fold(
    query: Any, key: Any, query_bias: Any, key_bias: Any, factor: float, offset: float
) -> tuple[Any, Any, Any]:
    """Fold the scaling, 1/255, the offset of pixels and the biases into weights.

    Args:
        query: float32 (D, d).
        key: float32 (D, d).
        query_bias: float32 (d,), or empty.
        key_bias: float32 (d,), or empty.
        factor: of queries and keys.
        offset: subtracted from pixels in [0, 1].

    Returns:
        The matrix and the shift of ``Weights``, and float64 (2,): bounds of the lengths of
        queries and of keys over all images.
    """
    rows, size = query.shape
    width = (2 * size + GROUP - 1) // GROUP * GROUP
    matrix = np.zeros((rows, width), np.float32)
    shift = np.zeros(width, np.float32)
    lengths = np.zeros(2)
    farthest = max(abs(offset), abs(1 - offset))
    for side in range(2):
        weight, bias = (query, query_bias) if side == 0 else (key, key_bias)
        for k in range(size):
            total, bound = 0.0, 0.0
            for row in range(rows):
                value = np.float64(weight[row, k])
                total += value
                bound += abs(value)
                matrix[row, side * size + k] = value * (factor / 255)
            constant = np.float64(bias[k]) if bias.size else 0.0
            shift[side * size + k] = (constant - total * offset) * factor
            lengths[side] += (bound * farthest + abs(constant)) ** 2
        lengths[side] = math.sqrt(lengths[side]) * factor
    return matrix, shift, lengths


@inner
def _add_products(pixels: Any, numbers: int, weights: Any, first: int, out: Any) -> None:
    """Add ``pixels @ weights.matrix[first : first + numbers]`` to out, (J, LANES) flat."""
    width = weights.width
    for j in range(0, width, GROUP):
        if first:
            a, b = load(out, j * LANES), load(out, (j + 1) * LANES)
            c, d = load(out, (j + 2) * LANES), load(out, (j + 3) * LANES)
        else:
            a, b = spread(weights.shift, j), spread(weights.shift, j + 1)
            c, d = spread(weights.shift, j + 2), spread(weights.shift, j + 3)
        at = first * width + j
        for e in range(numbers):
            x = load(pixels, e * PITCH)
            a = x * spread(weights.matrix, at) + a
            b = x * spread(weights.matrix, at + 1) + b
            c = x * spread(weights.matrix, at + 2) + c
            d = x * spread(weights.matrix, at + 3) + d
            at += width
        store(out, j * LANES, a)
        store(out, (j + 1) * LANES, b)
        store(out, (j + 2) * LANES, c)
        store(out, (j + 3) * LANES, d)


@inner
def _normalize(weights: Any, first: int, out: Any) -> None:
    """Give d rows of out the length ``unit_length``; zeros stay zeros."""
    squares = vector(0.0)
    for k in range(first, first + weights.size):
        x = load(out, k * LANES)
        squares = x * x + squares
    factor = inverse_length(squares) * weights.unit_length
    for k in range(first, first + weights.size):
        store(out, k * LANES, load(out, k * LANES) * factor)


@inner
def project(
    data: Any, start: int, layout: Any, block: int, weights: Any, pixels: Any, out: Any
) -> None:
    """Compute queries and keys of ``LANES`` patches.

    Args:
        data: pointer to the images, one after the other.
        start: first byte of the image.
        layout: where its patches lie.
        block: the first patch.
        weights: of queries and keys.
        pixels: room for ``layout.pixel_numbers``.
        out: (J, LANES) flat; row k becomes number k of the queries, row d + k of the keys.
    """
    together = max(1, BLOCK_ROWS // layout.run)
    for first in range(0, layout.patch_rows, together):
        rows = min(together, layout.patch_rows - first)
        pixel_block(data, start, layout, block, first, rows, pixels)
        _add_products(pixels, rows * layout.run, weights, first * layout.run, out)
    if weights.unit_length > 0:
        _normalize(weights, 0, out)
        _normalize(weights, weights.size, out)
