"""Errors about arguments name the argument, what was wanted and what came."""

import math

import numpy as np
import pytest
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
