"""A sequence backward, block after block as it went forward."""

# pyright: basic

from __future__ import annotations

from typing import Any

from iap_gym._compiled.cache import inner
from iap_gym._compiled.simd import advance
from iap_gym.recurrent.compiled._elementwise import add, move_back, output_back, squash_back
from iap_gym.recurrent.compiled._forward import reset
from iap_gym.recurrent.compiled._layers import (
    add_bias_gradient,
    add_weight_gradient,
    map_of,
    pass_back,
)


@inner
def run_backward(
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
    sums: Any,
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
                reset(size, mask, t, dh, dh)
        inputs = advance(x, first * size.inputs)
        if trained:
            before = advance(restarted if masked else states, begin * numbers)
            after = advance(states, (begin + 1) * numbers)
            for index in range(used):
                add_bias_gradient(maps, index, count, ones, zeros, sums)
                if index < 2 * depth and index % depth > 0:
                    lower = map_of(maps, index - 1)
                    hidden = advance(lower.values, first * lower.width)
                    add_weight_gradient(maps, index, count, hidden, lower.width, 0, zeros, sums)
                else:
                    state = before if index < 2 * depth else after
                    add_weight_gradient(maps, index, count, inputs, size.inputs, 0, zeros, sums)
                    add_weight_gradient(
                        maps, index, count, state, size.hidden, size.inputs, zeros, sums
                    )
        if moved:
            out = advance(dx, first * size.inputs)
            start, pitch = zeros, 0
            for index in range(used):
                if index >= 2 * depth or index % depth == 0:
                    m = map_of(maps, index)
                    pass_back(m, 0, count, 0, start, pitch, out, size.inputs)
                    start, pitch = out, size.inputs
