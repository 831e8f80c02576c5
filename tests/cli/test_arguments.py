"""How words of the command line become values."""

import argparse

import pytest

from iap_gym.cli.arguments import at_least, key_value, pairs


@pytest.mark.parametrize("text", ["1000", "1_000", "1,000", "1e3", "1000.0"])
def test_spellings_of_an_integer(text):
    assert at_least(1)(text) == 1000
    assert at_least(1)("1,234,567") == 1_234_567


@pytest.mark.parametrize(
    "text", ["0", "1.5", "many", "", "inf", "nan", "-3", "1,5", "0,5", "10,00", ",100"]
)
def test_what_is_no_integer_in_range_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected an integer >= 1, got"):
        at_least(1)(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=0.5", 0.5),
        ("a=[1, 2]", [1, 2]),
        ("a=null", None),
        ("a=None", None),
        ("a=True", True),
        ("a=hard", "hard"),
        ("a=b=c", "b=c"),
        ("a=", ""),
    ],
)
def test_values_are_json_where_they_parse_as_json(text, value):
    assert key_value(text) == ("a", value)


@pytest.mark.parametrize("text", ["a", "=3"])
def test_what_is_no_pair_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected key=value"):
        key_value(text)


def test_a_key_comes_once():
    assert pairs("--x", [("a", 1), ("b", 2)]) == {"a": 1, "b": 2}
    with pytest.raises(ValueError, match="--x: expected each key once, got 'a' twice"):
        pairs("--x", [("a", 1), ("a", 2)])
