"""A sequence forward.

What does not depend on the state is computed for a block of steps at once, in larger products; the
rest step after step.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from iap_gym._compiled.cache import inner
from iap_gym._compiled.simd import advance
from iap_gym.recurrent.compiled._elementwise import move, output, squash
from iap_gym.recurrent.compiled._layers import add_to_values, map_of, set_values


@inner
def copy(numbers: int, source: Any, target: Any) -> None:
    for at in range(numbers):
        target[at] = source[at]


@inner
def reset(size: Any, mask: Any, t: int, source: Any, target: Any) -> None:
    """Copy states (B, H), zeros where they are reset before step t."""
    for row in range(size.batch):
        zero = mask[t * size.batch + row] != 0
        for at in range(row * size.hidden, (row + 1) * size.hidden):
            target[at] = np.float32(0.0) if zero else source[at]


@inner
def run_forward(
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
                reset(size, mask, t, before, restart)
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
            copy(numbers, advance(states, steps * numbers), states)
