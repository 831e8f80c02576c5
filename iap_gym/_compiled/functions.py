"""exp, tanh and the logistic function of vectors.

In float32 they are polynomials fitted for the largest error; in float64 every lane is handed to the
C library, which is exact and slow. Ranges are reduced with constants in two parts, of which the
first has so few digits that its products with the integers that occur are exact.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

from iap_gym._compiled.cache import INNER, inner
from iap_gym._compiled.simd import (
    INT,
    SHIFTER,
    VectorType,
    intrinsic,
    maximum,
    minimum,
    times_power_of_two,
)

LARGEST_ARGUMENT = 87.0  # of exp; beyond it the result would leave the normal float32
SATURATED = 9.0  # tanh of more is 1 in float32


def _of_library(name: str) -> Any:
    """Return a function that hands the lanes of a vector to a function of the C library."""

    @intrinsic
    def call(context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to = signature.return_type
            number = to.llvm.element
            kind = ir.FunctionType(number, [number])
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            result = args[0]
            for lane in range(to.lanes):
                value = builder.call(function, [builder.extract_element(args[0], INT(lane))])
                result = builder.insert_element(result, value, INT(lane))
            return result

        return x(x), generate

    return call


_OPTIONS: Any = INNER  # numba's type for them does not know all


def _by_type(function: Callable[[Any], Any], single: Any, double: Any) -> None:
    """Let ``function`` be ``single`` of vectors of float32 and ``double`` of those of float64."""

    def of(chosen: Any, dtype: types.Type) -> Callable[[Any], Any]:
        def call(x: Any) -> Any:
            return chosen(x)

        call.__qualname__ = f"{function.__name__}_{dtype}"  # see ``variant``
        return call

    functions = {types.float32: of(single, types.float32), types.float64: of(double, types.float64)}

    @extending.overload(function, jit_options=_OPTIONS)
    def choose(x: Any) -> Any:
        return functions[x.dtype] if isinstance(x, VectorType) else None


@inner
def _exp(x: Any) -> Any:
    x = minimum(maximum(x, -LARGEST_ARGUMENT), LARGEST_ARGUMENT)
    shifted = x * 1.4426950408889634 + SHIFTER  # x / log 2, rounded
    n = shifted - SHIFTER
    x = n * -0.693145751953125 + x
    x = n * -1.4286068203094172e-06 + x
    p = x * 0.001381454018 + 0.008368745109
    p = p * x + 0.04166839078
    p = p * x + 0.166665204
    p = p * x + 0.4999999343
    p = p * x + 1.0
    p = p * x + 1.0
    return times_power_of_two(p, shifted)


@inner
def _tanh(x: Any) -> Any:
    x = minimum(SATURATED, maximum(-SATURATED, x))
    square = x * x
    p = square * 1.3419796682775205e-08 + 2.0661241707220432e-05
    p = p * square + 0.003498994697733268
    p = p * square + 0.13383979078165065
    p = p * square + 1.0
    q = square * 7.804718263397388e-07 + 0.0003291036194404684
    q = q * square + 0.02589020102393246
    q = q * square + 0.46717300560717884
    q = q * square + 1.0
    return minimum(1.0, maximum(-1.0, x * p / q))


@inner
def _logistic(x: Any) -> Any:
    x = minimum(LARGEST_ARGUMENT, maximum(-LARGEST_ARGUMENT, x))
    return 1.0 / (_exp(0.0 - x) + 1.0) + x * 0.0  # exp alone may turn NaN into a number


_library_exp = _of_library("exp")


@inner
def _library_logistic(x: Any) -> Any:
    return 1.0 / (_library_exp(0.0 - x) + 1.0)


def exp(x: Any) -> Any:
    """Return e^x; of float32 within 2e-7, relatively, with x clipped to +-LARGEST_ARGUMENT."""
    raise NotImplementedError("for compiled functions")


def tanh(x: Any) -> Any:
    """Return tanh x, of at most 1, of float32 within 4e-7, relatively; NaN stays NaN."""
    raise NotImplementedError("for compiled functions")


def logistic(x: Any) -> Any:
    """Return 1 / (1 + e^-x); of float32 within 4e-7, relatively, at least 1e-38; NaN stays NaN."""
    raise NotImplementedError("for compiled functions")


_by_type(exp, _exp, _library_exp)
_by_type(tanh, _tanh, _of_library("tanh"))
_by_type(logistic, _logistic, _library_logistic)
