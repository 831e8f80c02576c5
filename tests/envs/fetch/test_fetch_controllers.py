"""The controllers: how the gripper answers, and what they do to the cube."""

import numpy as np
import pytest

from iap_gym.envs.fetch.controllers import CONTROLLERS, RESPONSE, SPEED, Hand, grasp_and_lift
from iap_gym.envs.fetch.simulation import Simulation, draw_object


@pytest.fixture(scope="module")
def simulation():
    return Simulation()


def start(simulation, rng):
    simulation.reset(draw_object(rng, simulation.gripper_start))
    return simulation.read().astype(np.float32)


def roll_out(simulation, make, seed, steps=50):
    """Return readings (steps + 1, 11) and actions (steps, 4)."""
    rng = np.random.default_rng(seed)
    readings, actions = [start(simulation, rng)], []
    controller = make(rng, readings[0])
    action = next(controller)
    for _ in range(steps):
        actions.append(action)
        simulation.step(action)
        readings.append(simulation.read().astype(np.float32))
        action = controller.send(readings[-1])
    return np.array(readings), np.array(actions)


def test_the_gripper_answers_as_the_constants_say(simulation):
    rng = np.random.default_rng(0)
    inputs, moves = [], []
    for _ in range(25):
        start(simulation, rng)
        actions = [np.zeros(4)] * 2
        for t in range(8):
            action = rng.uniform(-1, 1, 4) * rng.choice([0.3, 1])
            # Away from the table, and with fingers that stay open.
            action[2:] = abs(action[2]) * 0.3 * (-1 if t % 2 else 1), 1
            before = simulation.read()[:3]
            simulation.step(action.astype(np.float32))
            actions.append(action)
            inputs.append([past[:3] for past in actions[:-4:-1]])
            moves.append(simulation.read()[:3] - before)
    inputs, moves = np.array(inputs), np.array(moves)  # (n, 3 steps, 3 axes), (n, 3)
    for axis in range(3):
        fitted, *_ = np.linalg.lstsq(inputs[:, :, axis], moves[:, axis], rcond=None)
        np.testing.assert_allclose(fitted, RESPONSE, atol=5e-4)
    errors = np.einsum("nka,k->na", inputs, RESPONSE) - moves
    assert np.sqrt((errors**2).mean(0)).max() < 3e-4
    assert inputs[:, 0].max() * RESPONSE[0] == pytest.approx(SPEED, rel=0.1)


def test_the_hand_goes_where_it_is_to_go(simulation):
    rng = np.random.default_rng(1)
    for _ in range(5):
        start(simulation, rng)
        hand, place = Hand(), simulation.read()[:3] + rng.uniform(-0.08, 0.08, 3) * (1, 1, 0.3)
        for left in range(4, 0, -1):
            simulation.step(hand.move((place - simulation.read()[:3]) / left, 1.0))
        assert np.abs(simulation.read()[:2] - place[:2]).max() < 5e-4


@pytest.mark.parametrize("arrival", [5, 7, 10])
def test_a_grasp_arrives_when_it_is_to_and_mostly_lifts(simulation, arrival):
    arrived = lifted = 0
    for seed in range(12):
        readings, actions = roll_out(
            simulation, lambda rng, reading: grasp_and_lift(rng, reading, arrival), seed, 30
        )
        off = np.abs(readings[:, 6:8]).max(1)
        assert (off[: arrival - 1] > 1e-3).all()
        arrived += off[arrival] < 1e-3
        lifted += readings[-1, 5] > readings[0, 5] + 0.01
        assert np.abs(actions).max() <= 1
    assert arrived >= 10
    assert lifted >= 10


def test_what_is_let_go_falls(simulation):
    def make(rng, reading):
        return grasp_and_lift(rng, reading, 5, release=1.0)

    fallen = 0
    for seed in range(8):
        heights = roll_out(simulation, make, seed)[0][:, 5]
        fallen += heights.max() > 0.445 and heights[-1] < 0.43
    assert fallen >= 5


@pytest.mark.parametrize("kind", list(CONTROLLERS))
def test_the_cube_is_moved_along_the_table(simulation, kind):
    ways = []
    for seed in range(8):
        readings, actions = roll_out(simulation, CONTROLLERS[kind], seed)
        assert actions.dtype == np.float32
        assert np.abs(actions).max() <= 1
        ways.append(np.linalg.norm(readings[-1, 3:5] - readings[0, 3:5]))
    assert np.median(ways) > 0.03


def test_a_cube_that_was_hit_goes_on_without_the_gripper_and_one_that_is_pushed_does_not(
    simulation,
):
    def on_its_own(kind, seed):
        """Return how much faster the cube ever is than the gripper, in m a step."""
        readings, _ = roll_out(simulation, CONTROLLERS[kind], seed)
        steps = np.linalg.norm(np.diff(readings[:, [[0, 1], [3, 4]]], axis=0), axis=2)
        return (steps[:, 1] - steps[:, 0]).max()

    median = {kind: np.median([on_its_own(kind, s) for s in range(8)]) for kind in CONTROLLERS}
    assert median["push"] < 0.012
    assert median["flick"] > median["push"] + 0.01
