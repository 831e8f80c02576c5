"""What importing costs, and what happens without torch."""

import subprocess
import sys

import iap_gym.recurrent


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_torch_alone():
    loaded = set(run("import sys, iap_gym.recurrent; print(*sys.modules)").split())
    assert "torch" in loaded
    heavy = {"numba", "llvmlite", "mujoco", "dm_control", "minigrid", "stable_baselines3", "Box2D"}
    assert not heavy & loaded
    assert not {"iap_gym.attention", "iap_gym.baselines", "iap_gym.wrappers"} & loaded


def test_every_public_name_is_there():
    assert sorted(iap_gym.recurrent.__all__) == sorted(set(iap_gym.recurrent.__all__))
    for name in iap_gym.recurrent.__all__:
        assert hasattr(iap_gym.recurrent, name)


def test_without_torch_the_extra_is_named():
    printed = run("""
import sys
class WithoutTorch:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            return None
        return self.finder.find_spec(name, path, target)
sys.meta_path[:] = [WithoutTorch(finder) for finder in sys.meta_path]
try:
    import iap_gym.recurrent
except Exception as error:
    print(type(error).__name__, error)
""")
    assert printed.startswith("DependencyNotInstalled torch is not installed")
    assert 'pip install "iap-gym[recurrent]"' in printed
