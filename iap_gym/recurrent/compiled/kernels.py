"""The compiled functions that are called from Python: a sequence forward, and backward.

Arrays come as addresses, so that each function is compiled once for all.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from iap_gym._compiled.cache import checksum_of_sources, compiled
from iap_gym._compiled.simd import address, advance, byte_pointer, float_pointer
from iap_gym.recurrent.compiled._backward import run_backward
from iap_gym.recurrent.compiled._forward import copy, run_forward
from iap_gym.recurrent.compiled._layers import COLUMNS, Maps, turn_weights

SOURCES = checksum_of_sources(__file__)


class Sizes(NamedTuple):
    """Of a sequence and its cell, in the order of arguments."""

    time: int  # T
    batch: int  # B
    inputs: int  # I
    hidden: int  # H
    outputs: int  # O
    depth: int  # maps of g, and of r
    kind: int  # of the gates
    block: int  # steps of a block


def _entry_points(sources: int) -> tuple[Callable[..., Any], ...]:
    @compiled
    def forward(
        table: Any,
        time: int,
        batch: int,
        inputs: int,
        hidden: int,
        outputs: int,
        depth: int,
        kind: int,
        block: int,
        kept: bool,
        x: int,
        first: int,
        noise: int,
        mask: int,
        y: int,
        last: int,
        gates: int,
        turned: int,
        values: int,
        states: int,
        restarted: int,
    ) -> None:
        assert sources
        size = Sizes(time, batch, inputs, hidden, outputs, depth, kind, block)
        maps = Maps(
            address(table),
            table.size // COLUMNS,
            float_pointer(turned),
            float_pointer(values),
            (time if kept else block) * batch,
            float_pointer(values),
            0,
        )
        state = float_pointer(states)
        copy(batch * hidden, float_pointer(first), state)
        turn_weights(maps)
        run_forward(
            size,
            maps,
            kept,
            float_pointer(x),
            noise != 0,
            float_pointer(noise),
            mask != 0,
            byte_pointer(mask),
            state,
            float_pointer(restarted),
            float_pointer(y),
            float_pointer(gates),
        )
        end = advance(state, time * batch * hidden if kept else 0)
        copy(batch * hidden, end, float_pointer(last))

    @compiled
    def backward(
        table: Any,
        time: int,
        batch: int,
        inputs: int,
        hidden: int,
        outputs: int,
        depth: int,
        kind: int,
        block: int,
        trained: bool,
        x: int,
        mask: int,
        values: int,
        states: int,
        restarted: int,
        dy: int,
        d_gates: int,
        dh: int,
        dx: int,
        gradients: int,
        from_output: int,
        sums: int,
        zeros: int,
        ones: int,
    ) -> None:
        assert sources
        size = Sizes(time, batch, inputs, hidden, outputs, depth, kind, block)
        maps = Maps(
            address(table),
            table.size // COLUMNS,
            float_pointer(values),
            float_pointer(values),
            time * batch,
            float_pointer(gradients),
            block * batch,
        )
        run_backward(
            size,
            maps,
            float_pointer(x),
            mask != 0,
            byte_pointer(mask),
            float_pointer(states),
            float_pointer(restarted),
            dy != 0,
            float_pointer(dy),
            d_gates != 0,
            float_pointer(d_gates),
            float_pointer(dh),
            dx != 0,
            float_pointer(dx),
            trained,
            float_pointer(from_output),
            float_pointer(sums),
            float_pointer(zeros),
            float_pointer(ones),
        )

    return forward, backward


forward, backward = _entry_points(SOURCES)
