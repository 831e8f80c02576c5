import subprocess
import sys

import pytest

import iap_gym.wrappers


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_importing_the_names_loads_no_torch():
    loaded = run("import sys, iap_gym.wrappers; print('torch' in sys.modules)").stdout
    assert loaded.split() == ["False"]


@pytest.mark.parametrize("name", iap_gym.wrappers.__all__)
def test_every_public_name_loads(name):
    assert getattr(iap_gym.wrappers, name).__name__ == name


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'IAPWrapper'"):
        iap_gym.wrappers.IAPWrapper  # noqa: B018


def test_without_torch_the_extra_is_named():
    code = """
import importlib.abc, sys
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
sys.meta_path.insert(0, Absent())
import iap_gym.wrappers
try:
    iap_gym.wrappers.IAPObservation
except Exception as error:
    print(type(error).__name__, error)
"""
    printed = run(code).stdout
    assert printed.startswith("DependencyNotInstalled torch is not installed")
    assert 'pip install "iap-gym[attention]"' in printed
