"""The contract passes a sound environment and finds each planted fault."""

import sys

import gymnasium
import numpy as np
import pytest

from iap_gym.testing import ENV_CHECKS, check_env, check_wrapper
from tests.testing import faulty_envs
from tests.testing.faulty_envs import FAULTS, Sound


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    for name, cls in vars(faulty_envs).items():
        if isinstance(cls, type) and issubclass(cls, gymnasium.Env):
            gymnasium.register(f"test/{name}-v0", f"tests.testing.faulty_envs:{name}")


def test_sound_environment_passes_every_check():
    assert check_env("test/Sound-v0") == tuple(ENV_CHECKS)


def test_every_check_has_a_fault_that_it_finds():
    assert set(FAULTS) == set(ENV_CHECKS)


@pytest.mark.parametrize(
    ("check", "fault"),
    [
        *((check, fault.__name__) for check, fault in FAULTS.items() if check != "spec"),
        ("observations", "SharesMemory"),
        ("observations", "OutOfSpace"),
        ("observations", "WrongDtype"),
        ("global_randomness", "DrawsFromPython"),
        ("actions", "DoesNotClip"),
    ],
)
def test_fault_is_found(check, fault):
    with pytest.raises(AssertionError):
        ENV_CHECKS[check](lambda: gymnasium.make(f"test/{fault}-v0", disable_env_checker=True))


def test_spec_that_json_cannot_carry_is_found():
    with pytest.raises(AssertionError, match="JSON"):
        ENV_CHECKS["spec"](lambda: gymnasium.make("test/Lambda-v0", scale=lambda x: x))


def test_unknown_skip_is_named():
    with pytest.raises(ValueError, match=r"skip: expected names among .* got \('sedding',\)"):
        check_env("test/Sound-v0", skip=("sedding",))


@pytest.mark.parametrize(("env", "skip"), [(3, ()), ("test/Sound-v0", "gymnasium")])
def test_what_is_no_environment_and_no_list_of_checks_is_refused(env, skip):
    with pytest.raises(ValueError, match="expected"):
        check_env(env, skip=skip)


def test_environment_made_by_hand_has_no_spec_to_check():
    assert check_env(Sound) == tuple(name for name in ENV_CHECKS if name != "spec")


def test_advice_is_no_fault(monkeypatch):
    # Gymnasium and Stable-Baselines3 recommend bounds of -1 and 1; Pendulum's torque has 2.
    assert check_env("Pendulum-v1", skip=("gymnasium", "actions"))
    monkeypatch.setitem(sys.modules, "pygame", None)  # as if it were not installed
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="pygame"):
        ENV_CHECKS["gymnasium"](lambda: gymnasium.make("Pendulum-v1"))


def test_wrapper_that_keeps_the_task_passes():
    ran = check_wrapper("test/Sound-v0", gymnasium.wrappers.FlattenObservation)
    assert "task_unchanged" in ran


def test_wrapper_that_changes_rewards_is_found():
    class Doubles(gymnasium.RewardWrapper, gymnasium.utils.RecordConstructorArgs):
        def __init__(self, env):
            gymnasium.utils.RecordConstructorArgs.__init__(self)
            gymnasium.RewardWrapper.__init__(self, env)

        def reward(self, reward):
            return 2 * reward

    with pytest.raises(AssertionError, match="rewards"):
        check_wrapper(lambda: Sound(), Doubles, skip=("spec", "gymnasium"))


def test_foreign_environment_is_checked_without_our_registry():
    assert "observations" in check_env("CartPole-v1", skip=("gymnasium",))
    assert np.isfinite(gymnasium.make("CartPole-v1").reset(seed=0)[0]).all()
