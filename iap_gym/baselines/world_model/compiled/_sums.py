"""Products of matrices whose rows both lie along the sequences: sums over these, and over steps.

A tile of the result is held in registers, a vector for each of its numbers, whose lanes are summed
at the end.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils

from iap_gym._compiled.cache import ZERO, inner, variant
from iap_gym._compiled.simd import FLAGS, element_address, intrinsic, load_at, store_at
from iap_gym.recurrent.compiled._product import TileType

WIDE = get_host_cpu_features().get("avx512f")
LANES = 16 if WIDE else 8
ROWS, COLUMNS = 4, 4 if WIDE else 2  # of a tile


def _tile(rows: int, columns: int) -> tuple[Any, Any, Any]:
    @intrinsic
    def nothing(context: Any, pointer: Any) -> Any:
        """Return a tile of zeros."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(context.get_value_type(signature.return_type), None)

        return TileType(rows * columns, LANES, pointer.dtype)(pointer), generate

    @intrinsic
    def add_products(
        context: Any, tile: Any, a: Any, a_at: Any, a_pitch: Any, b: Any, b_at: Any, b_pitch: Any
    ) -> Any:
        """Add the products of each row of a with each row of b."""

        def vectors(builder: Any, to: Any, rows: Any, count: int) -> Any:
            pointer, at, pitch = rows
            for _ in range(count):
                yield load_at(builder, element_address(builder, pointer, at, to))
                at = builder.add(at, pitch)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tile, to = args[0], args[0].type.element
            right = list(vectors(builder, to, args[4:], columns))
            for i, left in enumerate(vectors(builder, to, args[1:4], rows)):
                for j, other in enumerate(right):
                    index = i * columns + j
                    product = builder.fmul(left, other, flags=FLAGS)
                    total = builder.extract_value(tile, index)
                    total = builder.fadd(product, total, flags=FLAGS)
                    tile = builder.insert_value(tile, total, index)
            return tile

        where = types.intp, types.intp
        return tile(tile, a, *where, b, *where), generate

    @intrinsic
    def collect(context: Any, tile: Any, pointer: Any, at: Any, pitch: Any) -> Any:
        """Add the sum of the lanes of each vector to its number of the result."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tile, pointer, at, pitch = args
            vector = tile.type.element
            number, bits = vector.element, signature.args[0].row.dtype.bitwidth
            kind = ir.FunctionType(number, [number, vector])
            name = f"llvm.vector.reduce.fadd.v{LANES}f{bits}"
            reduce = cgutils.get_or_insert_function(builder.module, kind, name)
            for i in range(rows):
                for j in range(columns):
                    lanes = builder.extract_value(tile, i * columns + j)
                    total = builder.call(reduce, [number(0.0), lanes], fastmath=("reassoc",))
                    where = builder.add(at, at.type(j))
                    address = element_address(builder, pointer, where, number)
                    store_at(builder, builder.fadd(load_at(builder, address), total), address)
                at = builder.add(at, pitch)
            return context.get_dummy_value()

        return types.none(tile, pointer, types.intp, types.intp), generate

    return nothing, add_products, collect


def _block(rows: int, columns: int) -> Any:
    nothing, add_products, collect = _tile(rows, columns)

    @variant(f"sums_{rows}_{columns}")
    def compute(
        i: int,
        j: int,
        steps: int,
        width: int,
        a: Any,
        a_step: int,
        b: Any,
        b_pitch: int,
        b_step: int,
        c: Any,
        c_pitch: int,
    ) -> None:
        tile = nothing(a)
        for step in range(steps):
            a_at, b_at = i * width + step * a_step, j * b_pitch + step * b_step
            for _ in range(width // LANES):
                tile = add_products(tile, a, a_at, width, b, b_at, b_pitch)
                a_at += LANES
                b_at += LANES
        collect(tile, c, i * c_pitch + j, c_pitch)

    return compute


_whole, _tall = _block(ROWS, COLUMNS), _block(ROWS, 1)
_long, _single = _block(1, COLUMNS), _block(1, 1)


@inner
def add_outer_sums(
    rows: int,
    columns: int,
    steps: int,
    width: int,
    a: Any,
    a_step: int,
    b: Any,
    b_pitch: int,
    b_step: int,
    c: Any,
    c_pitch: int,
) -> None:
    """Add to C the sum over steps of A B^T, for pointers to float32 or all to float64.

    Args:
        rows: of A and C.
        columns: of C, rows of B.
        steps: how many of A and B are summed up.
        width: columns of A and B, a multiple of 16; from one row of A to the next.
        a: A of the first step.
        a_step: from one step of it to the next.
        b: B of the first step.
        b_pitch: from one row of it to the next, 0 where all rows are the same.
        b_step: from one step of it to the next.
        c: C.
        c_pitch: from one row of it to the next.
    """
    i = ZERO
    while i + ROWS <= rows:
        j = ZERO
        while j + COLUMNS <= columns:
            _whole(i, j, steps, width, a, a_step, b, b_pitch, b_step, c, c_pitch)
            j += COLUMNS
        while j < columns:
            _tall(i, j, steps, width, a, a_step, b, b_pitch, b_step, c, c_pitch)
            j += 1
        i += ROWS
    while i < rows:
        j = ZERO
        while j + COLUMNS <= columns:
            _long(i, j, steps, width, a, a_step, b, b_pitch, b_step, c, c_pitch)
            j += COLUMNS
        while j < columns:
            _single(i, j, steps, width, a, a_step, b, b_pitch, b_step, c, c_pitch)
            j += 1
        i += 1
