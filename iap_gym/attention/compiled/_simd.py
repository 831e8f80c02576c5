"""A vector of 64 float32 for numba's functions, with the few operations that kernels need.

Loops over arrays are turned to vector instructions only where the compiler can prove much about
them. Here the lanes of a vector are the patches of a block, and every operation is one LLVM
instruction on all of them, which LLVM splits into registers of whatever width the machine has.
A lane never depends on another, so that patches that look alike get the same numbers.
"""

# numba has no type hints.
# pyright: basic

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import lower_builtin, register_model, type_callable

# What it decorates has no context argument for its callers.
intrinsic: Any = extending.intrinsic

LANES = 64
PART = 16  # floats of an accumulator, to which the lanes of a vector are added in turn

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
# A product and a sum may become one instruction that rounds once; no order is changed.
_FLAGS = ("contract",)


class VectorType(types.Type):
    """The numba type of a vector."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


VECTOR = VectorType()


@register_model(VectorType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: VectorType) -> None:
        super().__init__(manager, frontend_type, _FLOATS)


def _constant(value: float, element: ir.Type = _FLOAT) -> ir.Constant:
    return ir.Constant(ir.VectorType(element, LANES), [value] * LANES)


def choose_lanes(builder: ir.IRBuilder, vector: Any, chosen: list[int]) -> Any:
    """Emit a vector of some elements of another."""
    mask = ir.Constant(ir.VectorType(_INT, len(chosen)), chosen)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def _as_vector(builder: ir.IRBuilder, kind: types.Type, value: Any) -> Any:
    """Give a number to all lanes; vectors stay."""
    if kind == VECTOR:
        return value
    if kind != types.float32:
        value = builder.fptrunc(value, _FLOAT)
    empty = ir.Constant(_FLOATS, ir.Undefined)
    return choose_lanes(builder, builder.insert_element(empty, value, _INT(0)), [0] * LANES)


def element_address(builder: ir.IRBuilder, pointer: Any, at: Any, to: ir.Type) -> Any:
    """Emit the address of ``pointer[at]``, as a pointer to another type."""
    return builder.bitcast(builder.gep(pointer, [at]), to.as_pointer())


def load_at(builder: ir.IRBuilder, address: Any, align: int = 4) -> Any:
    """Emit a load that needs no more than ``align``."""
    value: Any = builder.load(address)
    value.align = align
    return value


def store_at(builder: ir.IRBuilder, value: Any, address: Any) -> None:
    """Emit a store that needs no more alignment than that of a float."""
    instruction: Any = builder.store(value, address)
    instruction.align = 4


def _operator(function: Callable[..., Any], instruction: str) -> None:
    """Define an operator of two vectors, or of a vector and a number."""
    numbers = (types.float32, types.float64)

    @type_callable(function)
    def type_of(context: Any) -> Any:
        def typer(a: Any, b: Any) -> Any:
            if VECTOR in (a, b) and all(kind == VECTOR or kind in numbers for kind in (a, b)):
                return VECTOR
            return None

        return typer

    def lower(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        a, b = map(_as_vector, [builder] * 2, signature.args, args)
        return getattr(builder, instruction)(a, b, flags=_FLAGS)

    lower_builtin(function, VECTOR, VECTOR)(lower)
    for number in numbers:
        lower_builtin(function, VECTOR, number)(lower)
        lower_builtin(function, number, VECTOR)(lower)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


@intrinsic
def vector(context: Any, number: Any) -> Any:
    """Return a vector that is ``number`` in all lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _as_vector(builder, signature.args[0], args[0])

    return VECTOR(number), generate


@intrinsic
def address(context: Any, array: Any) -> Any:
    """Return a pointer to the first number of an array, which something else has to keep alive.

    Arrays are reference-counted wherever they are passed on, which costs more than what a block
    of patches does; pointers are not.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def advance(context: Any, pointer: Any, by: Any) -> Any:
    """Return a pointer to the number ``by`` after the one that ``pointer`` points to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.intp), generate


@intrinsic
def spread(context: Any, pointer: Any, at: Any) -> Any:
    """Return ``vector(pointer[at])``; unlike indexing in Python, ``at`` is not below 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = load_at(builder, element_address(builder, args[0], args[1], _FLOAT))
        return _as_vector(builder, types.float32, number)

    return VECTOR(pointer, types.intp), generate


@intrinsic
def load(context: Any, pointer: Any, at: Any) -> Any:
    """Return ``pointer[at : at + LANES]``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load_at(builder, element_address(builder, args[0], args[1], _FLOATS))

    return VECTOR(pointer, types.intp), generate


@intrinsic
def store(context: Any, pointer: Any, at: Any, a: Any) -> Any:
    """Set ``pointer[at : at + LANES] = a``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = element_address(builder, args[0], args[1], _FLOATS)
        store_at(builder, args[2], address)
        return context.get_dummy_value()

    return types.none(pointer, types.intp, a), generate


@intrinsic
def add_product(context: Any, pointer: Any, at: Any, a: Any, b: Any) -> Any:
    """Add a · b to ``pointer[at : at + PART]``, of which each number sums some of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to = ir.VectorType(_FLOAT, PART)
        address = element_address(builder, args[0], args[1], to)
        total = load_at(builder, address)
        for first in range(0, LANES, PART):
            part = list(range(first, first + PART))
            factors = [choose_lanes(builder, factor, part) for factor in args[2:]]
            total = builder.fadd(builder.fmul(*factors, flags=_FLAGS), total, flags=_FLAGS)
        store_at(builder, total, address)
        return context.get_dummy_value()

    return types.none(pointer, types.intp, a, b), generate


def _choice(comparison: str) -> Any:
    @intrinsic
    def choose(context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            a, b = map(_as_vector, [builder] * 2, signature.args, args)
            return builder.select(builder.fcmp_ordered(comparison, a, b), a, b)

        return VECTOR(a, b), generate

    return choose


maximum = _choice(">")
minimum = _choice("<")


@intrinsic
def sign(context: Any, a: Any) -> Any:
    """Return 1 where a is at least 0, else -1."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        positive = builder.fcmp_ordered(">=", args[0], _constant(0.0))
        return builder.select(positive, _constant(1.0), _constant(-1.0))

    return VECTOR(a), generate


@intrinsic
def inverse_length(context: Any, squares: Any) -> Any:
    """Return 1 / sqrt(squares), and 1 where squares are 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_FLOATS, [_FLOATS])
        name = f"llvm.sqrt.v{LANES}f32"
        root = cgutils.get_or_insert_function(builder.module, kind, name)
        positive = builder.fcmp_ordered(">", args[0], _constant(0.0))
        squares = builder.select(positive, args[0], _constant(1.0))
        return builder.fdiv(_constant(1.0), builder.call(root, [squares]))

    return VECTOR(squares), generate


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
        return builder.extract_element(rest, _INT(0))

    return types.float32(a), generate


def _bits(instruction: str, shift: int) -> Any:
    @intrinsic
    def change(context: Any, a: Any, shifted: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            bits, whole = (builder.bitcast(arg, _INTS) for arg in args)
            whole = builder.shl(whole, _constant(shift, _INT))
            return builder.bitcast(getattr(builder, instruction)(bits, whole), _FLOATS)

        return VECTOR(a, shifted), generate

    return change


# Of an integer n + SHIFTER, a float whose low bits are those of n: a · 2^n, and a · (-1)^n.
SHIFTER = 1.5 * 2**23
times_power_of_two = _bits("add", 23)
negated_if_odd = _bits("xor", 31)
