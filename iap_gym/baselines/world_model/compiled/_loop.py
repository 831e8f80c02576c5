"""The loop over steps around a program: inputs, feedback, loss, and their gradients.

A step's input is what was observed, or the model's own prediction. Columns beyond the batch hold
finite numbers that nothing is summed over.
"""

# pyright: basic

from __future__ import annotations

from typing import Any, NamedTuple

from iap_gym._compiled.cache import ONE, ZERO, inner
from iap_gym._compiled.simd import advance
from iap_gym.baselines.world_model.compiled._cells import (
    add_scaled,
    add_up,
    assign,
    choose,
    errors,
)
from iap_gym.baselines.world_model.compiled._operations import add_gradients, run, run_back
from iap_gym.baselines.world_model.compiled.builder import (
    AFTER,
    BEFORE,
    CHOSEN,
    COLUMNS,
    COUNT,
    GATEL0RD,
    PLACE,
    STATE_COLUMNS,
)
from iap_gym.recurrent.compiled._elementwise import add

SUMS = 32  # lanes of a sum at most, the widest that elementwise loops take


class Sizes(NamedTuple):
    """Integers of a call."""

    time: int  # T
    batch: int  # B
    width: int  # columns that are computed at a time, a multiple of 16
    block: int  # steps whose gradients of weights are computed at a time
    actions: int
    observations: int
    context: int  # inputs that f_init sees, 0 without it
    given: int  # first steps with an observation
    operations: int
    preludes: int
    states: int  # parts of the state
    rows: int
    prelude_rows: int
    output: int  # rows of a step
    prediction: int
    real: int
    noise: int
    gates: int  # how many; 0 where the core has none
    training: int  # 0 or 1


class Array(NamedTuple):
    """Numbers somewhere in memory: 0, or a pointer, and steps between neighbours."""

    there: bool
    pointer: Any
    time: int
    batch: int
    feature: int


@inner
def fill(count: int, to: Any, number: float) -> None:
    """Set numbers to one."""
    for at in range(count):
        to[at] = number


@inner
def pack(array: Any, t: int, first: int, columns: int, rows: int, width: int, to: Any) -> None:
    """Copy some sequences of a step into rows, which end with zeros."""
    for row in range(rows):
        at = t * array.time + first * array.batch + row * array.feature
        for column in range(columns):
            to[row * width + column] = array.pointer[at + column * array.batch]
        for column in range(columns, width):
            to[row * width + column] = 0


@inner
def unpack(array: Any, t: int, first: int, columns: int, rows: int, width: int, v: Any) -> None:
    """Copy rows to some sequences of a step."""
    for row in range(rows):
        at = t * array.time + first * array.batch + row * array.feature
        for column in range(columns):
            array.pointer[at + column * array.batch] = v[row * width + column]


@inner
def begin(
    size: Any,
    prelude: Any,
    states: Any,
    first: int,
    columns: int,
    width: int,
    observations: Any,
    actions: Any,
    state: Any,
    weights: Any,
    p: Any,
    v: Any,
) -> None:
    """Choose the state before the first step, whose rows are ``v``; f_init's are ``p``."""
    if size.context > 0 and not state.there:
        each = (size.actions + size.observations) * width
        for t in range(size.context):
            at = advance(p, t * each)
            pack(actions, t, first, columns, size.actions, width, at)
            at = advance(at, size.actions * width)
            pack(observations, t, first, columns, size.observations, width, at)
        run(prelude, size.preludes, width, weights, p, ZERO > 0, p)
    for index in range(size.states):
        part = advance(states, index * STATE_COLUMNS)
        numbers, to = part[COUNT] * width, advance(v, part[BEFORE] * width)
        if state.there:
            at = advance(state.pointer, part[PLACE] * state.feature)
            moved = Array(True, at, 0, state.batch, state.feature)
            pack(moved, ZERO, first, columns, part[COUNT], width, to)
        elif size.context > 0:
            assign(numbers, advance(p, part[CHOSEN] * width), to)
        else:
            fill(numbers, to, 0.0)


