"""Arguments that several subcommands take."""

from __future__ import annotations

import argparse
import json
import re
from typing import Any


def key_value(text: str) -> tuple[str, Any]:
    """Read ``key=value``; the value is JSON where it parses as JSON, else the text itself."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"expected key=value, got {text!r}")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        # Python's spellings of these three are what fingers type.
        return key, {"True": True, "False": False, "None": None}.get(value, value)


def at_least(minimum: int):  # noqa: ANN201
    """Return a parser of integers of at least ``minimum``."""

    def integer(text: str) -> int:
        try:
            grouped = re.fullmatch(r"\d{1,3}(,\d{3})+", text.strip())
            value = float(
                text.replace(",", "") if grouped else text
            )  # 1_000, 1,000, 1e3: all typed
            number = int(value)
        except (ValueError, OverflowError):
            value = number = minimum - 1
        if number < minimum or number != value:
            raise argparse.ArgumentTypeError(f"expected an integer >= {minimum}, got {text!r}")
        return number

    return integer


def add_pairs(parser: argparse.ArgumentParser, name: str, text: str) -> None:
    """Add an option that takes any number of ``key=value``."""
    parser.add_argument(
        name, nargs="+", action="extend", type=key_value, default=[], metavar="KEY=VALUE", help=text
    )


def pairs(option: str, given: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return what ``add_pairs`` collected as a dict.

    Raises:
        ValueError: a key came twice.
    """
    found: dict[str, Any] = {}
    for key, value in given:
        if key in found:
            raise ValueError(f"{option}: expected each key once, got {key!r} twice")
        found[key] = value
    return found


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the run folder as the first word."""
    parser.add_argument("run", metavar="RUN", help="a run folder, made by iap-gym train")


def add_split(parser: argparse.ArgumentParser) -> None:
    """Add the choice of backgrounds."""
    parser.add_argument(
        "--split",
        choices=("train", "val"),
        help="backgrounds: those of training, or others; default: val where there are any",
    )
