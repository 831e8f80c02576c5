"""Checks of arguments; every error names the argument, what was wanted and what came."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from types import EllipsisType
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
F = TypeVar("F", bound=np.floating[Any])
Shape = tuple[int | str | EllipsisType, ...]

_LONGEST = 200  # characters of what came that an error repeats
_PIXEL_ROUNDING = 1e-6


class Words(str):
    """What came, said in words: unlike a string that came, an error shows it without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


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
    if isinstance(value, bool) or not isinstance(value, Integral):
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
    if isinstance(value, bool) or not isinstance(value, Real):
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


def pair(name: str, value: Any, minimum: int = 1, maximum: int | None = None) -> tuple[int, int]:
    """Return one integer, or a sequence of two (a list from JSON too), as a pair (row, column).

    Raises:
        ValueError: anything else, or a number outside ``[minimum, maximum]``.
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        numbers = cast("Sequence[Any]", value)
        if len(numbers) != 2:
            raise refuse(name, "one integer or two (row, column)", numbers)
        first, second = numbers
        row = integer(f"{name}[0]", first, minimum, maximum)
        return row, integer(f"{name}[1]", second, minimum, maximum)
    number = integer(name, value, minimum, maximum)
    return number, number


def array(
    name: str,
    value: Any,
    shape: Shape,
    dtype: type[F] = np.float64,
    *,
    finite: bool = True,
    copy: bool = False,
) -> NDArray[F]:
    """Return real numbers as an array of a shape.

    Args:
        name: of the argument, for the error.
        value: what was given, anything that numpy makes an array of.
        shape: the size of each dimension; a letter for any size from 1 on, and ``...`` at the
            beginning for any dimensions.
        dtype: of the array.
        finite: False lets NaN and infinities in.
        copy: never return memory of ``value``.

    Raises:
        ValueError: another shape, a number that is not finite in ``dtype``, or what is no real
            number: bools, complex numbers, text, objects.
    """
    try:
        given = np.asarray(value)
    # Rows of several lengths; a tensor that requires grad or lies on another device.
    except (TypeError, ValueError, RuntimeError):
        raise _refused(name, shape, finite, value, value.__class__) from None
    if given.dtype.kind not in "fiu":
        raise _refused(name, shape, finite, value, given.dtype)
    if given.dtype.itemsize > 8 or dtype is not np.float64:
        with np.errstate(over="ignore"):  # refused below
            numbers = given.astype(dtype, copy=copy)
    else:
        numbers = given.astype(dtype, copy=copy)
    if numbers.shape != shape and not _fits(numbers.shape, shape):
        raise _refused(name, shape, finite, value, numbers.shape)
    if finite and not np.isfinite(numbers).all():
        place = tuple(np.argwhere(~np.isfinite(numbers))[0].tolist())
        raise _refused(name, shape, finite, value, {place: float(numbers[place])})
    return numbers


def _fits(came: tuple[int, ...], shape: Shape) -> bool:
    if shape and shape[0] is ...:
        shape = shape[1:]
        came = came[max(len(came) - len(shape), 0) :]
    return len(came) == len(shape) and all(
        n >= 1 if isinstance(size, str) else n == size for n, size in zip(came, shape, strict=True)
    )


def _refused(name: str, shape: Shape, finite: bool, value: Any, wrong: object) -> ValueError:
    """Build the error of an array; of what is long it tells what is wrong with it alone."""
    sizes = ", ".join("..." if size is ... else str(size) for size in shape)
    comma = "," if len(shape) == 1 else ""
    wanted = f"{'finite ' if finite else ''}numbers of shape ({sizes}{comma})"
    return refuse(name, wanted, value if len(repr(value)) <= _LONGEST else wrong)


def within_unit(low: float, high: float) -> bool:
    """Whether pixels from ``low`` to ``high`` are in [0, 1], but for what resizing leaves.

    Where one of them is NaN they are not.
    """
    return low >= -_PIXEL_ROUNDING and high <= 1.0 + _PIXEL_ROUNDING
