"""Errors about arguments name the argument, what was wanted and what came."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from gymnasium.error import DependencyNotInstalled

from iap_gym import _checks
from iap_gym._optional import require


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: _checks.one_of("kernel", "rbf", ("relu", "hybrid")),
            "kernel: expected one of 'relu', 'hybrid', got 'rbf'",
        ),
        (
            lambda: _checks.one_of("dynamic", 1, (True, False)),
            "dynamic: expected one of True, False, got 1",
        ),
        (lambda: _checks.integer("stride", 0, 1), "stride: expected an integer >= 1, got 0"),
        (lambda: _checks.integer("l", 2.0, 1), "l: expected an integer >= 1, got 2.0"),
        (lambda: _checks.integer("l", True, 1), "l: expected an integer >= 1, got True"),
        (lambda: _checks.integer("l", 9, 1, 4), r"l: expected an integer in \[1, 4\], got 9"),
        (lambda: _checks.real("sigma", math.nan), "sigma: expected a finite number, got nan"),
        (
            lambda: _checks.real("sigma", 0.0, 0.0, exclusive=True),
            "sigma: expected a finite number > 0, got 0.0",
        ),
        (lambda: _checks.real("sigma", "1", 0.0), "sigma: expected a finite number >= 0, got '1'"),
        (
            lambda: _checks.real("gamma", 1.5, 0.0, 1.0),
            r"gamma: expected a finite number in \[0, 1\], got 1.5",
        ),
        (
            lambda: _checks.real("share", 0, 0.0, 1.0, exclusive=True),
            r"share: expected a finite number in \(0, 1\], got 0",
        ),
        (
            lambda: _checks.pair("patch_size", [2, 0]),
            r"patch_size\[1\]: expected an integer >= 1, got 0",
        ),
        (
            lambda: _checks.pair("patch_size", [1, 2, 3]),
            r"patch_size: expected one integer or two \(row, column\), got \[1, 2, 3\]",
        ),
        (
            lambda: _checks.pair("size", [2, 9], 1, 8),
            r"size\[1\]: expected an integer in \[1, 8\], got 9",
        ),
        (
            lambda: _checks.pair("size", 9, 1, 8),
            r"size: expected an integer in \[1, 8\], got 9",
        ),
        (lambda: _checks.boolean("bias", 1), "bias: expected True or False, got 1"),
        (
            lambda: _checks.integers("widths", [8, 0], 1),
            r"widths\[1\]: expected an integer >= 1, got 0",
        ),
        (
            lambda: _checks.integers("widths", "88", 1),
            "widths: expected a sequence of integers >= 1, got '88'",
        ),
        (lambda: _checks.instance("core", 3, str, "a string"), "core: expected a string, got 3"),
    ],
)
def test_message(call, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        call()


def test_words_about_what_came_have_no_quotes():
    said, came = _checks.Words("float64 (1, 3)"), "float64 (1, 3)"
    assert str(_checks.refuse("x", "bytes", said)) == "x: expected bytes, got float64 (1, 3)"
    assert str(_checks.refuse("x", "bytes", came)) == "x: expected bytes, got 'float64 (1, 3)'"


LETTERED = r"finite numbers of shape \(n, 3\)"


@pytest.mark.parametrize(
    ("value", "shape", "message"),
    [
        ([1.0], (2,), r"finite numbers of shape \(2,\), got \[1.0\]"),
        (None, (), r"finite numbers of shape \(\), got None"),
        ([1.0, math.nan], (2,), r"finite numbers of shape \(2,\), got \[1.0, nan\]"),
        ([1, -math.inf], (2,), r"finite numbers of shape \(2,\), got \[1, -inf\]"),
        ([True, False], (2,), r"finite numbers of shape \(2,\), got \[True, False\]"),
        ([1j, 0], (2,), r"finite numbers of shape \(2,\), got \[1j, 0\]"),
        (["1", "2"], (2,), r"finite numbers of shape \(2,\), got \['1', '2'\]"),
        ([Fraction(1, 2)], (1,), r"finite numbers of shape \(1,\), got \[Fraction\(1, 2\)\]"),
        ([10**400], (1,), r"finite numbers of shape \(1,\), got dtype\('O'\)"),
        ([[1, 2], [3]], (2,), r"finite numbers of shape \(2,\), got \[\[1, 2\], \[3\]\]"),
        (np.datetime64("2020"), (), r"finite numbers of shape \(\), got np.datetime64\('2020'\)"),
        ([1, 2, 3], ("n", 3), rf"{LETTERED}, got \[1, 2, 3\]"),
        (np.zeros((0, 3)), ("n", 3), rf"{LETTERED}, got array\(.*\)"),
        (0.0, (..., 3), r"finite numbers of shape \(..., 3\), got 0.0"),
        ([0.0, 1.0], (..., 3), r"finite numbers of shape \(..., 3\), got \[0.0, 1.0\]"),
        # Of what is long only what is wrong with it.
        (np.zeros((99, 9)), (99,), r"finite numbers of shape \(99,\), got \(99, 9\)"),
        ([0.0] * 98 + [math.nan], (99,), r"finite numbers of shape \(99,\), got \{\(98,\): nan\}"),
        ([1j] * 99, (99,), r"finite numbers of shape \(99,\), got dtype\('complex128'\)"),
        ([[0]] * 99 + [0], (99,), r"finite numbers of shape \(99,\), got <class 'list'>"),
    ],
)
def test_what_is_no_array_of_numbers_is_named(value, shape, message):
    with pytest.raises(ValueError, match=f"^place: expected {message}$"):
        _checks.array("place", value, shape)


def test_a_tensor_that_requires_grad_is_named():
    value = torch.zeros(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"^low: .* \(2,\), got tensor\(.*requires_grad=True\)$"):
        _checks.array("low", value, (2,))
    with pytest.raises(ValueError, match=r"^low: .* \(2,\), got \[tensor\("):
        _checks.array("low", list(value), (2,))


def test_numbers_must_be_finite_in_the_dtype_that_is_wanted():
    assert _checks.array("v", [1e300], (1,)).tolist() == [1e300]
    with pytest.raises(ValueError, match=r"^v: expected finite numbers of shape \(1,\), got"):
        _checks.array("v", [1e300], (1,), np.float32)
    with pytest.raises(ValueError, match=r"^v: expected finite numbers of shape \(1,\), got"):
        _checks.array("v", np.array([np.finfo(np.longdouble).max]), (1,))


def test_costs_may_be_infinite_but_no_text():
    costs = _checks.array("costs", [math.inf, math.nan], (2,), finite=False)
    np.testing.assert_array_equal(costs, [math.inf, math.nan])
    with pytest.raises(ValueError, match=r"^costs: expected numbers of shape \(2,\), got \['a'"):
        _checks.array("costs", ["a", "b"], (2,), finite=False)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64])
def test_real_numbers_of_every_kind_become_an_array(dtype):
    for shape in ((2, 3), ("n", 3), (..., 3), (..., "a", "b")):
        given = np.arange(6).reshape(2, 3).astype(dtype)
        array = _checks.array("places", given, shape)
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, given)
    np.testing.assert_array_equal(_checks.array("t", torch.ones(2), (2,)), [1.0, 1.0])


def test_memory_is_shared_only_where_it_may_be():
    given = np.zeros(2)
    assert _checks.array("a", given, (2,)) is given
    assert not np.shares_memory(_checks.array("a", given, (2,), copy=True), given)


def test_good_values_come_back_plain():
    assert _checks.pair("patch_size", 3) == (3, 3)
    assert _checks.pair("patch_size", [2, 3]) == (2, 3)
    assert _checks.integers("widths", [np.int64(2), 3], 1) == (2, 3)
    assert _checks.instance("name", "lstm", str, "a string") == "lstm"
    assert type(_checks.integer("l", np.int64(3), 1)) is int
    assert type(_checks.real("sigma", np.float32(0.5))) is float
    assert _checks.one_of("kernel", "relu", ("relu",)) == "relu"


def test_absent_module_names_the_pip_command():
    with pytest.raises(DependencyNotInstalled, match=r'no_such is not .* "iap-gym\[quadruped\]"'):
        require("no_such.thing", "quadruped")


def test_broken_install_keeps_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import a_dependency_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_dependency_that_is_missing") as error:
        require("half_installed", "distracting")
    assert not isinstance(error.value, DependencyNotInstalled)
