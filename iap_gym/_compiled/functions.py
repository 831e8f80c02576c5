"""exp, tanh and the logistic function of vectors, by polynomials fitted for the largest error.

Ranges are reduced with constants in two parts, of which the first has so few digits that its
products with the integers that occur are exact.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

from iap_gym._compiled.cache import inner
from iap_gym._compiled.simd import SHIFTER, maximum, minimum, times_power_of_two

LARGEST_ARGUMENT = 87.0  # of exp; beyond it the result would leave the normal float32
SATURATED = 9.0  # tanh of more is 1 in float32


@inner
def exp(x: Any) -> Any:
    """Return e^x within 2e-7 of it, relatively; x is clipped to +-LARGEST_ARGUMENT."""
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
def tanh(x: Any) -> Any:
    """Return tanh x within 4e-7 of it, relatively, of at most 1; NaN stays NaN."""
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
def logistic(x: Any) -> Any:
    """Return 1 / (1 + e^-x) within 4e-7 of it, relatively, and at least 1e-38; NaN stays NaN."""
    x = minimum(LARGEST_ARGUMENT, maximum(-LARGEST_ARGUMENT, x))
    return 1.0 / (exp(0.0 - x) + 1.0) + x * 0.0  # exp alone may turn NaN into a number
