"""A world model as a list of operations on rows, which the kernels carry out.

Rows are so ordered that what a map takes lies together: the state before, the input, for GateL0RD
also the state after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from iap_gym.baselines.world_model.compiled.builder import (
    GATEL0RD,
    GRU,
    LSTM,
    OUTPUT,
    SQUASH,
    Builder,
    Part,
    Piece,
    linears,
    turned,
    whole,
)
from iap_gym.recurrent import Core, GateL0RDCell, GateL0RDCore

if TYPE_CHECKING:
    from iap_gym.baselines.world_model.model import WorldModel

GATES = {"retanh": 0, "heaviside": 1, "sigmoid": 2}  # as the recurrent kernels number them


class Program(NamedTuple):
    """Everything that the kernels need to know of a model but its numbers."""

    operations: NDArray[np.int64]  # (n, COLUMNS), of a step
    prelude: NDArray[np.int64]  # (m, COLUMNS), of f_init
    states: NDArray[np.int64]  # (s, STATE_COLUMNS)
    pieces: tuple[Piece, ...]
    packed: int  # numbers of all weights and biases
    rows: int  # of a step
    prelude_rows: int
    first_output: int  # row of f_post's result
    first_prediction: int
    first_real: int  # row that says which inputs are real
    first_noise: int
    gates: int  # all of a step


class _Rows(NamedTuple):
    """Where a layer of the core has its numbers."""

    before: int
    x: int  # right after ``before``; of GateL0RD the state after follows
    after: int
    inputs: int
    hidden: int


def build(model: WorldModel) -> Program:
    """Write down what a model does in a step, and before the first."""
    core, builder = model.core, Builder()
    prelude, prelude_rows, chosen = _prelude(model, builder)
    builder.begin()
    builder.room(model.action_size + model.obs_size)
    hidden, inputs = core.hidden_size, core.input_size
    gated = isinstance(core, GateL0RDCore)
    layers: list[_Rows] = []
    for _ in range(core.num_layers):
        before, x = builder.room(hidden), builder.room(inputs)
        layers.append(_Rows(before, x, builder.room(hidden) if gated else -1, inputs, hidden))
        inputs = core.output_size
    y = builder.room(core.output_size)
    targets = [*[layer.x for layer in layers[1:]], y]
    first_noise = builder.room(core.num_layers * hidden if gated else 0)
    builder.tanh_layers(linears(model.f_pre), 0, layers[0].x, model.action_size)
    states: list[tuple[int, int, int, int, int]] = []
    for index, (rows, target) in enumerate(zip(layers, targets, strict=True)):
        pairs = _layer(core, index, rows, target, builder)
        for part, (before, after) in enumerate(pairs):
            row = chosen[index] + part * hidden if chosen else -1
            states.append((before, after, hidden, row, index * core.state_size + part * hidden))
    output, prediction = builder.room(model.obs_size), builder.room(model.obs_size)
    builder.linear(model.f_post, y, output)
    real = builder.room(1)
    return Program(
        builder.table(),
        prelude,
        np.array(states, np.int64),
        tuple(builder.pieces),
        builder.packed,
        builder.rows,
        prelude_rows,
        output,
        prediction,
        real,
        first_noise,
        core.num_layers * hidden if gated else 0,
    )


def _prelude(model: WorldModel, builder: Builder) -> tuple[NDArray[np.int64], int, list[int]]:
    """Note f_init; return its operations, how many rows it has, and that of each result."""
    context, chosen = model.f_init, list[int]()
    if context is not None:
        builder.room(context.num_inputs * context.input_size)
        for network in context.layers:
            assert isinstance(network, nn.Sequential)
            maps = linears(network)
            chosen.append(builder.room(maps[-1].out_features))
            builder.tanh_layers(maps, 0, chosen[-1], maps[0].in_features)
    return builder.table(), builder.rows, chosen


def _layer(
    core: Core, index: int, rows: _Rows, target: int, builder: Builder
) -> list[tuple[int, int]]:
    """Note a layer of a core; return where each part of its state is before and after a step."""
    if isinstance(core, GateL0RDCore):
        cell = core.gatel0rd.cells[index]
        assert isinstance(cell, GateL0RDCell)
        return _gatel0rd(cell, index, rows, target, builder)
    return {"lstm": _lstm, "gru": _gru, "elman": _elman}[core.name](
        core, index, rows, target, builder
    )


def _gatel0rd(
    cell: GateL0RDCell, index: int, rows: _Rows, target: int, builder: Builder
) -> list[tuple[int, int]]:
    joined, hidden = rows.inputs + rows.hidden, rows.hidden
    g, r = linears(cell.g), linears(cell.r)
    width = g[0].out_features
    at = builder.room(2 * width)
    first = [turned(layer, rows.inputs) for layer in (g[0], r[0])]
    builder.affine(rows.before, joined, at, first)
    for below, above in zip(g[1:], r[1:], strict=True):
        builder.note(SQUASH, at, 2 * width)
        to = builder.room(2 * below.out_features)
        builder.linear(below, at, to)
        builder.linear(above, at + width, to + below.out_features)
        at, width = to, below.out_features
    gates = builder.room(hidden)
    kind, noise = GATES[cell.gate], index * hidden
    builder.note(GATEL0RD, at, rows.before, rows.after, gates, hidden, kind, noise)
    size, factors = cell.output_size, [cell.p] if cell.o is None else [cell.p, cell.o]
    at = builder.room(len(factors) * size)
    builder.affine(rows.x, joined, at, [[whole(factor)] for factor in factors])
    builder.note(OUTPUT, at, target, size, len(factors) > 1)
    return [(rows.before, rows.after)]


def _parameters(core: Core, index: int) -> list[Tensor]:
    """Return weights of input and state, biases of input and state, of one of torch's layers."""
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [getattr(core.network, f"{name}_l{index}") for name in names]


