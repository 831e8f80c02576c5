"""The compiled functions that are called from Python: a sequence forward, and back.

What does not depend on the state is computed for a block of steps at once, in larger products; the
rest step after step. Arrays come as addresses, so that each function is compiled once.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from iap_gym._compiled.cache import checksum_of_sources, compiled, inner
from iap_gym._compiled.simd import address, advance, byte_pointer, float_pointer
from iap_gym.recurrent.compiled._elementwise import (
    add,
    move,
    move_back,
    output,
    output_back,
    squash,
    squash_back,
)
from iap_gym.recurrent.compiled._layers import (
    COLUMNS,
    Maps,
    add_bias_gradient,
    add_to_values,
    add_weight_gradient,
    map_of,
    pass_back,
    set_values,
    turn_weights,
)

SOURCES = checksum_of_sources(__file__)


class Sizes(NamedTuple):
    """Of a sequence and its cell."""

    time: int  # T
    batch: int  # B
    inputs: int  # I
    hidden: int  # H
    outputs: int  # O
    depth: int  # maps of g, and of r
    kind: int  # of the gates
    block: int  # steps of a block


@inner
def _copy(numbers: int, source: Any, target: Any) -> None:
    for at in range(numbers):
        target[at] = source[at]


@inner
def _reset(size: Any, mask: Any, t: int, source: Any, target: Any) -> None:
    """Copy states (B, H), zeros where they are reset before step t."""
    for row in range(size.batch):
        zero = mask[t * size.batch + row] != 0
        for at in range(row * size.hidden, (row + 1) * size.hidden):
            target[at] = np.float32(0.0) if zero else source[at]


@inner
def _forward(
    size: Any,
    maps: Any,
    kept: bool,
    x: Any,
    noisy: bool,
    noise: Any,
    masked: bool,
    mask: Any,
    states: Any,
    restarted: Any,
    y: Any,
    gates: Any,
) -> None:
    """Run forward from ``states[0]``.

    ``states``, ``restarted`` (states after resets) and the values of maps hold all steps if
    ``kept``, else those of a block; ``states`` holds one more than steps.
    """
    rows, numbers = size.batch, size.batch * size.hidden
    g, r = map_of(maps, size.depth - 1), map_of(maps, 2 * size.depth - 1)
    p, o = map_of(maps, 2 * size.depth), map_of(maps, maps.count - 1)
    multiplicative = maps.count > 2 * size.depth + 1
    for begin in range(0, size.time, size.block):
        steps = min(size.block, size.time - begin)
        slot = begin if kept else 0
        first, count = slot * rows, steps * rows
        inputs = advance(x, begin * rows * size.inputs)
        for net in range(2):
            set_values(map_of(maps, net * size.depth), first, count, inputs, size.inputs)
        for step in range(steps):
            t, here = begin + step, (slot + step) * rows
            before = advance(states, (slot + step) * numbers)
            after = advance(before, numbers)
            if masked:
                restart = advance(restarted, (slot + step) * numbers)
                _reset(size, mask, t, before, restart)
                before = restart
            for net in range(2):
                m = map_of(maps, net * size.depth)
                add_to_values(m, here, rows, before, size.hidden, size.inputs)
                for layer in range(1, size.depth):
                    hidden = advance(m.values, here * m.width)
                    squash(rows * m.width, hidden)
                    m = map_of(maps, net * size.depth + layer)
                    set_values(m, here, rows, hidden, m.fan_in)
            move(
                numbers,
                size.kind,
                noisy,
                advance(noise, t * numbers),
                advance(g.values, here * size.hidden),
                advance(r.values, here * size.hidden),
                before,
                after,
                advance(gates, t * numbers),
            )
        after = advance(states, (slot + 1) * numbers)
        for index in range(2 * size.depth, maps.count):
            m = map_of(maps, index)
            set_values(m, first, count, inputs, size.inputs)
            add_to_values(m, first, count, after, size.hidden, size.inputs)
        output(
            count * size.outputs,
            multiplicative,
            advance(p.values, first * size.outputs),
            advance(o.values, first * size.outputs),
            advance(y, begin * rows * size.outputs),
        )
        if not kept:
            _copy(numbers, advance(states, steps * numbers), states)


@inner
def _backward(
    size: Any,
    maps: Any,
    x: Any,
    masked: bool,
    mask: Any,
    states: Any,
    restarted: Any,
    listened: bool,
    dy: Any,
    penalized: bool,
    d_gates: Any,
    dh: Any,
    moved: bool,
    dx: Any,
    trained: bool,
    from_output: Any,
    zeros: Any,
    ones: Any,
) -> None:
    """Run back from the gradient ``dh`` of the last state to that of the first, in place.

    ``listened`` says whether there is dy, ``penalized`` whether there is ``d_gates``, ``moved``
    whether dx is wanted and ``trained`` whether gradients of weights or biases are.
    """
    rows, numbers, depth = size.batch, size.batch * size.hidden, size.depth
    g, r = map_of(maps, depth - 1), map_of(maps, 2 * depth - 1)
    p, o = map_of(maps, 2 * depth), map_of(maps, maps.count - 1)
    used = maps.count if listened else 2 * depth
    last_block = (size.time - 1) // size.block * size.block
    for begin in range(last_block, -1, -size.block):
        steps = min(size.block, size.time - begin)
        first, count = begin * rows, steps * rows
        if listened:
            output_back(
                count * size.outputs,
                maps.count > 2 * depth + 1,
                advance(p.values, first * size.outputs),
                advance(o.values, first * size.outputs),
                advance(dy, first * size.outputs),
                p.gradients,
                o.gradients,
            )
            start, pitch = zeros, 0
            for index in range(2 * depth, used):
                m = map_of(maps, index)
                pass_back(m, 0, count, size.inputs, start, pitch, from_output, size.hidden)
                start, pitch = from_output, size.hidden
        for step in range(steps - 1, -1, -1):
            t = begin + step
            here, there = t * rows, step * rows
            before = advance(restarted if masked else states, t * numbers)
            if listened:
                add(numbers, dh, advance(from_output, step * numbers))
            move_back(
                numbers,
                size.kind,
                advance(g.values, here * size.hidden),
                advance(r.values, here * size.hidden),
                before,
                penalized,
                advance(d_gates, t * numbers),
                dh,
                advance(g.gradients, there * size.hidden),
                advance(r.gradients, there * size.hidden),
            )
            for net in range(2):
                m = map_of(maps, (net + 1) * depth - 1)
                for layer in range(depth - 2, -1, -1):
                    lower = map_of(maps, net * depth + layer)
                    d = advance(lower.gradients, there * lower.width)
                    pass_back(m, there, rows, 0, zeros, 0, d, lower.width)
                    squash_back(rows * lower.width, advance(lower.values, here * lower.width), d)
                    m = lower
                pass_back(m, there, rows, size.inputs, dh, size.hidden, dh, size.hidden)
            if masked:
                _reset(size, mask, t, dh, dh)
        inputs = advance(x, first * size.inputs)
        if trained:
            before = advance(restarted if masked else states, begin * numbers)
            after = advance(states, (begin + 1) * numbers)
            for index in range(used):
                add_bias_gradient(maps, index, count, ones)
                if index < 2 * depth and index % depth > 0:
                    lower = map_of(maps, index - 1)
                    hidden = advance(lower.values, first * lower.width)
                    add_weight_gradient(maps, index, count, hidden, lower.width, 0)
                else:
                    state = before if index < 2 * depth else after
                    add_weight_gradient(maps, index, count, inputs, size.inputs, 0)
                    add_weight_gradient(maps, index, count, state, size.hidden, size.inputs)
        if moved:
            out = advance(dx, first * size.inputs)
            start, pitch = zeros, 0
            for index in range(used):
                if index >= 2 * depth or index % depth == 0:
                    m = map_of(maps, index)
                    pass_back(m, 0, count, 0, start, pitch, out, size.inputs)
                    start, pitch = out, size.inputs


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
        _copy(batch * hidden, float_pointer(first), state)
        turn_weights(maps)
        _forward(
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
        _copy(batch * hidden, end, float_pointer(last))

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
        _backward(
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
            float_pointer(zeros),
            float_pointer(ones),
        )

    return forward, backward


forward, backward = _entry_points(SOURCES)
