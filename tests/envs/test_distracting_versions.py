import importlib.metadata
import tomllib
from pathlib import Path

import pytest

from iap_gym.envs._versions import outside
from iap_gym.envs.distracting_control import make_distracting_control
from iap_gym.envs.distracting_control.versions import BOUNDS, WORKING_PAIR, check_pair


@pytest.fixture
def installed(monkeypatch):
    def pretend(**packages):
        def version(name):
            if name not in packages:
                raise importlib.metadata.PackageNotFoundError(name)
            return packages[name]

        monkeypatch.setattr(importlib.metadata, "version", version)

    return pretend


def test_pyproject_has_the_same_bounds():
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    extras = tomllib.loads(pyproject.read_text())["project"]["optional-dependencies"]
    for name, (lowest, limit) in BOUNDS.items():
        assert f"{name}>={lowest},<{limit}" in extras["distracting"]


def test_what_is_installed_here_is_accepted():
    assert all(importlib.metadata.version(name) for name in BOUNDS)
    assert outside(BOUNDS) == {}
    check_pair()


@pytest.mark.parametrize("mujoco", ["3.10.0", "3.10.7", "3.10"])
def test_pair_within_the_bounds(installed, mujoco):
    installed(dm_control="1.0.43", mujoco=mujoco)
    assert outside(BOUNDS) == {}
    check_pair()


@pytest.mark.parametrize(
    ("dm_control", "mujoco"),
    [
        ("1.0.50", "4.0.0"),
        ("1.0.41", "3.8.1"),
        ("1.0.43", "3.11.0"),
        ("1.0.44", "3.10.0"),
        ("1.0.43", "3.9.9"),
        ("2.0", "3.10.0"),
    ],
)
def test_other_pairs_are_refused_by_name(installed, dm_control, mujoco):
    installed(dm_control=dm_control, mujoco=mujoco)
    with pytest.raises(ImportError) as error:
        make_distracting_control("cheetah", "run", observation="state")
    message = str(error.value)
    assert f"dm_control {dm_control} and mujoco {mujoco} installed" in message
    assert f"dm_control {WORKING_PAIR['dm_control']} and mujoco {WORKING_PAIR['mujoco']}" in message
    assert "pip install dm_control==1.0.43 mujoco==3.10.0" in message


@pytest.mark.parametrize("packages", [{}, {"mujoco": "3.10.0"}, {"dm_control": "1.0.43"}])
def test_absent_packages_are_left_to_the_extra(installed, packages):
    installed(**packages)
    assert outside(BOUNDS) == {}
    check_pair()


def test_one_package_alone_is_refused_too(installed):
    installed(mujoco="3.9.0")
    assert outside(BOUNDS) == {"mujoco": "3.9.0"}
    with pytest.raises(ImportError, match="mujoco 3.9.0 installed"):
        check_pair()
