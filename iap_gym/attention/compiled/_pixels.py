"""Bytes of an image to floats, a block of ``LANES`` patches at a time."""

# pyright: basic

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from iap_gym._compiled.cache import inlined, inner
from iap_gym._compiled.simd import choose_lanes, element_address, intrinsic, load_at, store_at
from iap_gym.attention.compiled._simd import LANES, PART

PITCH = LANES + PART  # floats from one row of a block of pixels to the next
BLOCK_ROWS = 256  # numbers of a patch in such a block, or one row of the patch if that is more
LONGEST_STEP = 12  # of those that have a ``_copier``


class Layout(NamedTuple):
    """Where the bytes of the patches lie in an image."""

    image_bytes: int
    images: int
    columns: int  # patches in a row of the grid
    count: int  # N
    patch_rows: int
    run: int  # consecutive bytes: one row of a patch
    row_bytes: int  # from one row of a patch to the next
    row_step: int  # from one row of the grid to the next
    step: int  # from one patch to the next
    pixel_numbers: int  # room for a block of pixels


def layout_of(
    batch: int,
    image_shape: tuple[int, int, int],
    grid_shape: tuple[int, int],
    patch: tuple[int, int],
    stride: tuple[int, int],
) -> Layout:
    """Return the layout of a batch of images (H, W, C)."""
    height, width, channels = image_shape
    run = patch[1] * channels
    return Layout(
        image_bytes=height * width * channels,
        images=batch,
        columns=grid_shape[1],
        count=grid_shape[0] * grid_shape[1],
        patch_rows=patch[0],
        run=run,
        row_bytes=width * channels,
        row_step=stride[0] * width * channels,
        step=stride[1] * channels,
        pixel_numbers=(max(BLOCK_ROWS, run) + LONGEST_STEP) * PITCH,
    )


@intrinsic(prefer_literal=True)
def deinterleave(
    context: Any, out: Any, at: Any, pitch: Any, data: Any, base: Any, step: Any
) -> Any:
    """Set ``out[at + e·pitch + lane] = data[base + e + lane·step]``, bytes to floats.

    For all e below ``step``, a literal, and the first PART lanes.
    """
    if not isinstance(step, types.IntegerLiteral):
        return None
    length = step.literal_value

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, at, pitch, data, base, _ = args
        floats = ir.VectorType(ir.FloatType(), PART)
        row = ir.VectorType(ir.IntType(8), PART * length)
        address = element_address(builder, data, base, row)
        data = load_at(builder, address, align=1)
        for first in range(length):
            chosen = choose_lanes(builder, data, list(range(first, PART * length, length)))
            address = element_address(builder, out, at, floats)
            store_at(builder, builder.uitofp(chosen, floats), address)
            at = builder.add(at, pitch)
        return context.get_dummy_value()

    return types.none(out, types.intp, types.intp, data, types.intp, step), generate


def _copier(step: int) -> Any:
    """Return a function as ``_copy_bytes`` for one step between patches.

    It copies ``PART`` patches at a time. Lanes up to the next multiple of that, and ``step`` rows
    that follow, may be overwritten.
    """

    @inlined
    def copy(
        data: Any,
        base: int,
        _: int,
        row_bytes: int,
        run: int,
        rows: int,
        lanes: int,
        out: Any,
        at: int,
    ) -> None:
        for first in range(0, lanes, PART):
            to = at + first
            for row in range(rows):
                start = base + row * row_bytes + first * step
                for e in range(0, run, step):
                    deinterleave(out, to + e * PITCH, PITCH, data, start + e, step)
                to += run * PITCH

    return copy


@inner
def _copy_bytes(
    data: Any,
    base: int,
    step: int,
    row_bytes: int,
    run: int,
    rows: int,
    lanes: int,
    out: Any,
    at: int,
) -> None:
    """Set ``out[at + (row·run + e)·PITCH + lane] = data[base + row·row_bytes + lane·step + e]``.

    For rows of a patch, e < run and lanes.
    """
    for row in range(rows):
        for lane in range(lanes):
            for e in range(run):
                value = data[base + row * row_bytes + lane * step + e]
                out[at + (row * run + e) * PITCH + lane] = value


_copy_1, _copy_2, _copy_3, _copy_4 = _copier(1), _copier(2), _copier(3), _copier(4)
_copy_6, _copy_8, _copy_12 = _copier(6), _copier(8), _copier(12)


@inner
def pixel_block(
    data: Any, start: int, layout: Any, block: int, first: int, rows: int, out: Any
) -> None:
    """Set ``out[e·PITCH + lane]`` to pixels of a block of patches, of ``rows`` rows from ``first``.

    Lanes beyond the last patch repeat it.
    """
    lanes = min(LANES, layout.count - block)
    row = block // layout.columns
    column = block - row * layout.columns
    start += first * layout.row_bytes
    run, step, row_bytes = layout.run, layout.step, layout.row_bytes
    lane = 0
    while lane < lanes:  # patches that are neighbours in the image
        n = min(lanes - lane, layout.columns - column)
        base = start + row * layout.row_step + column * step
        reach = base + (rows - 1) * row_bytes + (n + PART) * step + run
        if reach > layout.images * layout.image_bytes:
            _copy_bytes(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 1:
            _copy_1(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 2:
            _copy_2(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 3:
            _copy_3(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 4:
            _copy_4(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 6:
            _copy_6(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 8:
            _copy_8(data, base, step, row_bytes, run, rows, n, out, lane)
        elif step == 12:
            _copy_12(data, base, step, row_bytes, run, rows, n, out, lane)
        else:
            _copy_bytes(data, base, step, row_bytes, run, rows, n, out, lane)
        lane += n
        row, column = row + 1, 0
    if lanes < LANES:
        for e in range(rows * run):
            for pad in range(lanes, LANES):
                out[e * PITCH + pad] = out[e * PITCH + lanes - 1]
