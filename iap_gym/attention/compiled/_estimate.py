r"""Scores of the estimated kernels: positive, trigonometric, and hybrid, which is made of both.

The hybrid features of a patch are 3m features t times 1 + r signs g. With the sums over queries
:math:`M_{fs} = \sum_i r_i t_f(q_i) g_s(q_i)` and the sign c of eq. 9, a score is
:math:`\sum_s g_s(k) \sum_f c_{fs} M_{fs} t_f(k)`, so that the 3m(1 + r) are never formed.
"""

# pyright: basic

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from iap_gym._compiled.cache import inner
from iap_gym._compiled.functions import exp
from iap_gym._compiled.simd import address, advance, maximum, minimum, store
from iap_gym.attention.compiled._functions import sine_cosine
from iap_gym.attention.compiled._pixels import Layout
from iap_gym.attention.compiled._projection import Weights, project, shared_room
from iap_gym.attention.compiled._simd import (
    LANES,
    PART,
    add_product,
    largest,
    load,
    sign,
    spread,
    vector,
)
from iap_gym.attention.compiled._sums import FLUSH_BLOCKS, flush, query_weights
from iap_gym.attention.projection import LARGEST_CANCELLATION


class Samples(NamedTuple):
    """Of an estimated kernel; arrays, or pointers when compiled."""

    omega: Any  # float32 (m, d)
    xi: Any  # float32 (r, d)
    count: int  # m
    signs: int  # r, 0 but for the hybrid kernel
    waves: bool  # whether there are trigonometric features
    positive: bool  # whether there are positive features


@inner
def sample_pointers(samples: Any) -> Any:
    """Return samples with pointers instead of the arrays."""
    omega, xi = address(samples.omega), address(samples.xi)
    return Samples(omega, xi, samples.count, samples.signs, samples.waves, samples.positive)


KINDS = 3  # features of a sample: sine, cosine, positive

# Where a bound on the logarithm of a sum is above the first, or all scores are below the second,
# float32 may not hold what is summed; where a phase is above the third, not its digits.
LARGEST_LOG = 80.0
SMALLEST_SCORE = 1e-25
LARGEST_PHASE = 2000.0


@inner
def _dot(z: Any, size: int, directions: Any, index: int) -> Any:
    """Return ``directions[index] · z`` of a block of z, (d, LANES) flat."""
    total = vector(0.0)
    for k in range(size):
        total = load(z, k * LANES) * spread(directions, index * size + k) + total
    return total


@inner
def _half_square(z: Any, size: int) -> Any:
    """Return |z|²/2."""
    total = vector(0.0)
    for k in range(size):
        x = load(z, k * LANES)
        total = x * x + total
    return total * 0.5


@inner
def _features(phase: Any, half: Any, growth: Any, samples: Any) -> Any:
    """Return the features of one sample, without 1/sqrt(m); those that are not asked for are 0."""
    sine, cosine, power = vector(0.0), vector(0.0), vector(0.0)
    if samples.waves:
        sine, cosine = sine_cosine(phase)
        sine, cosine = sine * growth, cosine * growth
    if samples.positive:
        power = exp(phase - half)
    return sine, cosine, power


@inner
def _add_queries(
    queries: Any, size: int, samples: Any, weight: Any, rows: Any, partial: Any
) -> Any:
    """Add a block of queries to the sums M; returns |q|²/2."""
    half = _half_square(queries, size)
    growth = exp(half)
    store(rows, 0, weight)
    for s in range(samples.signs):
        store(rows, (s + 1) * LANES, sign(_dot(queries, size, samples.xi, s)) * weight)
    at = 0
    for j in range(samples.count):
        phase = _dot(queries, size, samples.omega, j)
        sine, cosine, power = _features(phase, half, growth, samples)
        for s in range(samples.signs + 1):
            row = load(rows, s * LANES)
            if samples.waves:
                add_product(partial, at, sine, row)
                add_product(partial, at + PART, cosine, row)
            if samples.positive:
                add_product(partial, at + 2 * PART, power, row)
            at += KINDS * PART
    return half


@inner
def _coefficients(totals: Any, samples: Any, result: Any) -> None:
    """Set result to c M / m, and half of it for the hybrid kernel; (m, 1 + r, KINDS) flat."""
    rows = samples.signs + 1
    scale = 1 / (samples.count * min(rows, 2))
    for at in range(samples.count * rows * KINDS):
        factor = scale
        if at // KINDS % rows > 0:
            factor /= samples.signs
            if at % KINDS == 2:
                factor = -factor  # the minus of eq. 9, on the side of the keys alone
        result[at] = np.float32(totals[at] * factor)


