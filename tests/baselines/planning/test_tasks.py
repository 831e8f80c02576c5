"""What plans cost, and how planned episodes start."""

import math

import numpy as np
import pytest

from iap_gym.baselines.planning.tasks import TASKS, robot_cost, shepherd_cost, task_of
from iap_gym.envs.planar import Shepherd
from iap_gym.envs.planar.policies import roll_out, wandering_shepherd

RRC, SHEPHERD = TASKS


def test_the_robot_costs_its_way_to_the_goal():
    seen = np.array([[0.0, 0.0, 0.5, -0.5], [0.9, 0.9, 0.2, -0.1]], np.float32)
    np.testing.assert_allclose(robot_cost(seen), [0.0, 0.5], rtol=1e-6)
    assert robot_cost(np.zeros((7, 3, 4))).shape == (7, 3)


def test_the_sheep_costs_its_way_to_the_cage():
    """Against the state of worlds, which is in the lengths of the world."""
    world, rng = Shepherd(), np.random.default_rng(0)
    start = world.initial(rng.random((40, world.num_draws)))
    states, _ = roll_out(world, start, wandering_shepherd(rng, 40, biased=True), 100)
    costs = shepherd_cost(world.observe(states))
    kinds = set()
    for state, cost in zip(states.reshape(-1, 12), costs.ravel(), strict=True):
        above = state[5] > -0.1  # hidden sheep are shown at y = 0
        expected = min(2.0, 2.0 * above + math.dist(state[2:4], state[4:6]))
        assert cost == pytest.approx(expected, abs=1e-6)
        kinds.add((bool(above), expected < 2.0))
    assert kinds >= {(True, False), (False, True)}


def test_shepherd_starts_at_the_right_end():
    task = task_of(SHEPHERD)
    env = task.make_env()
    plain = env.env
    for seed in range(3):
        before, _ = plain.reset(seed=seed)
        observation, info = env.reset(seed=seed)
        state = env.unwrapped.get_state()
        assert state[0] == pytest.approx(2.9)
        assert math.dist(state[:2], state[2:4]) < 0.05 * math.sqrt(2)
        assert info["carried"]
        np.testing.assert_array_equal(observation, env.unwrapped.world.observe(state))
        np.testing.assert_array_equal(observation[[1, 3, 4, 5, 6]], before[[1, 3, 4, 5, 6]])
    assert env.spec.max_episode_steps == 60


def test_radii_are_those_of_the_variant():
    assert task_of(RRC).make_env().unwrapped.world.radius_factor == 1.5
    factors = {v: task_of(SHEPHERD).make_env(v).unwrapped.world for v in ("code", "paper")}
    assert {name: world.radius_factor for name, world in factors.items()} == {
        "code": 1.2,
        "paper": 1.5,
    }
    with pytest.raises(ValueError, match="variant: expected one of 'code', 'paper'"):
        task_of(RRC).make_env("book")
    with pytest.raises(ValueError, match="env: expected one of"):
        task_of("CartPole-v1")
