"""The compiled functions that are called from Python: scores of images, and the best of them.

Uint8 is read once: the pass over queries also keeps the keys, in blocks of ``LANES`` patches, and
the second pass reads those. Features exist for one block and one sample at a time.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iap_gym._compiled.cache import checksum_of_sources, compiled, inner
from iap_gym._compiled.simd import address, advance, maximum, store
from iap_gym.attention.compiled import _projection
from iap_gym.attention.compiled._estimate import estimate, sample_pointers
from iap_gym.attention.compiled._pixels import Layout
from iap_gym.attention.compiled._projection import Weights, pointers, project, shared_room
from iap_gym.attention.compiled._simd import LANES, PART, add_product, largest, load, vector
from iap_gym.attention.compiled._sums import FLUSH_BLOCKS, flush, query_weights

SOURCES = checksum_of_sources(__file__)


def relu_room(layout: Layout, weights: Weights) -> tuple[int, int]:
    """Return how many float32 and float64 ``relu`` takes."""
    return shared_room(layout, weights) + weights.size * PART, weights.size


@inner
def _relu(
    data: Any, layout: Any, weights: Any, r: Any, learnt: bool, room: Any, totals: Any, out: Any
) -> None:
    size, count = weights.size, layout.count
    blocks = (count + LANES - 1) // LANES
    projected = room
    row = advance(projected, weights.width * LANES)
    partial = advance(row, LANES)
    pixels = advance(partial, size * PART)
    keys = advance(pixels, layout.pixel_numbers)
    for image in range(layout.images):
        for k in range(size * PART):
            partial[k] = np.float32(0.0)
        for k in range(size):
            totals[k] = 0.0
        for index in range(blocks):
            block = index * LANES
            project(data, image * layout.image_bytes, layout, block, weights, pixels, projected)
            weight = query_weights(r, learnt, block, count, row)
            for k in range(size):
                query = maximum(load(projected, k * LANES), 0.0)
                add_product(partial, k * PART, query, weight)
                key = maximum(load(projected, (size + k) * LANES), 0.0)
                store(keys, block * size + k * LANES, key)
            if (index + 1) % FLUSH_BLOCKS == 0 or index == blocks - 1:
                flush(partial, totals, size)
        for block in range(0, count, LANES):
            score = vector(0.0)
            for k in range(size):
                score = load(keys, block * size + k * LANES) * totals[k] + score
            store(out, image * count + block, score)


@inner
def _best(scores: Any, images: int, count: int, wanted: int) -> Any:
    indices = np.empty((images, wanted), np.int64)
    values = np.empty(wanted, np.float32)
    for image in range(images):
        values[:] = -np.inf
        chosen = indices[image]
        for block in range(0, count, LANES):
            first, last = image * count + block, image * count + min(block + LANES, count)
            if last - first == LANES and largest(load(scores, first)) <= values[wanted - 1]:
                continue
            for at in range(first, last):
                score = scores[at]
                # Strictly: of equal scores the first stays before those that come later.
                if score > values[wanted - 1]:
                    place = wanted - 1
                    while place > 0 and values[place - 1] < score:
                        values[place], chosen[place] = values[place - 1], chosen[place - 1]
                        place -= 1
                    values[place], chosen[place] = score, at - image * count
    return indices


def _entry_points(sources: int) -> tuple[Callable[..., Any], ...]:
    @compiled
    def fold(
        query: Any, key: Any, query_bias: Any, key_bias: Any, factor: float, offset: float
    ) -> Any:
        assert sources
        return _projection.fold(query, key, query_bias, key_bias, factor, offset)

    @compiled
    def relu(
        data: Any, layout: Any, weights: Any, r: Any, room: Any, totals: Any, out: Any
    ) -> None:
        assert sources
        _relu(
            address(data),
            layout,
            pointers(weights),
            address(r),
            r.size > 0,
            address(room),
            address(totals),
            address(out),
        )

    @compiled
    def estimated(
        data: Any,
        layout: Any,
        weights: Any,
        r: Any,
        samples: Any,
        room: Any,
        totals: Any,
        out: Any,
        fits: Any,
    ) -> None:
        assert sources
        mass = np.abs(r).sum() if r.size else np.float64(layout.count)
        estimate(
            address(data),
            layout,
            pointers(weights),
            address(r),
            r.size > 0,
            mass,
            sample_pointers(samples),
            address(room),
            address(totals),
            address(out),
            fits,
        )

    @compiled
    def best(scores: Any, images: int, count: int, wanted: int) -> Any:
        assert sources
        return _best(address(scores), images, count, wanted)

    return fold, relu, estimated, best


fold, relu, estimated, best = _entry_points(SOURCES)