@inner
def _score_keys(keys: Any, size: int, samples: Any, coefficients: Any, rows: Any) -> Any:
    """Return the scores of a block of keys, the sums of their absolute terms, and |k|²/2."""
    half = _half_square(keys, size)
    growth = exp(half)
    for s in range(samples.signs + 1):
        store(rows, s * LANES, vector(0.0))
    c = 0
    for j in range(samples.count):
        phase = _dot(keys, size, samples.omega, j)
        sine, cosine, power = _features(phase, half, growth, samples)
        for s in range(samples.signs + 1):
            total = load(rows, s * LANES)
            if samples.waves:
                total = sine * spread(coefficients, c) + total
                total = cosine * spread(coefficients, c + 1) + total
            if samples.positive:
                total = power * spread(coefficients, c + 2) + total
            store(rows, s * LANES, total)
            c += KINDS
    score = load(rows, 0)
    terms = maximum(score, vector(0.0) - score)
    for s in range(samples.signs):
        part = load(rows, (s + 1) * LANES)
        score = sign(_dot(keys, size, samples.xi, s)) * part + score
        terms = maximum(part, vector(0.0) - part) + terms
    return score, terms, half


@inner
def _fits(
    query_half: float,
    key_half: float,
    size: int,
    samples: Any,
    mass: float,
    top: float,
    terms: float,
) -> bool:
    """Say whether float32 held everything.

    Of an image: the largest |q|²/2 and |k|²/2, the sum of absolute r, the largest absolute score,
    and the largest sum of absolute terms that make a score.
    """
    direction = 0.0
    for j in range(samples.count):
        square = 0.0
        for k in range(size):
            square += np.float64(samples.omega[j * size + k]) ** 2
        direction = max(direction, math.sqrt(square))
    query, key = math.sqrt(2 * query_half), math.sqrt(2 * key_half)
    bound = 0.0
    if samples.waves:
        bound = query_half + key_half
    if samples.positive:  # w·z - |z|²/2 is at most |w|²/2, and at most |w||z|
        most = direction**2 / 2
        bound = max(bound, min(most, direction * query) + min(most, direction * key))
    return (
        bound + math.log(max(mass, 1.0)) <= LARGEST_LOG
        and direction * max(query, key) <= LARGEST_PHASE
        and top >= SMALLEST_SCORE
        and terms <= LARGEST_CANCELLATION * top
    )


def estimate_room(layout: Layout, weights: Weights, samples: Samples) -> tuple[int, int]:
    """Return how many float32 and float64 ``estimate`` takes."""
    rows = samples.signs + 1
    numbers = samples.count * rows * KINDS
    return shared_room(layout, weights) + rows * LANES + 2 * numbers * PART, numbers


@inner
def estimate(
    data: Any,
    layout: Any,
    weights: Any,
    r: Any,
    learnt: bool,
    mass: float,
    samples: Any,
    room: Any,
    totals: Any,
    out: Any,
    fits: Any,
) -> None:
    """Compute scores of images; arrays are pointers, but for ``fits``.

    Args:
        data: uint8, images one after the other.
        layout: where the patches of an image lie.
        weights: of queries and keys.
        r: float32 (N,) if ``learnt``, else ones are meant.
        learnt: whether r is used.
        mass: the sum of absolute r.
        samples: of the kernel.
        room: float32, ``estimate_room`` of them.
        totals: room for float64 sums.
        out: float32 (B·N + LANES,); scores of the images one after the other, then room.
        fits: bool (B,), set to whether float32 could hold the numbers of an image; where it could
            not, its scores are of no use.
    """
    size, count = weights.size, layout.count
    blocks = (count + LANES - 1) // LANES
    numbers = samples.count * (samples.signs + 1) * KINDS
    projected = room
    row = advance(projected, weights.width * LANES)
    rows = advance(row, LANES)
    partial = advance(rows, (samples.signs + 1) * LANES)
    coefficients = advance(partial, numbers * PART)
    pixels = advance(coefficients, numbers * PART)
    keys = advance(pixels, layout.pixel_numbers)
    for image in range(layout.images):
        for k in range(numbers * PART):
            partial[k] = np.float32(0.0)
        for k in range(numbers):
            totals[k] = 0.0
        query_half = key_half = top = bottom = most = vector(0.0)
        for index in range(blocks):
            block = index * LANES
            project(data, image * layout.image_bytes, layout, block, weights, pixels, projected)
            for k in range(size):
                store(keys, block * size + k * LANES, load(projected, (size + k) * LANES))
            weight = query_weights(r, learnt, block, count, row)
            half = _add_queries(projected, size, samples, weight, rows, partial)
            query_half = maximum(query_half, half)
            if (index + 1) % FLUSH_BLOCKS == 0 or index == blocks - 1:
                flush(partial, totals, numbers)
        _coefficients(totals, samples, coefficients)
        for block in range(0, count, LANES):
            block_keys = advance(keys, block * size)
            score, terms, half = _score_keys(block_keys, size, samples, coefficients, rows)
            most = maximum(most, terms)
            key_half = maximum(key_half, half)
            top, bottom = maximum(top, score), minimum(bottom, score)
            store(out, image * count + block, score)
        extreme = max(largest(top), largest(vector(0.0) - bottom))
        halves = largest(query_half), largest(key_half)
        fits[image] = _fits(halves[0], halves[1], size, samples, mass, extreme, largest(most))
