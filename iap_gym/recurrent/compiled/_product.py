"""Products of matrices, a tile of some rows and columns at a time that stays in registers."""

# pyright: basic

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core.datamodel import models
from numba.extending import register_model

from iap_gym._compiled.cache import ZERO, inner, variant
from iap_gym._compiled.simd import (
    FLAGS,
    VectorType,
    as_vector,
    element_address,
    intrinsic,
    load_at,
    store_at,
)

# Rows and columns of tiles. The widest takes 16 of the 32 registers of AVX-512, and would not fit
# the 16 of older processors; columns that are left over go into narrower ones.
ROWS = 8
WIDTHS = (32 if get_host_cpu_features().get("avx512f") else 8, 8, 1)


class TileType(types.Type):
    """The numba type of a tile: rows of a vector each."""

    def __init__(self, rows: int, columns: int, dtype: Any) -> None:
        self.rows, self.row = rows, VectorType(columns, dtype)
        super().__init__(name=f"{dtype}x{rows}x{columns}")


@register_model(TileType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: TileType) -> None:
        row = frontend_type.row.llvm
        super().__init__(manager, frontend_type, ir.ArrayType(row, frontend_type.rows))


def _loader(rows: int, columns: int, *, spread: bool = False) -> Any:
    @intrinsic
    def load_tile(context: Any, pointer: Any, at: Any, pitch: Any) -> Any:
        """Return the tile whose row i starts at ``pointer[at + i·pitch]``, or is filled with it."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer, at, pitch = args
            to = signature.return_type.row
            tile: Any = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
            for index in range(rows):
                what = to.llvm.element if spread else to.llvm
                row = load_at(builder, element_address(builder, pointer, at, what))
                if spread:
                    row = as_vector(builder, to.dtype, row, to)
                tile = builder.insert_value(tile, row, index)
                at = builder.add(at, pitch)
            return tile

        return TileType(rows, columns, pointer.dtype)(pointer, types.intp, types.intp), generate

    return load_tile


@intrinsic
def _store_tile(context: Any, pointer: Any, at: Any, pitch: Any, tile: Any) -> Any:
    """Set the numbers that ``load_tile`` would return."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, at, pitch, tile = args
        for index in range(tile.type.count):
            address = element_address(builder, pointer, at, tile.type.element)
            store_at(builder, builder.extract_value(tile, index), address)
            at = builder.add(at, pitch)
        return context.get_dummy_value()

    return types.none(pointer, types.intp, types.intp, tile), generate


@intrinsic
def _add_outer(context: Any, tile: Any, a: Any, a_at: Any, a_pitch: Any, b: Any, b_at: Any) -> Any:
    """Return the tile plus ``a[a_at + i·a_pitch] · b[b_at + j]`` in row i and column j."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        tile, a, at, pitch, b, b_at = args
        to = signature.return_type.row
        row = load_at(builder, element_address(builder, b, b_at, tile.type.element))
        for index in range(tile.type.count):
            number = load_at(builder, element_address(builder, a, at, to.llvm.element))
            factor = as_vector(builder, to.dtype, number, to)
            product = builder.fmul(factor, row, flags=FLAGS)
            total = builder.fadd(product, builder.extract_value(tile, index), flags=FLAGS)
            tile = builder.insert_value(tile, total, index)
            at = builder.add(at, pitch)
        return tile

    return tile(tile, a, types.intp, types.intp, b, types.intp), generate


def _columns(columns: int) -> Any:
    """Return a function that computes some columns of a product."""
    load_rows, load_row = _loader(ROWS, columns), _loader(1, columns)
    spread_rows = _loader(ROWS, columns, spread=True)
    spread_row = _loader(1, columns, spread=True)

    @variant(f"columns_{columns}")
    def compute(
        first: int,
        rows: int,
        depth: int,
        start: Any,
        start_pitch: int,
        start_step: int,
        a: Any,
        a_row: int,
        a_step: int,
        b: Any,
        b_pitch: int,
        c: Any,
        c_pitch: int,
    ) -> None:
        i = 0
        while i + ROWS <= rows:
            if start_step == 0:
                tile = spread_rows(start, i * start_pitch, start_pitch)
            else:
                tile = load_rows(start, i * start_pitch + first, start_pitch)
            a_at, b_at = i * a_row, first
            for _ in range(depth):
                tile = _add_outer(tile, a, a_at, a_row, b, b_at)
                a_at += a_step
                b_at += b_pitch
            _store_tile(c, i * c_pitch + first, c_pitch, tile)
            i += ROWS
        while i < rows:
            if start_step == 0:
                line = spread_row(start, i * start_pitch, start_pitch)
            else:
                line = load_row(start, i * start_pitch + first, start_pitch)
            a_at, b_at = i * a_row, first
            for _ in range(depth):
                line = _add_outer(line, a, a_at, a_row, b, b_at)
                a_at += a_step
                b_at += b_pitch
            _store_tile(c, i * c_pitch + first, c_pitch, line)
            i += 1

    return compute


_of_width = {width: _columns(width) for width in set(WIDTHS)}
_wide, _narrow, _single = (_of_width[width] for width in WIDTHS)


@inner
def product(
    rows: int,
    columns: int,
    depth: int,
    start: Any,
    start_pitch: int,
    start_step: int,
    a: Any,
    a_row: int,
    a_step: int,
    b: Any,
    b_pitch: int,
    c: Any,
    c_pitch: int,
) -> None:
    """Compute C = start + A B for pointers to float32, or all to float64.

    Args:
        rows: of A and C.
        columns: of B and C.
        depth: columns of A, rows of B.
        start: numbers that the product is added to; may be C itself.
        start_pitch: from one row of it to the next, 0 where all rows are the same.
        start_step: 1, or 0 where all columns are the same.
        a: A.
        a_row: from one row of A to the next.
        a_step: from one column of A to the next.
        b: B, whose columns lie side by side.
        b_pitch: from one row of B to the next.
        c: C, whose columns lie side by side.
        c_pitch: from one row of C to the next.
    """
    j = ZERO
    while j + WIDTHS[0] <= columns:
        _wide(
            j, rows, depth, start, start_pitch, start_step, a, a_row, a_step, b, b_pitch, c, c_pitch
        )  # fmt: skip
        j += WIDTHS[0]
    while j + WIDTHS[1] <= columns:
        _narrow(
            j, rows, depth, start, start_pitch, start_step, a, a_row, a_step, b, b_pitch, c, c_pitch
        )  # fmt: skip
        j += WIDTHS[1]
    while j < columns:
        _single(
            j, rows, depth, start, start_pitch, start_step, a, a_row, a_step, b, b_pitch, c, c_pitch
        )  # fmt: skip
        j += 1
