"""The operations of a program, forward and back, on the rows of one step."""

# pyright: basic

from __future__ import annotations

from typing import Any

from iap_gym._compiled.cache import ONE, ZERO, inner
from iap_gym._compiled.simd import advance
from iap_gym.baselines.world_model.compiled import _cells as cells
from iap_gym.baselines.world_model.compiled._sums import add_outer_sums
from iap_gym.baselines.world_model.compiled.builder import (
    AFFINE,
    BIAS,
    COLUMNS,
    FAN_IN,
    FAN_OUT,
    GATEL0RD,
    GRU,
    IN,
    LSTM,
    OUT,
    OUTPUT,
    SKIP,
    SQUASH,
    WEIGHT,
)
from iap_gym.recurrent.compiled import _elementwise as elementwise
from iap_gym.recurrent.compiled._product import product


@inner
def run(
    operations: Any, count: int, width: int, weights: Any, v: Any, noisy: bool, noise: Any
) -> None:
    """Carry out operations on rows ``v``, each of ``width`` numbers; pointers."""
    for index in range(count):
        op = advance(operations, index * COLUMNS)
        kind, at = op[0], advance(v, op[1] * width)
        if kind == AFFINE:
            fan_in = op[FAN_IN]
            product(
                op[FAN_OUT],
                width,
                fan_in,
                advance(weights, op[BIAS]),
                ONE,
                ZERO,
                advance(weights, op[WEIGHT]),
                fan_in,
                ONE,
                at,
                width,
                advance(v, op[OUT] * width),
                width,
            )
        elif kind == SQUASH:
            elementwise.squash(op[2] * width, at)
        elif kind == GATEL0RD:
            numbers = op[5] * width
            elementwise.move(
                numbers,
                op[6],
                noisy,
                advance(noise, op[7] * width),
                at,
                advance(at, numbers),
                advance(v, op[2] * width),
                advance(v, op[3] * width),
                advance(v, op[4] * width),
            )
        elif kind == OUTPUT:
            numbers = op[3] * width
            factor = advance(at, numbers if op[4] else 0)
            elementwise.output(numbers, op[4] != 0, at, factor, advance(v, op[2] * width))
        elif kind == LSTM:
            numbers = op[6] * width
            cells.lstm(
                numbers,
                at,
                advance(at, numbers),
                advance(at, 2 * numbers),
                advance(at, 3 * numbers),
                advance(v, op[2] * width),
                advance(v, op[3] * width),
                advance(v, op[4] * width),
                advance(v, op[5] * width),
            )
        elif kind == GRU:
            numbers = op[4] * width
            cells.gru(
                numbers,
                at,
                advance(at, numbers),
                advance(at, 2 * numbers),
                advance(at, 3 * numbers),
                advance(v, op[2] * width),
                advance(v, op[3] * width),
            )


@inner
def run_back(
    operations: Any, count: int, width: int, weights: Any, v: Any, d: Any, penalty: Any
) -> None:
    """Turn gradients ``d`` of the results on rows ``v`` to those of what they came from.

    Rows of ``d`` are 0 where no gradient came from elsewhere; ``penalty`` is that of gates.
    """
    for index in range(count - 1, -1, -1):
        op = advance(operations, index * COLUMNS)
        kind, at, d_at = op[0], advance(v, op[1] * width), advance(d, op[1] * width)
        if kind == AFFINE:
            fan_in, skip = op[FAN_IN], op[SKIP]
            d_in = advance(d_at, skip * width)
            product(
                fan_in - skip,
                width,
                op[FAN_OUT],
                d_in,
                width,
                ONE,
                advance(weights, op[WEIGHT] + skip),
                ONE,
                fan_in,
                advance(d, op[OUT] * width),
                width,
                d_in,
                width,
            )
        elif kind == SQUASH:
            elementwise.squash_back(op[2] * width, at, d_at)
        elif kind == GATEL0RD:
            numbers = op[5] * width
            d_after = advance(d, op[3] * width)
            elementwise.move_back(
                numbers,
                op[6],
                at,
                advance(at, numbers),
                advance(v, op[2] * width),
                True,
                penalty,
                d_after,
                d_at,
                advance(d_at, numbers),
            )
            elementwise.add(numbers, advance(d, op[2] * width), d_after)
        elif kind == OUTPUT:
            numbers = op[3] * width
            second = numbers if op[4] else 0
            elementwise.output_back(
                numbers,
                op[4] != 0,
                at,
                advance(at, second),
                advance(d, op[2] * width),
                d_at,
                advance(d_at, second),
            )
        elif kind == LSTM:
            numbers = op[6] * width
            cells.lstm_back(
                numbers,
                at,
                advance(at, numbers),
                advance(at, 2 * numbers),
                advance(at, 3 * numbers),
                advance(v, op[2] * width),
                advance(v, op[4] * width),
                advance(d, op[5] * width),
                advance(d, op[3] * width),
                d_at,
                advance(d_at, numbers),
                advance(d_at, 2 * numbers),
                advance(d_at, 3 * numbers),
                advance(d, op[2] * width),
            )
        elif kind == GRU:
            numbers = op[4] * width
            cells.gru_back(
                numbers,
                at,
                advance(at, numbers),
                advance(at, 2 * numbers),
                advance(at, 3 * numbers),
                advance(v, op[2] * width),
                advance(d, op[3] * width),
                d_at,
                advance(d_at, numbers),
                advance(d_at, 2 * numbers),
                advance(d_at, 3 * numbers),
                advance(d, op[2] * width),
            )


@inner
def add_gradients(
    operations: Any,
    count: int,
    width: int,
    steps: int,
    rows: int,
    v: Any,
    d: Any,
    ones: Any,
    gradients: Any,
) -> None:
    """Add the gradients of weights and biases over steps, each of which has ``rows`` rows."""
    for index in range(count):
        op = advance(operations, index * COLUMNS)
        if op[0] == AFFINE:
            fan_in, fan_out, pitch = op[FAN_IN], op[FAN_OUT], rows * width
            of_weight, of_bias = advance(gradients, op[WEIGHT]), advance(gradients, op[BIAS])
            d_out, inputs = advance(d, op[OUT] * width), advance(v, op[IN] * width)
            add_outer_sums(
                fan_out, fan_in, steps, width, d_out, pitch, inputs, width, pitch, of_weight, fan_in
            )
            add_outer_sums(fan_out, ONE, steps, width, d_out, pitch, ones, ZERO, ZERO, of_bias, ONE)
