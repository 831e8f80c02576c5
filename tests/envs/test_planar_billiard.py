"""Billiard Ball: closed forms, a naive simulation in small steps, and the laws of cushions."""

import math

import numpy as np
import pytest

from iap_gym.envs.planar import BilliardBall
from iap_gym.envs.planar import billiard_ball as rules

TABLE = np.array([1.0, 0.5])


def play(world, state, steps):
    """Return the states (steps + 1, n, 6)."""
    states = [np.array(state, float)]
    for _ in range(steps):
        states.append(world.step(states[-1], np.zeros(len(states[-1])))[0])
    return np.array(states)


def ball(x, y, u, v):
    return [x, y, u, v, 0.0, 0.0]


def random_balls(rng, n, speed):
    angle = rng.uniform(0, 2 * math.pi, n)
    state = np.zeros((n, 6))
    state[:, :2] = rng.uniform(-TABLE, TABLE, (n, 2))
    state[:, 2:4] = speed * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return state


def unfolded(place, way, half):
    """Where a ball is that has gone ``way`` among mirrors at ±half: a triangle wave."""
    turned = np.mod(place + way + half, 4 * half)
    return np.where(turned < 2 * half, turned, 4 * half - turned) - half


@pytest.mark.parametrize("speed", [0.05, 1.7, 40.0])
def test_with_restitution_1_it_is_a_mirror(speed):
    world = BilliardBall(restitution=1.0, drag=0.0, pocket_radius=0.0)
    start = random_balls(np.random.default_rng(0), 200, speed)
    states = play(world, start, 50)
    times = np.arange(51)[:, None, None]
    expected = unfolded(start[:, :2], times * start[:, 2:4], TABLE)
    np.testing.assert_allclose(states[:, :, :2], expected, atol=1e-11 * max(1, 50 * speed))
    speeds = np.broadcast_to(np.abs(start[:, 2:4]), (51, 200, 2))
    np.testing.assert_allclose(np.abs(states[:, :, 2:4]), speeds, rtol=1e-12)
    assert states[1:, :, 5].any()


@pytest.mark.parametrize("drag", [0.0, 0.001, 0.3])
def test_between_cushions_the_speed_decays_as_the_docstring_says(drag):
    world = BilliardBall(drag=drag, pocket_radius=0.0)
    states = play(world, [ball(-0.9, 0.1, 0.03, -0.005)], 40)[:, 0]
    t = np.arange(41)
    np.testing.assert_allclose(states[:, 2], 0.03 * np.exp(-drag * t), rtol=1e-12)
    way = t if drag == 0 else (1 - np.exp(-drag * t)) / drag
    np.testing.assert_allclose(states[:, 0], -0.9 + 0.03 * way, atol=1e-13)
    np.testing.assert_allclose(states[:, 1], 0.1 - 0.005 * way, atol=1e-13)


def test_a_cushion_keeps_the_tangential_and_0466_of_the_normal_velocity():
    world = BilliardBall(drag=0.0)
    new = play(world, [ball(0.96, 0.2, 0.08, 0.03)], 1)[1, 0]
    # It meets the cushion after half a step, and comes back for the other half.
    np.testing.assert_allclose(new, [1 - 0.04 * 0.466, 0.23, -0.08 * 0.466, 0.03, 0, 1], atol=1e-15)
    new = play(world, [ball(0.5, -0.48, 0.06, -0.08)], 1)[1, 0]
    expected = [0.56, -0.5 + 0.06 * 0.466, 0.06, 0.08 * 0.466, 0, 1]
    np.testing.assert_allclose(new, expected, atol=1e-15)
    after = play(world, [new], 1)[1, 0]
    assert after[5] == 0, "bounce is an event of one step"


def test_a_pocketless_corner_turns_both_velocities_around():
    world = BilliardBall(restitution=0.5, drag=0.0, pocket_radius=0.0)
    new = play(world, [ball(0.95, -0.45, 0.1, -0.1)], 1)[1, 0]
    np.testing.assert_allclose(new, [0.975, -0.475, -0.05, 0.05, 0, 1], atol=1e-15)
    rests = play(world, [ball(1.0, 0.5, 0.1, 0.1), ball(-1.0, 0.5, 0.0, 0.02)], 1)[1]
    np.testing.assert_allclose(rests[0, :4], [0.95, 0.45, -0.05, -0.05], atol=1e-15)
    np.testing.assert_allclose(rests[1, :4], [-1.0, 0.49, 0.0, -0.01], atol=1e-15)


def naive(place, velocity, world, small=2000):
    """One step in ``small`` ones: (place, velocity, whether it drops, whether it bounces)."""
    place, velocity = np.array(place), np.array(velocity)
    bounces = False
    for _ in range(small):
        if world.pocket_radius:
            away = np.hypot(*(rules.POCKETS - place).T)
            if away.min() <= world.pocket_radius:
                return rules.POCKETS[away.argmin()], np.zeros(2), True, bounces
        place = place + velocity / small
        velocity = velocity * math.exp(-world.drag / small)
        for axis in range(2):
            over = abs(place[axis]) - TABLE[axis]
            if over > 0:  # the rest of the small step goes back, slower
                place[axis] = math.copysign(TABLE[axis] - world.restitution * over, place[axis])
                velocity[axis] *= -world.restitution
                bounces = True
    return place, velocity, False, bounces


