"""Robot Remote Control: its rules by hand, a naive copy of them, and the published rates."""

import math

import numpy as np
import pytest

from iap_gym.envs.planar import RobotRemoteControl
from iap_gym.envs.planar import robot_remote_control as rules
from iap_gym.envs.planar.policies import (
    ramped_actions,
    roll_out,
    solve_robot_remote_control,
    uniform_actions,
)

WORLD = RobotRemoteControl()


def step(state, action, world=WORLD):
    new, reward, terminated = world.step(np.array([state], float), np.array([action], float))
    return new[0].tolist(), float(reward[0]), bool(terminated[0])


def near(values):
    return pytest.approx(values, abs=1e-12)


def test_only_the_agent_moves_until_the_computer_is_reached():
    state, reward, terminated = step([0.0, 0.0, -0.3, 0.2, 0], [1.0, -0.5])
    assert state == near([0.1, -0.05, -0.3, 0.2, 0])
    assert (reward, terminated) == (0.0, False)


def test_the_step_that_reaches_the_computer_does_not_move_the_robot_but_the_next_does():
    state, _, _ = step([0.35, 0.5, -0.3, 0.2, 0], [1.0, 0.0])
    assert state == near([0.45, 0.5, -0.3, 0.2, 1])
    state, _, _ = step(state, [-1.0, 1.0])
    assert state == near([0.35, 0.6, -0.4, 0.3, 1])
    for _ in range(5):  # far from the computer it stays controlled
        state, _, _ = step(state, [-1.0, 0.0])
    assert state == near([-0.15, 0.6, -0.9, 0.3, 1])


def test_the_radius_is_open_and_round():
    on_it, inside = 0.5 - 0.1 - 1e-9, 0.5 - 0.1 + 1e-9
    assert step([on_it, 0.5, 0, 0, 0], [0, 0])[0][4] == 0
    assert step([inside, 0.5, 0, 0, 0], [0, 0])[0][4] == 1
    assert step([0.5 + 0.08, 0.5 + 0.08, 0, 0, 0], [0, 0])[0][4] == 0, "a circle, no square"
    assert step([0.5 + 0.07, 0.5 - 0.07, 0, 0, 0], [0, 0])[0][4] == 1


def test_both_are_clipped_to_the_walls_also_while_the_robot_is_not_controlled():
    state, _, _ = step([0.9, -1.0, 0.99, -0.97, 0], [1.0, -1.0])
    assert state == near([0.95, -0.95, 0.95, -0.95, 0])


def test_a_wall_holds_one_of_the_two():
    state, _, _ = step([0.95, 0.0, 0.0, 0.0, 1], [1.0, 0.0])
    assert state == near([0.95, 0.0, 0.1, 0.0, 1])


def test_the_reward_comes_with_the_robot_in_the_goal_and_ends_the_episode():
    assert step([0, 0, 0.35, -0.5, 1], [1.0, 0.0])[1:] == (1.0, True)
    assert step([0, 0, 0.35, -0.5, 0], [1.0, 0.0])[1:] == (0.0, False)
    assert step([0, 0, 0.45, -0.5, 0], [0.0, 0.0])[1:] == (1.0, True), "as published, at the start"
    assert step([0.45, -0.5, 0, 0, 1], [0.0, 0.0])[1:] == (0.0, False), "the agent has no goal"


def test_larger_radii_for_planning():
    factor = rules.PLANNING_RADIUS_FACTOR["code"]
    world = RobotRemoteControl(radius_factor=factor)
    assert step([0.36, 0.5, 0, 0, 0], [0, 0], world)[0][4] == 1
    assert step([0.0, 0.0, 0.36, -0.5, 0], [0, 0], world)[1:] == (1.0, True)
    assert step([0.34, 0.5, 0.34, -0.5, 0], [0, 0], world)[0][4] == 0


def naive(state, action):
    """One world, written again with branches."""
    ax, ay, rx, ry, controlled = state
    dx, dy = 0.1 * action[0], 0.1 * action[1]
    ax, ay = ax + dx, ay + dy
    if controlled:
        rx, ry = rx + dx, ry + dy
    ax, ay, rx, ry = (min(max(value, -0.95), 0.95) for value in (ax, ay, rx, ry))
    if math.hypot(ax - 0.5, ay - 0.5) < 0.1:
        controlled = 1.0
    done = math.hypot(rx - 0.5, ry + 0.5) < 0.1
    return [ax, ay, rx, ry, controlled], float(done)


