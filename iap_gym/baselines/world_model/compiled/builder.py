"""What a program is written with: rows, maps whose weights lie together, and operations.

A step of a batch is a block of rows, one row for each number that the network holds, and a row has
that number of every sequence. An operation reads some rows and writes others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

# Kinds of operations. Columns that follow the kind in the table of operations:
AFFINE = 0  # IN, FAN_IN, OUT, FAN_OUT, WEIGHT, BIAS, SKIP
SQUASH = 1  # row, rows
GATEL0RD = 2  # s and r, state before, state after, gates, H, kind of the gates, first of the noise
OUTPUT = 3  # p and o, y, O, whether there is o
LSTM = 4  # i, f, g and o, c before, c after, tanh(c after), state after, H
GRU = 5  # r, z, n of the input and n of the state, state before, state after, H
COLUMNS = 9
IN, FAN_IN, OUT, FAN_OUT, WEIGHT, BIAS, SKIP = range(1, 8)

# Columns of the table of parts of the state: rows before and after a step, how many they are, the
# row of f_init's result or -1, and the first number in the core's state.
BEFORE, AFTER, COUNT, CHOSEN, PLACE = range(5)
STATE_COLUMNS = 5


class Piece(NamedTuple):
    """Part of a parameter, and where the kernels have it."""

    parameter: Tensor
    first: int  # number in the parameter
    rows: int
    columns: int
    pitch: int  # from one row to the next
    to: int  # number in the packed weights
    to_pitch: int


class Builder:
    """Hands out rows and places of weights, and notes operations."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.packed = 0
        self.begin()

    def begin(self) -> None:
        """Begin another table of operations."""
        self.rows = 0
        self.operations: list[list[int]] = []

    def room(self, rows: int) -> int:
        """Return the first of some new rows."""
        first = self.rows
        self.rows += rows
        return first

    def note(self, *numbers: int) -> None:
        """Note an operation."""
        self.operations.append([*numbers, *[0] * (COLUMNS - len(numbers))])

    def table(self) -> NDArray[np.int64]:
        """Return the operations noted since ``begin``."""
        return np.array(self.operations, np.int64).reshape(-1, COLUMNS)

    def affine(
        self, at: int, fan_in: int, out: int, parts: Sequence[Sequence[Part]], skip: int = 0
    ) -> None:
        """Note a map from the rows at ``at`` to those at ``out``.

        ``parts`` are its maps one below the other, each the sum of parts that lie side by side;
        the first ``skip`` rows that it takes need no gradient.
        """
        fan_out = sum(line[0].rows for line in parts)
        weight, bias = self.packed, self.packed + fan_out * fan_in
        self.packed = bias + fan_out
        down = 0
        for line in parts:
            along = 0
            for part in line:
                pitch = part.weight.shape[1]
                first = part.row * pitch + part.column
                to = weight + down * fan_in + along
                shape = part.rows, part.columns, pitch
                self.pieces.append(Piece(part.weight, first, *shape, to, fan_in))
                if part.bias is not None:
                    shape = 1, part.rows, part.rows
                    self.pieces.append(Piece(part.bias, part.row, *shape, bias + down, part.rows))
                along += part.columns
            assert along == fan_in, "a map takes what its parts take"
            down += line[0].rows
        self.note(AFFINE, at, fan_in, out, fan_out, weight, bias, skip)

    def linear(self, layer: nn.Linear, at: int, out: int, skip: int = 0) -> None:
        """Note one of torch's maps."""
        self.affine(at, layer.in_features, out, [[whole(layer)]], skip)

    def tanh_layers(self, layers: Sequence[nn.Linear], at: int, out: int, skip: int = 0) -> None:
        """Note maps with a tanh after each; the last result goes to ``out``."""
        for layer in layers:
            to = out if layer is layers[-1] else self.room(layer.out_features)
            self.linear(layer, at, to, skip)
            self.note(SQUASH, to, layer.out_features)
            at, skip = to, 0


class Part(NamedTuple):
    """Columns of some rows of a weight, with those rows of a bias."""

    weight: Tensor
    row: int
    rows: int
    column: int
    columns: int
    bias: Tensor | None


def whole(layer: nn.Linear) -> Part:
    """Return all of a map."""
    return Part(layer.weight, 0, layer.out_features, 0, layer.in_features, layer.bias)


def turned(layer: nn.Linear, first: int) -> list[Part]:
    """Return a map of [first; second] as one of [second; first]."""
    rows, columns = layer.out_features, layer.in_features - first
    return [
        Part(layer.weight, 0, rows, first, columns, layer.bias),
        Part(layer.weight, 0, rows, 0, first, None),
    ]


def linears(layers: Iterable[nn.Module]) -> list[nn.Linear]:
    """Return the affine maps among layers."""
    return [layer for layer in layers if isinstance(layer, nn.Linear)]
