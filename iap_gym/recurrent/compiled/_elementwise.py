"""What happens to each number alone: gates, states and outputs, and their gradients.

Every function here is called with a count and then with what its inner function takes after ``at``.
Arguments named like arrays are pointers to so many numbers; some are changed in place.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iap_gym._compiled.cache import variant
from iap_gym._compiled.functions import logistic, tanh
from iap_gym._compiled.simd import maximum, store, vectors, where_positive

WIDE = 32  # numbers taken at once; what is left over is taken one by one
RETANH, HEAVISIDE, SIGMOID = range(3)  # kinds of gates


def for_all(make: Callable[[Any], Callable[..., None]]) -> Any:
    """Return a loop over the function that ``make`` returns for a ``load``."""
    name = make.__name__
    wide, single = (variant(f"{name}_{lanes}")(make(vectors(lanes)[1])) for lanes in (WIDE, 1))

    @variant(f"{name}_loop")
    def loop(count: int, *arguments: Any) -> None:
        at = 0
        while at + WIDE <= count:
            wide(at, *arguments)
            at += WIDE
        while at < count:
            single(at, *arguments)
            at += 1

    return loop


@for_all
def move(load: Any) -> Callable[..., None]:
    """Move the state: s to Λ in ``update``, the argument of the last tanh to its value in ``r``."""

    def step(
        at: int,
        kind: int,
        noisy: bool,
        noise: Any,
        update: Any,
        r: Any,
        before: Any,
        after: Any,
        gates: Any,
    ) -> None:
        s = load(update, at)
        if noisy:
            s = s + load(noise, at)
        if kind == RETANH:
            moved = maximum(0.0, tanh(s))
            opened = where_positive(moved, 1.0, moved)  # NaN stays
        elif kind == HEAVISIDE:
            moved = opened = where_positive(s, 1.0, 0.0) + (s - s)
        else:
            moved = opened = logistic(s)
        target, h = tanh(load(r, at)), load(before, at)
        store(update, at, moved)
        store(r, at, target)
        way = target - h  # h + Λ (r - h), so written that Λ = 0 and Λ = 1 are exact
        h = where_positive(moved - 0.5, target - way * (1.0 - moved), moved * way + h)
        store(after, at, h)
        store(gates, at, opened)

    return step


@for_all
def move_back(load: Any) -> Callable[..., None]:
    """Gradients ``dh`` of the new state to those of the old one, of s and of r's last argument."""

    def step(
        at: int,
        kind: int,
        update: Any,
        r: Any,
        before: Any,
        penalized: bool,
        d_gates: Any,
        dh: Any,
        ds: Any,
        dr: Any,
    ) -> None:
        moved, target, d = load(update, at), load(r, at), load(dh, at)
        d_moved = d * (target - load(before, at))
        if penalized:
            d_moved = d_moved + load(d_gates, at)
        if kind == RETANH:
            d_moved = where_positive(moved, d_moved * (1.0 - moved * moved), moved * 0.0)
        elif kind == SIGMOID:
            d_moved = d_moved * (moved * (1.0 - moved))
        store(ds, at, d_moved)
        store(dr, at, d * moved * (1.0 - target * target))
        store(dh, at, d - d * moved)

    return step


@for_all
def squash(load: Any) -> Callable[..., None]:
    """Replace numbers by their tanh."""

    def step(at: int, a: Any) -> None:
        store(a, at, tanh(load(a, at)))

    return step


@for_all
def squash_back(load: Any) -> Callable[..., None]:
    """Gradients ``d`` of tanh, whose values are ``a``, to those of its arguments."""

    def step(at: int, a: Any, d: Any) -> None:
        value = load(a, at)
        store(d, at, load(d, at) * (1.0 - value * value))

    return step


@for_all
def output(load: Any) -> Callable[..., None]:
    """The output ``y`` of the arguments of its factors, which are replaced by those."""

    def step(at: int, multiplicative: bool, p: Any, o: Any, y: Any) -> None:
        value = tanh(load(p, at))
        store(p, at, value)
        if multiplicative:
            factor = logistic(load(o, at))
            store(o, at, factor)
            value = value * factor
        store(y, at, value)

    return step


@for_all
def output_back(load: Any) -> Callable[..., None]:
    """Gradients ``dy`` to those of the arguments of the factors."""

    def step(at: int, multiplicative: bool, p: Any, o: Any, dy: Any, dp: Any, do: Any) -> None:
        value, d = load(p, at), load(dy, at)
        if multiplicative:
            factor = load(o, at)
            store(do, at, d * value * (factor * (1.0 - factor)))
            d = d * factor
        store(dp, at, d * (1.0 - value * value))

    return step


@for_all
def add(load: Any) -> Callable[..., None]:
    """Add ``b`` to ``a``."""

    def step(at: int, a: Any, b: Any) -> None:
        store(a, at, load(a, at) + load(b, at))

    return step