def _line(parameters: Sequence[Tensor], row: int, rows: int) -> list[Part]:
    """Return some rows of one of torch's layers as a map of [state; input]."""
    of_input, of_state, bias, other_bias = parameters
    return [
        Part(of_state, row, rows, 0, of_state.shape[1], other_bias),
        Part(of_input, row, rows, 0, of_input.shape[1], bias),
    ]


def _lstm(
    core: Core, index: int, rows: _Rows, target: int, builder: Builder
) -> list[tuple[int, int]]:
    hidden = rows.hidden
    at, memory = builder.room(4 * hidden), builder.room(3 * hidden)
    line = _line(_parameters(core, index), 0, 4 * hidden)
    builder.affine(rows.before, hidden + rows.inputs, at, [line])
    builder.note(LSTM, at, memory, memory + hidden, memory + 2 * hidden, target, hidden)
    return [(rows.before, target), (memory, memory + hidden)]


def _gru(
    core: Core, index: int, rows: _Rows, target: int, builder: Builder
) -> list[tuple[int, int]]:
    hidden, parameters = rows.hidden, _parameters(core, index)
    at = builder.room(4 * hidden)
    builder.affine(rows.before, hidden + rows.inputs, at, [_line(parameters, 0, 2 * hidden)])
    of_state, of_input = _line(parameters, 2 * hidden, hidden)
    builder.affine(rows.x, rows.inputs, at + 2 * hidden, [[of_input]])
    builder.affine(rows.before, hidden, at + 3 * hidden, [[of_state]])
    builder.note(GRU, at, rows.before, target, hidden)
    return [(rows.before, target)]


def _elman(
    core: Core, index: int, rows: _Rows, target: int, builder: Builder
) -> list[tuple[int, int]]:
    line = _line(_parameters(core, index), 0, rows.hidden)
    builder.affine(rows.before, rows.hidden + rows.inputs, target, [line])
    builder.note(SQUASH, target, rows.hidden)
    return [(rows.before, target)]
