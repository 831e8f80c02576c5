"""Checks of arguments; every error names the argument, what was wanted and what came."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Sequence
from typing import Any, TypeVar, cast

T = TypeVar("T")


def refuse(name: str, wanted: str, got: object) -> ValueError:
    """Build the one form that our errors about arguments have."""
    return ValueError(f"{name}: expected {wanted}, got {got!r}")


def one_of(name: str, value: Any, allowed: Collection[Any]) -> Any:
    """Return ``value`` if it is one of ``allowed``.

    Raises:
        ValueError: it is not.
    """
    # `1 in (True,)` holds in Python; a kind given as a number is still a mistake.
    if not any(type(value) is type(choice) and value == choice for choice in allowed):
        choices = ", ".join(repr(choice) for choice in allowed)
        raise refuse(name, f"one of {choices}", value)
    return value


def integer(name: str, value: Any, minimum: int = 0, maximum: int | None = None) -> int:
    """Return ``value`` as an int within ``[minimum, maximum]``; bools are refused.

    Raises:
        ValueError: not an integer, or out of range.
    """
    wanted = f"an integer >= {minimum}"
    if maximum is not None:
        wanted = f"an integer in [{minimum}, {maximum}]"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise refuse(name, wanted, value)
    number = int(value)
    if number < minimum or (maximum is not None and number > maximum):
        raise refuse(name, wanted, value)
    return number


def real(
    name: str,
    value: Any,
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    exclusive: bool = False,
) -> float:
    """Return ``value`` as a finite float within ``[minimum, maximum]``.

    Args:
        name: of the argument, for the error.
        value: what was given.
        minimum: smallest number.
        maximum: largest number.
        exclusive: whether ``minimum`` itself is refused.

    Raises:
        ValueError: not a finite number, or out of range.
    """
    wanted = "a finite number"
    if maximum < math.inf:
        wanted += f" in {'(' if exclusive else '['}{minimum:g}, {maximum:g}]"
    elif minimum > -math.inf:
        wanted += f" {'>' if exclusive else '>='} {minimum:g}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise refuse(name, wanted, value)
    number = float(value)
    fits = minimum < number if exclusive else minimum <= number
    if not math.isfinite(number) or not fits or number > maximum:
        raise refuse(name, wanted, value)
    return number


def boolean(name: str, value: Any) -> bool:
    """Return ``value`` if it is a bool.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, bool):
        raise refuse(name, "True or False", value)
    return value


def instance(name: str, value: Any, kind: type[T], wanted: str) -> T:
    """Return ``value`` if it is an instance of ``kind``.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(value, kind):
        raise refuse(name, wanted, value)
    return value


def integers(name: str, value: Any, minimum: int = 0) -> tuple[int, ...]:
    """Return a sequence of integers (a list from JSON too) as a tuple.

    Raises:
        ValueError: no sequence, or an element that is no integer of at least ``minimum``.
    """
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise refuse(name, f"a sequence of integers >= {minimum}", value)
    elements = cast("Sequence[Any]", value)
    return tuple(integer(f"{name}[{i}]", each, minimum) for i, each in enumerate(elements))


def pair(name: str, value: Any, minimum: int = 1) -> tuple[int, int]:
    """Return one integer, or a sequence of two (a list from JSON too), as a pair (row, column).

    Raises:
        ValueError: anything else, or a number below ``minimum``.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        numbers = cast("Sequence[Any]", value)
        if len(numbers) != 2:
            raise refuse(name, "one integer or two (row, column)", numbers)
        first, second = numbers
        return integer(f"{name}[0]", first, minimum), integer(f"{name}[1]", second, minimum)
    number = integer(name, value, minimum)
    return number, number
