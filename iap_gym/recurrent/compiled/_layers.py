"""The affine maps of a cell: where their weights, values and gradients lie.

The rows of a table are the maps of g, then those of r, then p and, where there is one, o.
"""

# pyright: basic

from __future__ import annotations

from typing import Any, NamedTuple

from iap_gym._compiled.cache import inner
from iap_gym._compiled.simd import advance, float_pointer
from iap_gym.recurrent.compiled._elementwise import add
from iap_gym.recurrent.compiled._product import product

# Columns of a table: fan-out, fan-in, addresses of weight (fan-out, fan-in) and bias, addresses of
# their gradients or 0, and of all maps above: numbers of their weights, sum of their fan-outs.
WIDTH, FAN_IN, WEIGHT, BIAS, WEIGHT_GRADIENT, BIAS_GRADIENT, WEIGHTS_ABOVE, WIDTHS_ABOVE = range(8)
COLUMNS = 8


class Maps(NamedTuple):
    """All maps of a cell, and rooms that they share; pointers."""

    table: Any  # int64 (count, COLUMNS)
    count: int
    turned: Any  # all weights, each transposed
    values: Any  # results of all maps for some rows, in place of them what functions make of them
    rows: int
    gradients: Any  # of the results, for the rows of a block
    block_rows: int


class Map(NamedTuple):
    """One map; pointers to float32."""

    width: int  # fan-out
    fan_in: int
    weight: Any  # (width, fan_in)
    turned: Any  # (fan_in, width)
    bias: Any  # (width,)
    values: Any  # (rows, width)
    gradients: Any  # (block_rows, width)


@inner
def map_of(maps: Any, index: int) -> Any:
    """Return one of the maps."""
    row = advance(maps.table, index * COLUMNS)
    return Map(
        row[WIDTH],
        row[FAN_IN],
        float_pointer(row[WEIGHT]),
        advance(maps.turned, row[WEIGHTS_ABOVE]),
        float_pointer(row[BIAS]),
        advance(maps.values, row[WIDTHS_ABOVE] * maps.rows),
        advance(maps.gradients, row[WIDTHS_ABOVE] * maps.block_rows),
    )


@inner
def turn_weights(maps: Any) -> None:
    """Transpose all weights."""
    for index in range(maps.count):
        m = map_of(maps, index)
        for column in range(m.fan_in):
            for row in range(m.width):
                m.turned[column * m.width + row] = m.weight[row * m.fan_in + column]


@inner
def set_values(m: Any, first: int, rows: int, a: Any, size: int) -> None:
    """Set rows of values to bias + a W^T, over the first columns of W; a is (rows, size)."""
    out = advance(m.values, first * m.width)
    product(rows, m.width, size, m.bias, 0, 1, a, size, 1, m.turned, m.width, out, m.width)


@inner
def add_to_values(m: Any, first: int, rows: int, a: Any, size: int, column: int) -> None:
    """Add a W^T to rows of values, over ``size`` columns of W; a is (rows, size)."""
    out = advance(m.values, first * m.width)
    turned = advance(m.turned, column * m.width)
    product(rows, m.width, size, out, m.width, 1, a, size, 1, turned, m.width, out, m.width)


@inner
def pass_back(
    m: Any, first: int, rows: int, column: int, start: Any, pitch: int, out: Any, size: int
) -> None:
    """Set out (rows, size) to start + gradients W, over ``size`` columns of W.

    ``pitch`` is from one row of start to the next, 0 where all are the same.
    """
    d = advance(m.gradients, first * m.width)
    weight = advance(m.weight, column)
    product(rows, size, m.width, start, pitch, 1, d, m.width, 1, weight, m.fan_in, out, size)


@inner
def add_weight_gradient(
    maps: Any, index: int, rows: int, a: Any, size: int, column: int, zeros: Any, room: Any
) -> None:
    """Add gradients^T a to ``size`` columns of the gradient of W, if wanted; a is (rows, size).

    The sum over a block is made in ``room``: a sum over all rows at once would lose digits.
    """
    wanted = maps.table[index * COLUMNS + WEIGHT_GRADIENT]
    if wanted:
        m = map_of(maps, index)
        product(m.width, size, rows, zeros, 0, 1, m.gradients, 1, m.width, a, size, room, size)
        out = advance(float_pointer(wanted), column)
        for row in range(m.width):
            add(size, advance(out, row * m.fan_in), advance(room, row * size))


@inner
def add_bias_gradient(maps: Any, index: int, rows: int, ones: Any, zeros: Any, room: Any) -> None:
    """Add the sums of gradients to those of the bias, if wanted."""
    wanted = maps.table[index * COLUMNS + BIAS_GRADIENT]
    if wanted:
        m = map_of(maps, index)
        product(1, m.width, rows, zeros, 0, 1, ones, 0, 0, m.gradients, m.width, room, m.width)
        add(m.width, float_pointer(wanted), room)
