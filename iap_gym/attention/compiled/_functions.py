"""sin and cos of vectors, by polynomials fitted with the Remez algorithm.

Ranges are reduced with constants in two parts, of which the first has so few digits that its
products with the integers that occur are exact.
"""

# pyright: basic

from __future__ import annotations

from typing import Any

from iap_gym._compiled.cache import inner
from iap_gym._compiled.simd import SHIFTER, negated_if_odd


@inner
def sine_cosine(x: Any) -> Any:
    """Return sin x and cos x within 3e-7 of them, for x of at most 2000."""
    shifted = x * 0.3183098861837907 + SHIFTER  # x / pi, rounded
    n = shifted - SHIFTER
    x = n * -3.140625 + x
    x = n * -9.676535897931e-4 + x
    square = x * x
    p = square * 2.599903264e-6 + -0.0001980654711
    p = p * square + 0.008333016355
    p = p * square + -0.1666665706
    sine = p * (square * x) + x
    p = square * 2.319282802e-5 + -0.001385586258
    p = p * square + 0.04166398154
    p = p * square + -0.4999993203
    cosine = p * square + 1.0
    return negated_if_odd(sine, shifted), negated_if_odd(cosine, shifted)
