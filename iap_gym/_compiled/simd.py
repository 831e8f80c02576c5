"""Vectors of float32 or float64 for numba's functions, with the few operations that kernels need.

Loops over arrays are turned to vector instructions only where the compiler can prove much about
them. Here every operation is one LLVM instruction on all lanes of a vector, which LLVM splits into
registers of whatever width the machine has. A lane never depends on another, so that lanes that
are given the same numbers return the same. Functions written with these operations are compiled
for each number of lanes, and each type of numbers, that they are called with. Vectors are of the
numbers that they are loaded from; kernels run in float32, and in float64 where digits count more
than time.
"""

# numba has no type hints.
# pyright: basic

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core.datamodel import models
from numba.extending import lower_builtin, register_model, type_callable

# What it decorates has no context argument for its callers.
intrinsic: Any = extending.intrinsic

FLOAT, INT = ir.FloatType(), ir.IntType(32)
NUMBERS = {types.float32: FLOAT, types.float64: ir.DoubleType()}
# A product and a sum may become one instruction that rounds once; no order is changed.
FLAGS = ("contract",)


class VectorType(types.Type):
    """The numba type of a vector."""

    def __init__(self, lanes: int, dtype: Any = types.float32) -> None:
        self.lanes, self.dtype = lanes, dtype
        super().__init__(name=f"{dtype}x{lanes}")

    @property
    def llvm(self) -> ir.VectorType:
        """The type in LLVM."""
        return ir.VectorType(NUMBERS[self.dtype], self.lanes)


@register_model(VectorType)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, frontend_type: VectorType) -> None:
        super().__init__(manager, frontend_type, frontend_type.llvm)


def constant(value: float, lanes: int, element: ir.Type = FLOAT) -> ir.Constant:
    """Return a vector that is ``value`` in all lanes."""
    return ir.Constant(ir.VectorType(element, lanes), [value] * lanes)


def choose_lanes(builder: ir.IRBuilder, vector: Any, chosen: list[int]) -> Any:
    """Emit a vector of some elements of another."""
    mask = ir.Constant(ir.VectorType(INT, len(chosen)), chosen)
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


def as_vector(builder: ir.IRBuilder, kind: types.Type, value: Any, to: VectorType) -> Any:
    """Give a number to all lanes of a vector of type ``to``; vectors stay."""
    if isinstance(kind, VectorType):
        return value
    if kind != to.dtype:
        convert = builder.fptrunc if to.dtype == types.float32 else builder.fpext
        value = convert(value, to.llvm.element)
    empty = ir.Constant(to.llvm, ir.Undefined)
    return choose_lanes(builder, builder.insert_element(empty, value, INT(0)), [0] * to.lanes)


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


def _common(*kinds: types.Type) -> VectorType | None:
    """Return the one type of vector among types; None if there are two, or what is no number."""
    vectors = {kind for kind in kinds if isinstance(kind, VectorType)}
    others = {kind for kind in kinds if kind not in vectors}
    alike = len(vectors) == 1 and others <= {types.float32, types.float64}
    return vectors.pop() if alike else None


