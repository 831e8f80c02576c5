"""Potential-based shaping: the sums that its theorem speaks of, and the potentials' steps."""

import gymnasium
import numpy as np
import pytest

from iap_gym.envs.planar import (
    RobotRemoteControl,
    RobotRemoteControlVectorEnv,
    Shepherd,
    ShepherdVectorEnv,
)
from iap_gym.envs.planar.policies import solve_robot_remote_control, solve_shepherd
from iap_gym.envs.planar.shaping import (
    SCALE,
    PotentialShaping,
    robot_remote_control_potential,
    shepherd_potential,
)

WORLDS = {
    "robot": (
        RobotRemoteControlVectorEnv,
        RobotRemoteControl(),
        robot_remote_control_potential,
        solve_robot_remote_control,
    ),
    "shepherd": (ShepherdVectorEnv, Shepherd(), shepherd_potential, solve_shepherd),
}
worlds = pytest.mark.parametrize("name", WORLDS)
GAMMA = 0.9


def make(name, num_envs=16, limit=60):
    env_class, world, potential, solve = WORLDS[name]
    shaped = PotentialShaping(env_class(num_envs, limit), potential, GAMMA)
    return env_class(num_envs, limit), shaped, world, potential, solve


@worlds
@pytest.mark.parametrize("masked", [False, True], ids=["next step", "reset_mask"])
def test_the_discounted_sum_of_what_is_added_depends_on_the_ends_alone(name, masked):
    plain, shaped, _, potential, solve = make(name)
    rng = np.random.default_rng(0)
    plain.reset(seed=3)
    shaped.reset(seed=3)
    start = potential(plain.get_state())
    added, discount, waits = np.zeros(16), np.ones(16), np.zeros(16, bool)
    sums, ends = [], np.zeros(2, int)
    clever = np.arange(16) % 2 == 0
    for t in range(200):
        state = plain.get_state()
        actions = rng.uniform(-1, 1, (16, plain.single_action_space.shape[0]))
        actions[clever] = solve(t, state)[clever]
        _, rewards, terminated, truncated, _ = plain.step(actions)
        _, with_f, *same, _ = shaped.step(actions)
        assert (np.array(same) == [terminated, truncated]).all()
        extra = with_f - rewards
        assert (extra[waits] == 0).all(), "a step that starts anew earns nothing"
        added += discount * extra
        discount *= GAMMA
        ended = terminated | truncated
        last = np.where(terminated, 0.0, potential(plain.get_state()))
        for i in np.flatnonzero(ended):
            sums.append((added[i], discount[i] * last[i] - start[i]))
        ends += [terminated.sum(), truncated.sum()]
        if masked and ended.any():
            for env in (plain, shaped):
                env.reset(options={"reset_mask": ended})
        begins = ended if masked else waits
        start = np.where(begins, potential(plain.get_state()), start)
        added[begins], discount[begins] = 0.0, 1.0
        waits = np.zeros(16, bool) if masked else ended
    assert (ends > 10).all(), "ends of both kinds"
    found, wanted = np.array(sums).T
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_reset_of_other_worlds_leaves_an_ended_one_waiting():
    _, shaped, *_ = make("robot", num_envs=2, limit=1)
    shaped.reset(seed=0)
    shaped.step(np.zeros((2, 2)))
    shaped.reset(options={"reset_mask": np.array([True, False])})
    rewards = shaped.step(np.ones((2, 2)))[1]
    assert rewards[0] != 0
    assert rewards[1] == 0


@worlds
def test_a_potential_counts_the_steps_of_the_solution(name):
    _, _, world, potential, solve = make(name)

    def fastest(t, state):
        if name == "shepherd":  # its solution lifts the cage, which takes steps of its own
            state = state.copy()
            state[:, 5] = state[:, 3] + 0.05
        return solve(t, state)

    state = world.initial(np.random.default_rng(1).random((2000, world.num_draws)))
    # The first step clips a start behind a wall.
    state, _, ended = world.step(state, fastest(0, state))
    state = state[~ended]
    counted = -potential(state) / SCALE
    arrived = np.full(len(state), 200)  # the step that opens the gate, or ends the episode
    for t in range(100):
        state, _, ended = world.step(state, fastest(t, state))
        there = world.read_events(state)["gate_open"] if name == "shepherd" else ended
        arrived[there & (arrived == 200)] = t + 1
    # Each of the radii is one or two steps wide; Shepherd's cage is dropped in a step of its own.
    assert (np.abs(arrived - counted) <= 4).all()
    assert (potential(state) <= 0).all()


def test_shepherds_potential_tells_a_cage_in_place_from_one_that_is_not():
    state = Shepherd().initial(np.full((1, 8), 0.5))
    state[0, :4] = [1.0, -0.5, 2.3, -0.5]  # the sheep is at 2
    state[0, 8] = 0.0
    # Left aside: 13 steps back to it, 3 with it, then 28.5 from below the sheep to the lever.
    assert shepherd_potential(state)[0] == pytest.approx(-SCALE * (13 + 3 + 28.5))
    state[0, 2] = 2.05
    assert shepherd_potential(state)[0] == pytest.approx(-SCALE * 18.5)  # on to the lever
    state[0, 7] = 1.0
    assert shepherd_potential(state)[0] == 0


def test_a_state_that_is_set_at_the_end_is_shaped_as_anywhere():
    _, env, *_ = make("robot", 4, limit=5)
    env.reset(seed=0)
    state, actions = env.unwrapped.get_state(), np.ones((4, 2))
    expected = env.step(actions)[1]
    for _ in range(4):
        truncated = env.step(actions)[3]
    assert truncated.all()
    env.unwrapped.set_state(state)
    np.testing.assert_array_equal(env.step(actions)[1], expected)
    assert (expected != 0).any()


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan"), "much"])
def test_a_discount_outside_of_its_range_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma"):
        PotentialShaping(ShepherdVectorEnv(2), shepherd_potential, gamma)


def test_another_environment_is_refused():
    with pytest.raises(ValueError, match="env: expected a planar vector environment"):
        PotentialShaping(gymnasium.make_vec("CartPole-v1", 2), shepherd_potential, 0.9)
