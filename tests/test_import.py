"""What `import iap_gym` costs and loads."""

import subprocess
import sys

HEAVY = ("torch", "mujoco", "dm_control", "shimmy", "pybullet", "stable_baselines3", "matplotlib")


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_no_simulator_and_no_torch():
    loaded = run("import sys, iap_gym; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)


def test_import_registers_every_id():
    assert run(
        "import gymnasium, iap_gym\n"
        "from iap_gym.registry import ENTRIES\n"
        "print(all(entry.id in gymnasium.registry for entry in ENTRIES))"
    ).split() == ["True"]


def test_command_line_help_loads_no_simulator_and_no_torch():
    loaded = run("import sys, iap_gym.cli.main; print(*sys.modules)").split()
    assert not set(HEAVY) & set(loaded)
