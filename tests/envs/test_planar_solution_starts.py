"""Shepherd with starts along solutions."""

import numpy as np
import pytest

from iap_gym.envs.planar import Shepherd, ShepherdVectorEnv
from iap_gym.envs.planar.policies import roll_out, solve_shepherd, uniform_actions
from iap_gym.envs.planar.shepherd import CAGE_RADIUS
from iap_gym.envs.planar.solution_starts import (
    STEPS,
    ShepherdWithSolutions,
    ShepherdWithSolutionsVectorEnv,
)

settings = pytest.mark.parametrize(
    "settings", [{}, {"start": "left"}, {"start": "left", "variant": "paper"}], ids=str
)


def starts(world, n=3000):
    return world.initial(np.random.default_rng(0).random((n, world.num_draws)))


@settings
def test_without_a_share_it_is_shepherd(settings):
    draws = np.random.default_rng(0).random((100, 10))
    ours = ShepherdWithSolutions(share=0.0, **settings).initial(draws)
    assert (ours == Shepherd(**settings).initial(draws[:, :8])).all()


@settings
def test_every_start_is_a_state_on_the_way_to_the_catch(settings):
    world = ShepherdWithSolutions(share=1.0, **settings)
    state = starts(world)
    world.checked_state(state, state.shape)
    assert not world.read_events(state)["caught"].any()
    states, _ = roll_out(world, state, solve_shepherd, STEPS)
    caught = np.array([world.read_events(each)["caught"] for each in states])
    # The policy that lifts the cage may come too late where an open gate has let the sheep out.
    assert caught[-1].mean() > 0.98
    left = caught.argmax(0)[caught[-1]]  # steps that it still takes
    assert left.min() == 1
    assert left.max() > 40


@settings
def test_the_cage_is_carried_in_half_of_them_and_else_lies_below_the_sheep(settings):
    world = ShepherdWithSolutions(share=1.0, **settings)
    state = starts(world)
    carried = world.read_events(state)["carried"]
    assert carried.mean() == pytest.approx(0.5, abs=3 * 0.5 / np.sqrt(3000))
    assert np.abs(state[~carried, 2] - state[~carried, 4]).max() < CAGE_RADIUS
    assert np.abs(state[carried, 2] - state[carried, 4]).max() > 0.7


def test_chance_finds_the_reward_from_there_and_not_from_the_door():
    rates = []
    for share in (0.0, 1.0):
        world = ShepherdWithSolutions(share=share)
        policy = uniform_actions(np.random.default_rng(1), 3)
        states, _ = roll_out(world, starts(world), policy, 100)
        rates.append(world.read_events(states[-1])["caught"].mean())
    assert rates[0] == 0
    assert rates[1] > 0.05


def test_the_share_of_such_starts_is_the_one_asked_for():
    state = starts(ShepherdWithSolutions(share=0.3))
    from_door = (state[:, 5] > 0.94).mean()  # where the sheep begins
    three_errors = 3 * np.sqrt(0.21 / 3000)
    # The first state of each solution is there too, one in seven of those with the cage carried.
    assert 0.7 - three_errors < from_door < 0.7 + 0.15 / 5 + three_errors


def test_a_seed_gives_the_same_episodes():
    ours, theirs = (ShepherdWithSolutionsVectorEnv(8, 20) for _ in range(2))
    assert (ours.reset(seed=1)[0] == theirs.reset(seed=1)[0]).all()
    for _ in range(50):
        actions = np.random.default_rng(2).uniform(-1, 1, (8, 3))
        for one, two in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            assert (one == two).all()
    assert (ours.reset(seed=1)[0] != ours.reset(seed=2)[0]).any()


def test_it_is_drawn_as_shepherd_is():
    theirs = ShepherdVectorEnv(2, 20, render_mode="rgb_array")
    ours = ShepherdWithSolutionsVectorEnv(2, 20, render_mode="rgb_array")
    ours.reset(seed=0)
    theirs.set_state(ours.get_state())
    np.testing.assert_array_equal(ours.render(), theirs.render())


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), "half"])
def test_a_share_outside_of_its_range_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        ShepherdWithSolutions(share=share)
