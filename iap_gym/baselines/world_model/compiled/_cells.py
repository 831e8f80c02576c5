"""What happens to each number alone in the cells of LSTM and GRU, and in the loop around cells.

As in ``iap_gym.recurrent.compiled._elementwise``, whose loop is used.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iap_gym._compiled.functions import logistic, tanh
from iap_gym._compiled.simd import store, where_positive
from iap_gym.recurrent.compiled._elementwise import for_all


@for_all
def lstm(load: Any) -> Callable[..., None]:
    """The new state of the arguments of i, f, g and o, which are replaced by their values."""

    def step(
        at: int, i: Any, f: Any, g: Any, o: Any, before: Any, after: Any, squashed: Any, h: Any
    ) -> None:
        let_in, keep, new = logistic(load(i, at)), logistic(load(f, at)), tanh(load(g, at))
        let_out, memory = logistic(load(o, at)), keep * load(before, at) + let_in * new
        store(i, at, let_in)
        store(f, at, keep)
        store(g, at, new)
        store(o, at, let_out)
        store(after, at, memory)
        squash = tanh(memory)
        store(squashed, at, squash)
        store(h, at, let_out * squash)

    return step


@for_all
def lstm_back(load: Any) -> Callable[..., None]:
    """Gradients of h and of the new c to those of the old c and of the arguments."""

    def step(
        at: int,
        i: Any,
        f: Any,
        g: Any,
        o: Any,
        before: Any,
        squashed: Any,
        dh: Any,
        d_after: Any,
        di: Any,
        df: Any,
        dg: Any,
        do: Any,
        d_before: Any,
    ) -> None:
        let_in, keep, new, let_out = load(i, at), load(f, at), load(g, at), load(o, at)
        squash, d = load(squashed, at), load(dh, at)
        store(do, at, d * squash * (let_out * (1.0 - let_out)))
        d = d * let_out * (1.0 - squash * squash) + load(d_after, at)
        store(di, at, d * new * (let_in * (1.0 - let_in)))
        store(df, at, d * load(before, at) * (keep * (1.0 - keep)))
        store(dg, at, d * let_in * (1.0 - new * new))
        store(d_before, at, d * keep)

    return step


@for_all
def gru(load: Any) -> Callable[..., None]:
    """The new state; arguments of r, z and of n's part of the input are replaced by values."""

    def step(at: int, r: Any, z: Any, n: Any, recalled: Any, before: Any, after: Any) -> None:
        reset, keep = logistic(load(r, at)), logistic(load(z, at))
        new = tanh(reset * load(recalled, at) + load(n, at))
        store(r, at, reset)
        store(z, at, keep)
        store(n, at, new)
        store(after, at, (load(before, at) - new) * keep + new)

    return step


@for_all
def gru_back(load: Any) -> Callable[..., None]:
    """Gradients ``dh`` of the new state to those of the old one and of the arguments."""

    def step(
        at: int,
        r: Any,
        z: Any,
        n: Any,
        recalled: Any,
        before: Any,
        dh: Any,
        dr: Any,
        dz: Any,
        dn: Any,
        d_recalled: Any,
        d_before: Any,
    ) -> None:
        reset, keep, new, d = load(r, at), load(z, at), load(n, at), load(dh, at)
        store(dz, at, d * (load(before, at) - new) * (keep * (1.0 - keep)))
        store(d_before, at, d * keep)
        d = d * (1.0 - keep) * (1.0 - new * new)
        store(dn, at, d)
        store(d_recalled, at, d * reset)
        store(dr, at, d * load(recalled, at) * (reset * (1.0 - reset)))

    return step


@for_all
def assign(load: Any) -> Callable[..., None]:
    """Copy ``a`` to ``to``."""

    def step(at: int, a: Any, to: Any) -> None:
        store(to, at, load(a, at))

    return step


@for_all
def choose(load: Any) -> Callable[..., None]:
    """Set ``to`` to ``a`` where ``condition`` is above 0, else to ``b``."""

    def step(at: int, condition: Any, a: Any, b: Any, to: Any) -> None:
        store(to, at, where_positive(load(condition, at), load(a, at), load(b, at)))

    return step


@for_all
def add_scaled(load: Any) -> Callable[..., None]:
    """Set ``to`` to ``a`` plus ``scale`` times ``b``."""

    def step(at: int, a: Any, scale: float, b: Any, to: Any) -> None:
        store(to, at, load(b, at) * scale + load(a, at))

    return step


@for_all
def errors(load: Any) -> Callable[..., None]:
    """Add squares of ``a`` minus ``target`` to ``sums``, and ``factor`` times these errors to d."""

    def step(at: int, a: Any, target: Any, factor: float, d: Any, sums: Any) -> None:
        error = load(a, at) - load(target, at)
        store(d, at, error * factor + load(d, at))
        store(sums, 0, error * error + load(sums, 0))

    return step


@for_all
def add_up(load: Any) -> Callable[..., None]:
    """Add ``a`` to ``sums``."""

    def step(at: int, a: Any, sums: Any) -> None:
        store(sums, 0, load(a, at) + load(sums, 0))

    return step