def test_it_follows_a_naive_copy_of_the_rules():
    rng = np.random.default_rng(0)
    state = WORLD.initial(rng.random((40, 4)))
    rows = state.tolist()
    seen_control = seen_reward = 0
    for t in range(150):
        # Towards the targets, so that both things happen.
        action = np.where(t % 3, solve_robot_remote_control(t, state), rng.uniform(-1, 1, (40, 2)))
        state, rewards, _ = WORLD.step(state, action)
        pairs = [naive(row, act) for row, act in zip(rows, action.tolist(), strict=True)]
        rows = [row for row, _ in pairs]
        np.testing.assert_array_equal(state, rows)
        np.testing.assert_array_equal(rewards, [reward for _, reward in pairs])
        seen_control += state[:, 4].sum()
        seen_reward += rewards.sum()
    assert seen_control > 1000
    assert seen_reward > 1000


@pytest.mark.parametrize("variant", ["code", "paper"])
def test_starts_are_uniform_and_only_the_papers_are_clipped(variant):
    world = RobotRemoteControl(variant)
    n = 20_000
    state = world.initial(np.random.default_rng(0).random((n, 4)))
    assert not state[:, 4].any()
    beyond = (np.abs(state[:, :4]) > 0.95).mean(0)
    at_wall = (np.abs(state[:, :4]) == 0.95).mean(0)
    error = 3 * math.sqrt(0.05 * 0.95 / n)
    np.testing.assert_allclose(beyond, 0.05 if variant == "code" else 0, atol=error)
    np.testing.assert_allclose(at_wall, 0 if variant == "code" else 0.05, atol=error)
    np.testing.assert_allclose(state[:, :4].mean(0), 0, atol=3 / math.sqrt(3 * n))
    seen = world.observe(state)
    np.testing.assert_array_equal(seen, state[:, :4].astype(np.float32))
    first = world.step(state, np.zeros((n, 2)))[0]
    np.testing.assert_array_equal(first[:, :4], np.clip(state[:, :4], -0.95, 0.95))
    goal = math.pi * 0.1**2 / 4
    reached = world.step(state, np.zeros((n, 2)))[2].mean()
    assert reached == pytest.approx(goal, abs=3 * math.sqrt(goal / n)), "0.8 % start in the goal"


# Per published policy: rollouts that gained control, of how many; the median of its first step;
# the mean squared change of an observation in a step.
PUBLISHED = {
    "time": (ramped_actions, 8000, 136_000, 32, 8.4e-4),
    "random": (lambda rng: uniform_actions(rng, 2), 8000, 91_000, 18, 1.7e-3),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_policies_give_the_published_rates(name):
    policy, accepted, total, median, copy_error = PUBLISHED[name]
    rng, n = np.random.default_rng(0), 20_000
    states, actions = roll_out(WORLD, WORLD.initial(rng.random((n, 4))), policy(rng), 50)
    assert np.abs(actions).max() <= 1
    controlled = states[1:, :, 4] > 0.5
    rate = accepted / total
    error = math.sqrt(rate * (1 - rate) * (1 / n + 1 / total))
    assert controlled[-1].mean() == pytest.approx(rate, abs=3 * error)

    first = controlled.argmax(0)[controlled[-1]]
    spread = first.std() * 1.2533 / math.sqrt(len(first))  # standard error of a median
    assert np.median(first) == pytest.approx(median, abs=3 * spread + 0.5)

    seen = states[:, :, :4]
    errors = (np.diff(seen, axis=0) ** 2).mean((0, 2))
    assert errors.mean() == pytest.approx(copy_error, rel=0.03)  # published with two digits


def test_actions_of_the_two_policies():
    rng, n = np.random.default_rng(0), 4000
    state = WORLD.initial(rng.random((n, 4)))
    for variant, length in (("code", 1.0), ("paper", 2 / 3)):
        policy = ramped_actions(rng, variant)
        actions = np.stack([policy(t, state) for t in range(50)])
        square = (actions**2).sum(2)
        ramp = 1e-4 + (1 - 1e-4) * np.arange(50) / 49
        error = 0 if variant == "code" else 4 * 0.42 / math.sqrt(n)
        np.testing.assert_allclose(square.mean(1) / ramp**2, length, atol=error + 1e-9)
        assert (np.ptp(square / ramp[:, None] ** 2, axis=1) < 1e-9).all() == (variant == "code")
    with pytest.raises(ValueError, match="variant: expected one of 'code', 'paper'"):
        ramped_actions(rng, "both")


def test_the_task_is_solved_from_every_start():
    for variant in ("code", "paper"):
        world = RobotRemoteControl(variant)
        state = world.initial(np.random.default_rng(0).random((5000, 4)))
        rewarded = np.zeros(5000, bool)
        for t in range(50):
            state, reward, _ = world.step(state, solve_robot_remote_control(t, state))
            rewarded |= reward > 0
        assert rewarded.all()
