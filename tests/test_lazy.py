"""Packages whose names load on first use."""

import importlib
import subprocess
import sys

import pytest

PACKAGES = ["iap_gym.baselines", "iap_gym.baselines.quadruped"]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_loads_and_no_other(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    assert "__doc__" in dir(module)
    for name in module.__all__:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'Walker'"):
        module.Walker  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_it_loads_no_torch(package):
    code = f"import sys, {package}; dir({package}); print('torch' in sys.modules)"
    words = [sys.executable, "-c", code]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "False\n"