@inner
def forward(
    size: Any,
    scale: float,
    operations: Any,
    states: Any,
    first: int,
    columns: int,
    width: int,
    observations: Any,
    actions: Any,
    real: Any,
    noise: Any,
    predictions: Any,
    gates: Any,
    weights: Any,
    values: Any,
    sums: Any,
) -> None:
    """Run all steps; each has rows of its own in training, otherwise all the same."""
    pitch = size.rows * width if size.training else 0
    numbers = size.observations * width
    for t in range(size.time):
        v = advance(values, t * pitch)
        before = advance(v, -pitch if t > 0 else 0)
        if t > 0:
            for index in range(size.states):
                part = advance(states, index * STATE_COLUMNS)
                old, new = advance(before, part[AFTER] * width), advance(v, part[BEFORE] * width)
                assign(part[COUNT] * width, old, new)
        pack(actions, t, first, columns, size.actions, width, v)
        seen, own = advance(v, size.actions * width), advance(before, size.prediction * width)
        mask = advance(v, size.real * width)
        if t >= size.given:
            assign(numbers, own, seen)
            fill(width, mask, 0.0)
        elif t == 0 or not real.there:
            pack(observations, t, first, columns, size.observations, width, seen)
            fill(width, mask, 1.0)
        else:
            for column in range(columns):
                at = t * real.time + (first + column) * real.batch
                mask[column] = 1 if real.pointer[at] else 0
            fill(width - columns, advance(mask, columns), 0.0)
            # the rows of the output are free until the operations have run
            room = advance(v, size.output * width)
            pack(observations, t, first, columns, size.observations, width, room)
            for row in range(size.observations):
                at = row * width
                choose(width, mask, advance(room, at), advance(own, at), advance(seen, at))
        drawn = advance(v, size.noise * width)
        if noise.there:
            pack(noise, t, first, columns, size.gates, width, drawn)
        run(operations, size.operations, width, weights, v, noise.there, drawn)
        prediction = advance(v, size.prediction * width)
        add_scaled(numbers, seen, scale, advance(v, size.output * width), prediction)
        if predictions.there:
            unpack(predictions, t, first, columns, size.observations, width, prediction)
        for index in range(size.operations if size.gates > 0 else 0):
            op = advance(operations, index * COLUMNS)
            if op[0] == GATEL0RD:
                opened = advance(v, op[4] * width)
                if gates.there:
                    at = advance(gates.pointer, op[7] * gates.feature)
                    moved = Array(True, at, gates.time, gates.batch, gates.feature)
                    unpack(moved, t, first, columns, op[5], width, opened)
                for row in range(op[5]):
                    add_up(columns, advance(opened, row * width), sums)


@inner
def backward(
    size: Any,
    scale: float,
    factor: float,
    operations: Any,
    prelude: Any,
    states: Any,
    first: int,
    columns: int,
    width: int,
    observations: Any,
    weights: Any,
    p: Any,
    values: Any,
    penalty: Any,
    ones: Any,
    room: Any,
    gradients: Any,
    sums: Any,
) -> None:
    """Run all steps back and add to the gradients of weights and to the sum of squared errors."""
    pitch, numbers = size.rows * width, size.observations * width
    feedback = room
    target = advance(room, numbers)
    carried = advance(room, 2 * numbers)
    d_values = advance(carried, size.rows * width)
    fill(numbers, feedback, 0.0)
    fill(pitch, carried, 0.0)
    last_block = (size.time - 1) // size.block * size.block
    for start in range(last_block, -1, -size.block):
        steps = min(size.block, size.time - start)
        for step in range(steps - 1, -1, -1):
            t = start + step
            v, d = advance(values, t * pitch), advance(d_values, step * pitch)
            fill(pitch, d, 0.0)
            for index in range(size.states):
                part = advance(states, index * STATE_COLUMNS)
                to = advance(d, part[AFTER] * width)
                assign(part[COUNT] * width, advance(carried, part[BEFORE] * width), to)
            # prediction = input + scale · output, compared with the next observation
            of_prediction = advance(d, size.prediction * width)
            assign(numbers, feedback, of_prediction)
            pack(observations, t + 1, first, columns, size.observations, width, target)
            for row in range(size.observations):
                at = row * width
                predicted = advance(v, size.prediction * width + at)
                out = advance(of_prediction, at)
                errors(columns, predicted, advance(target, at), factor, out, sums)
            seen, zero = advance(d, size.actions * width), advance(d, size.output * width)
            assign(numbers, of_prediction, seen)
            add_scaled(numbers, zero, scale, of_prediction, zero)
            run_back(operations, size.operations, width, weights, v, d, penalty)
            for index in range(size.states):
                part = advance(states, index * STATE_COLUMNS)
                to = advance(carried, part[BEFORE] * width)
                assign(part[COUNT] * width, advance(d, part[BEFORE] * width), to)
            mask = advance(v, size.real * width)
            zeros = advance(d, size.real * width)
            for row in range(size.observations):
                at = row * width
                choose(width, mask, zeros, advance(seen, at), advance(feedback, at))
        v = advance(values, start * pitch)
        add_gradients(
            operations, size.operations, width, steps, size.rows, v, d_values, ones, gradients
        )
    if size.context > 0:
        fill(size.prelude_rows * width, d_values, 0.0)
        for index in range(size.states):
            part = advance(states, index * STATE_COLUMNS)
            to = advance(d_values, part[CHOSEN] * width)
            add(part[COUNT] * width, to, advance(carried, part[BEFORE] * width))
        run_back(prelude, size.preludes, width, weights, p, d_values, penalty)
        add_gradients(prelude, size.preludes, width, ONE, ZERO, p, d_values, ones, gradients)
