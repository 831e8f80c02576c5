"""The table of ids against its sources."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator

import iap_gym  # noqa: F401
from iap_gym.registry import DISTRACTING_TASKS, ENTRIES, PLANAR_WORLDS, camel_case, register_all
from iap_gym.testing import ENV_CHECKS

# What makes a quick environment of each family.
SMALL = {
    "distracting_control": {"height": 48, "width": 64},
    "planar": {},
    "quadruped": {},
    "fetch": {},
}
REPRESENTATIVES = [entry for entry in ENTRIES if entry.representative]


def test_distracting_tasks_are_those_of_the_suite_without_lqr():
    from dm_control import suite

    tasks = tuple(task for task in suite.ALL_TASKS if task[0] != "lqr")
    assert sorted(tasks) == sorted(DISTRACTING_TASKS)


@pytest.mark.parametrize(
    ("domain", "task", "name"),
    [
        ("cheetah", "run", "CheetahRun"),
        ("ball_in_cup", "catch", "BallInCupCatch"),
        ("humanoid_CMU", "run", "HumanoidCMURun"),
        ("stacker", "stack_2", "StackerStack2"),
    ],
)
def test_names_keep_capitals(domain, task, name):
    assert f"iap_gym/Distracting{name}-v0" in gymnasium.registry
    assert camel_case(domain) + camel_case(task) == name


def test_ids_are_unique_and_every_family_has_one_representative():
    assert len({entry.id for entry in ENTRIES}) == len(ENTRIES)
    families = {entry.family for entry in ENTRIES}
    assert sorted(entry.family for entry in ENTRIES if entry.representative) == sorted(families)


def test_planar_ids_have_vector_environments_of_their_own_with_the_length_of_the_id():
    lengths = {"BilliardBall": 50, "RobotRemoteControl": 50, "Shepherd": 100}
    assert lengths == PLANAR_WORLDS
    for world, steps in lengths.items():
        env = gymnasium.make_vec(f"iap_gym/{world}-v0", num_envs=2)  # the default, where there is
        assert type(env).__name__ == f"{world}VectorEnv"
        assert env.unwrapped.max_episode_steps == steps
    assert {entry.id for entry in ENTRIES if entry.vector_entry_point} == {
        f"iap_gym/{world}-v0" for world in lengths
    }


def test_registering_twice_changes_nothing():
    before = dict(gymnasium.registry)
    register_all()
    assert gymnasium.registry == before


def test_prefix_form_makes_an_environment_without_our_import():
    import subprocess
    import sys

    code = (
        "import gymnasium\n"
        "e = gymnasium.make('iap_gym:iap_gym/DistractingCartpoleBalance-v0', observation='state')\n"
        "print(e.reset(seed=0)[0].shape)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "(5,)"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_gymnasium_finds_the_render_modes_at_the_entry_point(entry):
    """There it looks before it adds a window or a list of pictures."""
    assert load_env_creator(entry.entry_point).metadata["render_modes"] == ["rgb_array"]


@pytest.mark.parametrize("entry", REPRESENTATIVES, ids=lambda entry: entry.id)
def test_pictures_come_as_a_list_too(entry):
    settings = SMALL[entry.family]
    env = gymnasium.make(entry.id, render_mode="rgb_array_list", **settings)
    env.reset(seed=0)
    env.step(env.action_space.sample())
    pictures = env.render()
    assert len(pictures) == 2
    assert {picture.dtype for picture in pictures} == {np.dtype(np.uint8)}
    env.close()


@pytest.mark.parametrize("check", ENV_CHECKS.values(), ids=ENV_CHECKS)
@pytest.mark.parametrize("entry", REPRESENTATIVES, ids=lambda entry: entry.id)
def test_contract_on_one_id_per_family(entry, check):
    check(lambda: gymnasium.make(entry.id, **SMALL[entry.family]))


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_contract_on_every_id(entry):
    for check in ENV_CHECKS.values():
        check(lambda: gymnasium.make(entry.id, **SMALL[entry.family]))