def test_a_step_is_that_of_a_simulation_in_small_steps():
    world = BilliardBall(drag=0.2)
    start = random_balls(np.random.default_rng(1), 60, 1.4)
    got = play(world, start, 1)[1]
    drops = 0
    for before, after in zip(start, got, strict=True):
        place, velocity, dropped, bounced = naive(before[:2], before[2:4], world)
        assert after[4] == dropped
        assert after[5] == bounced
        np.testing.assert_allclose(after[:2], place, atol=4e-3)
        np.testing.assert_allclose(after[2:4], velocity, atol=4e-3)
        drops += dropped
    assert 8 < drops < 50


def test_what_a_ball_does_in_one_fast_step_it_does_in_many_slow_ones():
    world = BilliardBall(drag=0.0)
    start = random_balls(np.random.default_rng(2), 3000, 6.0)
    fast = play(world, start, 1)[1]
    slow = start.copy()
    slow[:, 2:4] /= 64
    end = play(world, slow, 64)[-1]
    np.testing.assert_array_equal(fast[:, 4], end[:, 4])
    np.testing.assert_allclose(fast[:, :2], end[:, :2], atol=1e-9)
    np.testing.assert_allclose(fast[:, 2:4], 64 * end[:, 2:4], atol=1e-9)
    assert 500 < fast[:, 4].sum() < 2900


@pytest.mark.parametrize("speed", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("restitution", [0.0, 0.466, 1.0])
def test_no_ball_leaves_the_table_and_energy_never_grows(speed, restitution):
    world = BilliardBall(restitution=restitution)
    n = 20 if speed > 100 else 400
    start = random_balls(np.random.default_rng(3), n, speed)
    states = play(world, start, 30)
    assert np.isfinite(states).all()
    assert (np.abs(states[:, :, :2]) <= TABLE).all()
    energy = (states[:, :, 2:4] ** 2).sum(2)
    assert (energy[1:] <= energy[:-1]).all()
    low, high = world.state_bounds
    assert ((states >= low) & (states <= high)).all()


def test_a_ball_drops_at_the_edge_of_a_pockets_circle_and_stays():
    world = BilliardBall(drag=0.0)
    # Heading past the middle pocket at a distance of 0.099 and of 0.101.
    states = play(world, [ball(-0.3, 0.401, 0.1, 0.0), ball(-0.3, 0.399, 0.1, 0.0)], 6)
    assert states[-1, :, 4].tolist() == [1, 0]
    np.testing.assert_array_equal(states[3:, 0, :4], [[0.0, 0.5, 0.0, 0.0]] * 4)
    assert states[2, 0, 4] == 0
    np.testing.assert_allclose(states[-1, 1, :2], [0.3, 0.399])
    seen = world.observe(states[-1])
    assert seen[0].tolist() == [0, 1]


@pytest.mark.parametrize("pocket", rules.POCKETS.tolist())
def test_each_pocket_takes_a_ball_that_comes_at_it(pocket):
    way = np.array(pocket) - [0.2, 0.05]
    start = ball(0.2, 0.05, *(way / 10))
    states = play(BilliardBall(drag=0.0), [start], 20)[:, 0]
    np.testing.assert_array_equal(states[-1], [*pocket, 0, 0, 1, 0])
    entered = int(states[:, 4].argmax())
    distance = np.hypot(*way)
    assert entered == math.ceil((distance - 0.1) / (distance / 10)), "the step that crosses 0.1"


def test_a_pocketed_state_lies_still_whatever_its_velocity_says():
    lying = [0.0, 0.5, 0.3, -0.2, 1.0, 1.0]
    after = play(BilliardBall(), [lying], 2)[-1, 0]
    np.testing.assert_array_equal(after, [0.0, 0.5, 0, 0, 1, 0])


def test_starts():
    world, n = BilliardBall(), 20_000
    state = world.initial(np.random.default_rng(0).random((n, 4)))
    assert (np.abs(state[:, :2]) <= TABLE - 0.1).all()
    np.testing.assert_allclose(state[:, :2].std(0), (TABLE - 0.1) / math.sqrt(3), rtol=0.02)
    speed = np.hypot(state[:, 2], state[:, 3])
    assert 0.02 <= speed.min() < 0.0201
    assert 0.0999 < speed.max() <= 0.1
    assert speed.mean() == pytest.approx(0.06, abs=3 * 0.08 / math.sqrt(12 * n))
    angle = np.arctan2(state[:, 3], state[:, 2])
    for k in (1, 2, 3, 4):  # uniform: every Fourier coefficient vanishes
        assert abs(np.exp(1j * k * angle).mean()) < 3.5 / math.sqrt(n)
    assert not state[:, 4:].any()
    away = np.hypot(*(state[:, None, :2] - rules.POCKETS).transpose(2, 0, 1))
    assert away.min() > 0.1, "no ball starts in a pocket"


def test_sequences_of_50_steps_hold_drops_and_bounces_in_numbers_to_balance():
    world = BilliardBall()
    states = play(world, world.initial(np.random.default_rng(0).random((4000, 4))), 50)
    dropped = states[-1, :, 4].mean()
    assert 0.15 < dropped < 0.6, "the paper guarantees 15 % of drops"
    assert 0.3 < states[:, :, 5].any(0).mean() < 0.95
    end = np.hypot(states[-1, :, 2], states[-1, :, 3])
    untouched = ~states[:, :, 4:].any((0, 2))
    start = np.hypot(states[0, :, 2], states[0, :, 3])
    np.testing.assert_allclose(end[untouched] / start[untouched], math.exp(-0.05))
