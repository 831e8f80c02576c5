"""The vectors of scores: their lanes are the patches of a block, so that these never mix."""

# pyright: basic

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from iap_gym._compiled.simd import (
    FLAGS,
    FLOAT,
    INT,
    choose_lanes,
    constant,
    element_address,
    intrinsic,
    load_at,
    store_at,
    vectors,
)

LANES = 64
PART = 16  # floats of an accumulator, to which the lanes of a vector are added in turn

vector, load, spread = vectors(LANES)


@intrinsic
def add_product(context: Any, pointer: Any, at: Any, a: Any, b: Any) -> Any:
    """Add a · b to ``pointer[at : at + PART]``, of which each number sums some of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = ir.VectorType(FLOAT, PART)
        address = element_address(builder, args[0], args[1], to)
        total = load_at(builder, address)
        for first in range(0, LANES, PART):
            part = list(range(first, first + PART))
            factors = [choose_lanes(builder, factor, part) for factor in args[2:]]
            total = builder.fadd(builder.fmul(*factors, flags=FLAGS), total, flags=FLAGS)
        store_at(builder, total, address)
        return context.get_dummy_value()

    return types.none(pointer, types.intp, a, b), generate


@intrinsic
def sign(context: Any, a: Any) -> Any:
    """Return 1 where a is at least 0, else -1."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positive = builder.fcmp_ordered(">=", args[0], constant(0.0, LANES))
        return builder.select(positive, constant(1.0, LANES), constant(-1.0, LANES))

    return a(a), generate


@intrinsic
def inverse_length(context: Any, squares: Any) -> Any:
    """Return 1 / sqrt(squares), and 1 where squares are 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        floats, one = args[0].type, constant(1.0, LANES)
        kind = ir.FunctionType(floats, [floats])
        root = cgutils.get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{LANES}f32")
        positive = builder.fcmp_ordered(">", args[0], constant(0.0, LANES))
        squares = builder.select(positive, args[0], one)
        return builder.fdiv(one, builder.call(root, [squares]))

    return squares(squares), generate


@intrinsic
def largest(context: Any, a: Any) -> Any:
    """Return the largest number of a vector."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rest = args[0]
        while rest.type.count > 1:
            half = rest.type.count // 2
            low = choose_lanes(builder, rest, list(range(half)))
            high = choose_lanes(builder, rest, list(range(half, 2 * half)))
            rest = builder.select(builder.fcmp_ordered(">", low, high), low, high)
        return builder.extract_element(rest, INT(0))

    return types.float32(a), generate
