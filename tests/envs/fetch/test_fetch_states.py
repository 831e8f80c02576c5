"""Which states are taken: all that play leads to, and none that MuJoCo warns of."""

import numpy as np
import pytest

from iap_gym.envs.fetch.limits import StateLimits
from iap_gym.envs.fetch.simulation import Simulation
from tests.envs.fetch.robots import Grasping, make

TIME, CUBE, TURN = 0, slice(16, 19), slice(19, 23)  # of a state


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Work in an empty folder, in which MuJoCo would write its log."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(tmp_path.iterdir())


@pytest.fixture
def env():
    made = make().unwrapped
    made.reset(seed=0)
    return made


def changed(state, place, values):
    state = state.copy()
    state[place] = values
    return state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (np.zeros_like, r"^state\[1\] \(position of robot0:slide0\): expected a number in \[0.39"),
        (
            lambda s: np.full_like(s, 1e30),
            r"^state\[0\] \(time\): expected a number in \[0, 1e\+09",
        ),
        (lambda s: -s, r"^state\[0\] \(time\): expected a number in .*, got -0\.4"),
        (lambda s: changed(s, TIME, np.nan), "^state: expected finite numbers of shape"),
        (lambda s: changed(s, CUBE, 6.0), r"^state\[16\] \(x of the cube\): .* got 6\.0$"),
        (
            lambda s: changed(s, TURN, 0.0),
            r"^state\[19:23\] \(rotation of the cube\): expected a quaternion of a length in "
            r"\[0.999, 1.001\], got \[0.0, 0.0, 0.0, 0.0\]$",
        ),
        (lambda s: changed(s, TURN, 0.6), r"^state\[19:23\] \(rotation of the cube\)"),
        (lambda s: s[:-1], r"^state: expected finite numbers of shape \(319,\), got \(318,\)"),
        (lambda s: s + 0j, r"^state: expected finite numbers of shape \(319,\), got dtype"),
        (
            lambda s: changed(s, slice(316, 319), 1e300),
            r"^state\[316:\] \(goal\): expected a place within 1000 m of 0 along each axis",
        ),
    ],
)
def test_a_state_that_cannot_be_is_refused_by_name_and_changes_nothing(env, change, message):
    before = env.get_state()
    with pytest.raises(ValueError, match=message):
        env.set_state(change(before))
    np.testing.assert_array_equal(env.get_state(), before)


def test_every_number_is_looked_at(env):
    state = env.get_state()
    for index in range(len(state)):
        for value in (-1e30, 1e30):
            with pytest.raises(ValueError, match=rf"^state\[{index if index < 316 else 316}"):
                env.set_state(changed(state, index, value))
    np.testing.assert_array_equal(env.get_state(), state)


@pytest.mark.parametrize("seed", range(6))
def test_states_of_wild_play_are_taken(seed):
    env, other = make().unwrapped, make().unwrapped
    rng = np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    policy = Grasping(observation, seed)
    corner = rng.choice([-1.0, 1.0], 4)
    for t in range(150):
        if t < 15:  # the cube is in the hand
            action = policy(observation if t else None)
        elif seed % 2:
            action = rng.choice([-1.0, 1.0], 4)
        else:
            corner = rng.choice([-1.0, 1.0], 4) if rng.random() < 0.1 else corner
            action = corner
        observation, *_ = env.step(action)
        state = env.get_state()
        other.set_state(state)
        np.testing.assert_array_equal(other.get_state(), state)


def test_mujoco_is_calm_about_every_number_at_its_limits():
    simulation = Simulation()
    limits = StateLimits(simulation)
    simulation.reset(simulation.gripper_start[:2] + 0.1)
    state = simulation.get_state()
    refused = 0
    for index, ends in enumerate(zip(limits._low, limits._high, strict=True)):
        for end in ends:
            tried = changed(state, index, end)
            try:
                limits.check(tried)
            except ValueError:  # a rotation alone, whose numbers go together
                refused += 1
                continue
            simulation.set_state(tried)
            simulation.step(np.ones(4, np.float32))
            assert not any(warning.number for warning in simulation.data.warning), index
    assert refused <= 3 * 4 * 2


def test_states_from_a_file_of_float32_are_taken(env):
    env.step(np.ones(4))
    state = env.get_state().astype(np.float32)
    env.set_state(state)
    np.testing.assert_array_equal(env.get_state(), state)
