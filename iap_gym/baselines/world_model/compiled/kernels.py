"""The compiled function that is called from Python: a batch of sequences, forward and back."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iap_gym._compiled.cache import ZERO, checksum_of_sources, compiled, inner
from iap_gym._compiled.simd import address, advance, byte_pointer, pointer_like
from iap_gym.baselines.world_model.compiled import _loop as loop
from iap_gym.baselines.world_model.compiled._loop import SUMS, Array, fill
from iap_gym.baselines.world_model.compiled.builder import AFTER, COUNT, PLACE, STATE_COLUMNS
from iap_gym.recurrent.compiled import kernels as recurrent_kernels

SOURCES = checksum_of_sources(__file__, recurrent_kernels.__file__)
PIECE = 7  # columns of the table of pieces: address, gradient's, rows, columns, pitch, to, pitch


@inner
def pack_weights(like: Any, pieces: Any, count: int, weights: Any) -> None:
    """Add the pieces of parameters up where the operations look for them."""
    for index in range(count):
        piece = advance(pieces, index * PIECE)
        source, to = pointer_like(like, piece[0]), advance(weights, piece[5])
        for row in range(piece[2]):
            for column in range(piece[3]):
                to[row * piece[6] + column] += source[row * piece[4] + column]


@inner
def unpack_gradients(like: Any, pieces: Any, count: int, gradients: Any) -> None:
    """Set the gradients of parameters."""
    for index in range(count):
        piece = advance(pieces, index * PIECE)
        source, to = advance(gradients, piece[5]), pointer_like(like, piece[1])
        for row in range(piece[2]):
            for column in range(piece[3]):
                to[row * piece[4] + column] = source[row * piece[6] + column]


@inner
def array(like: Any, strided: Any) -> Any:
    """Return a strided array of numbers."""
    pointer = pointer_like(like, strided[0])
    return Array(strided[0] != 0, pointer, strided[1], strided[2], strided[3])


def _entry_point(sources: int) -> Callable[..., Any]:
    @compiled
    def run(
        memory: Any,
        size: Any,
        scale: float,
        factor: float,
        penalty_factor: float,
        operations: Any,
        prelude: Any,
        states: Any,
        pieces: Any,
        observations: Any,
        actions: Any,
        real: Any,
        noise: Any,
        state: Any,
        predictions: Any,
        gates: Any,
        last: Any,
        packed: int,
        sums: Any,
    ) -> None:
        assert sources
        # one room after the other
        weights = address(memory)
        gradients = advance(weights, packed)
        totals = advance(gradients, packed)
        ones = advance(totals, 2 * SUMS)
        penalty = advance(ones, size.width)
        p = advance(penalty, max(size.gates, 1) * size.width)
        room = advance(p, size.prelude_rows * size.width)
        block = size.block if size.training else 0
        widest = max(size.rows, size.prelude_rows)
        rows = 2 * size.observations + (1 + block) * widest
        values = advance(room, rows * size.width)
        fill(2 * packed + 2 * SUMS, weights, 0.0)
        pack_weights(memory, address(pieces), pieces.shape[0], weights)
        seen, moves, drawn = (
            array(memory, observations),
            array(memory, actions),
            array(memory, noise),
        )
        begun, ended = array(memory, state), array(memory, last)
        told, opened = array(memory, predictions), array(memory, gates)
        chosen = Array(real[0] != 0, byte_pointer(real[0]), real[1], real[2], real[3])
        of_step, of_prelude, table = address(operations), address(prelude), address(states)
        first = ZERO
        while first < size.batch:
            columns = min(size.width, size.batch - first)
            width = (columns + 15) // 16 * 16
            loop.begin(
                size, of_prelude, table, first, columns, width, seen, moves, begun, weights, p,
                values,
            )  # fmt: skip
            loop.forward(
                size, scale, of_step, table, first, columns, width, seen, moves, chosen, drawn,
                told, opened, weights, values, advance(totals, SUMS),
            )  # fmt: skip
            if ended.there:
                pitch = size.rows * width if size.training else 0
                v = advance(values, (size.time - 1) * pitch)
                for index in range(size.states):
                    part = advance(table, index * STATE_COLUMNS)
                    to = advance(ended.pointer, part[PLACE] * ended.feature)
                    moved = Array(True, to, 0, ended.batch, ended.feature)
                    at = advance(v, part[AFTER] * width)
                    loop.unpack(moved, ZERO, first, columns, part[COUNT], width, at)
            if size.training:
                fill(width, ones, 1.0)
                for row in range(size.gates):
                    fill(columns, advance(penalty, row * width), penalty_factor)
                    fill(width - columns, advance(penalty, row * width + columns), 0.0)
                loop.backward(
                    size, scale, factor, of_step, of_prelude, table, first, columns, width, seen,
                    weights, p, values, penalty, ones, room, gradients, totals,
                )  # fmt: skip
            first += columns
        if size.training:
            unpack_gradients(memory, address(pieces), pieces.shape[0], gradients)
        for index in range(2 * SUMS):
            sums[index // SUMS] += totals[index]

    return run


run = _entry_point(SOURCES)