def _operator(function: Callable[..., Any], instruction: str) -> None:
    """Define an operator of two vectors, or of a vector and a number."""

    @type_callable(function)
    def type_of(context: Any) -> Any:
        def typer(a: Any, b: Any) -> Any:
            return _common(a, b)

        return typer

    def lower(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> Any:
        to, pairs = signature.return_type, zip(signature.args, args, strict=True)
        a, b = (as_vector(builder, *arg, to) for arg in pairs)
        return getattr(builder, instruction)(a, b, flags=FLAGS)

    lower_builtin(function, VectorType, VectorType)(lower)
    for number in (types.float32, types.float64):
        lower_builtin(function, VectorType, number)(lower)
        lower_builtin(function, number, VectorType)(lower)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


def vectors(lanes: int) -> tuple[Any, Any, Any]:
    """Return the functions ``vector``, ``load`` and ``spread`` for a number of lanes."""

    @intrinsic
    def vector(context: Any, number: Any) -> Any:
        """Return a vector of float32 that is ``number`` in all lanes."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return as_vector(builder, signature.args[0], args[0], signature.return_type)

        return VectorType(lanes)(number), generate

    @intrinsic
    def load(context: Any, pointer: Any, at: Any) -> Any:
        """Return ``pointer[at : at + lanes]``."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            llvm = signature.return_type.llvm
            return load_at(builder, element_address(builder, args[0], args[1], llvm))

        return VectorType(lanes, pointer.dtype)(pointer, types.intp), generate

    @intrinsic
    def spread(context: Any, pointer: Any, at: Any) -> Any:
        """Return ``pointer[at]`` in all lanes; unlike indexing in Python, ``at`` is not below 0."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to = signature.return_type
            number = load_at(builder, element_address(builder, args[0], args[1], to.llvm.element))
            return as_vector(builder, to.dtype, number, to)

        return VectorType(lanes, pointer.dtype)(pointer, types.intp), generate

    return vector, load, spread


@intrinsic
def store(context: Any, pointer: Any, at: Any, a: Any) -> Any:
    """Set ``pointer[at : at + lanes] = a``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        store_at(builder, args[2], element_address(builder, args[0], args[1], args[2].type))
        return context.get_dummy_value()

    return types.none(pointer, types.intp, a), generate


@intrinsic
def address(context: Any, array: Any) -> Any:
    """Return a pointer to the first number of an array, which something else has to keep alive.

    Arrays are reference-counted wherever they are passed on, which costs more than what a block
    of numbers does; pointers are not.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, args[0]).data

    return types.CPointer(array.dtype)(array), generate


def _pointer(element: types.Type, llvm: ir.Type) -> Any:
    @intrinsic
    def pointer(context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], llvm.as_pointer())

        return types.CPointer(element)(types.intp), generate

    return pointer


@intrinsic
def pointer_like(context: Any, array: Any, number: Any) -> Any:
    """Return a pointer to numbers of an array's type from an address in memory."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[1], context.get_value_type(signature.return_type))

    return types.CPointer(array.dtype)(array, types.intp), generate


# Pointers from addresses in memory, such as ``Tensor.data_ptr`` returns.
float_pointer = _pointer(types.float32, FLOAT)
byte_pointer = _pointer(types.uint8, ir.IntType(8))


@intrinsic
def advance(context: Any, pointer: Any, by: Any) -> Any:
    """Return a pointer to the number ``by`` after the one that ``pointer`` points to."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.gep(args[0], [args[1]])

    return pointer(pointer, types.intp), generate


def _choice(comparison: str) -> Any:
    @intrinsic
    def choose(context: Any, a: Any, b: Any) -> Any:
        kind = _common(a, b)
        if kind is None:
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pairs = zip(signature.args, args, strict=True)
            a, b = (as_vector(builder, *arg, signature.return_type) for arg in pairs)
            return builder.select(builder.fcmp_ordered(comparison, a, b), a, b)

        return kind(a, b), generate

    return choose


# Where one of the two is NaN, the second argument.
maximum = _choice(">")
minimum = _choice("<")


@intrinsic
def where_positive(context: Any, condition: Any, a: Any, b: Any) -> Any:
    """Return a where the condition is above 0, else b; b where it is NaN."""
    kind = _common(condition, a, b)
    if kind is None:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        to, pairs = signature.return_type, zip(signature.args, args, strict=True)
        condition, a, b = (as_vector(builder, *arg, to) for arg in pairs)
        zero = constant(0.0, to.lanes, to.llvm.element)
        positive = builder.fcmp_ordered(">", condition, zero)
        return builder.select(positive, a, b)

    return kind(condition, a, b), generate


def _bits(instruction: str, shift: int) -> Any:
    @intrinsic
    def change(context: Any, a: Any, shifted: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lanes = signature.return_type.lanes
            bits, whole = (builder.bitcast(arg, ir.VectorType(INT, lanes)) for arg in args)
            whole = builder.shl(whole, constant(shift, lanes, INT))
            changed = getattr(builder, instruction)(bits, whole)
            return builder.bitcast(changed, ir.VectorType(FLOAT, lanes))

        return a(a, shifted), generate

    return change


# Of an integer n + SHIFTER, a float whose low bits are those of n: a · 2^n, and a · (-1)^n.
SHIFTER = 1.5 * 2**23
times_power_of_two = _bits("add", 23)
negated_if_odd = _bits("xor", 31)
