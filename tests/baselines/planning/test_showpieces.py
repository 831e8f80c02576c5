"""iCEM on the true simulator, with very little spent on each action."""

import numpy as np
import pytest

from iap_gym.baselines.planning.settings import PlannerSettings
from iap_gym.baselines.planning.showpieces import (
    SimulatedCost,
    make_showpieces,
    plan_sequence,
)
from iap_gym.data import load
from iap_gym.envs.fetch.simulation import Simulation

TINY = PlannerSettings(horizon=4, num_samples=6, iterations=2, steps=3)


def test_the_cost_is_that_of_the_steps_and_leaves_the_present_untouched():
    simulation, replay = Simulation(), Simulation()
    place = simulation.gripper_start[:2] + np.array([0.1, 0.05])
    simulation.reset(place)
    goal = np.array([1.3, 0.8, 0.5], np.float32)
    rng = np.random.default_rng(0)
    for action in rng.uniform(-1, 1, (3, 4)).astype(np.float32):
        simulation.step(action)
    present = simulation.get_state()
    candidates = rng.uniform(-1, 1, (5, 6, 4))
    costs = SimulatedCost(simulation, goal)(candidates)
    np.testing.assert_array_equal(simulation.get_state(), present)
    for cost, actions in zip(costs, candidates, strict=True):
        replay.set_state(present)
        wanted = 0.0
        for action in actions:
            replay.step(action.astype(np.float32))
            gripper, cube = replay.read()[:3], replay.read()[3:6]
            wanted += np.linalg.norm(cube - goal) + 0.5 * np.linalg.norm(cube - gripper)
        assert cost == pytest.approx(wanted, rel=1e-12)


def test_a_plan_brings_the_gripper_to_the_cube():
    settings = PlannerSettings(horizon=6, num_samples=24, iterations=2, steps=6)
    seen = plan_sequence(np.random.default_rng(1), settings)["observations"]
    far = np.linalg.norm(seen[:, 6:9], axis=1)
    assert far[-1] < 0.5 * far[0]


def test_files_are_data_sets_and_are_made_again_to_the_byte(tmp_path):
    first = make_showpieces(tmp_path / "a", 2, seed=3, settings=TINY)
    assert first.observations.shape == (2, 4, 11)
    assert first.header["split"] == "showpiece"
    assert "--showpiece 2 --seed 3 --planner horizon=4 num_samples=6" in first.header["command"]
    make_showpieces(tmp_path / "b", 2, seed=3, settings=TINY, workers=2)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a", "b"]
    other = make_showpieces(tmp_path / "c", 1, seed=4, settings=TINY)
    assert (load(tmp_path / "c").observations[0] == other.observations[0]).all()
    assert (first.observations[0] != other.observations[0]).any()


@pytest.mark.parametrize("number", [0, 101, 1.5])
def test_more_than_a_hundred_are_refused(number, tmp_path):
    with pytest.raises(ValueError, match=r"sequences: expected an integer in \[1, 100\]"):
        make_showpieces(tmp_path / "a", number, settings=TINY)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["horizon", "num_samples", "iterations", "steps", "noise_beta"])
def test_settings_are_checked_by_name(name):
    with pytest.raises(ValueError, match=name):
        PlannerSettings(**{name: -1})
