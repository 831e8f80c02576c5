"""Shepherd: its rules by hand, a naive copy of them, and the published rates."""

import math

import numpy as np
import pytest

from iap_gym.envs.planar import Shepherd
from iap_gym.envs.planar import shepherd as rules
from iap_gym.envs.planar.policies import roll_out, solve_shepherd, wandering_shepherd

WORLD = Shepherd()
NAMES = Shepherd.state_names
STILL = [0.0, 0.0, 0.0]
HOLD = [0.0, 0.0, 1.0]
# Agent and cage in the middle, apart; the sheep high above a wall of 0.5.
PLAIN = [1.0, -0.5, 2.0, -0.5, 2.3, 0.9, 0.5, 0, 0, 0, 0, 0.025]


def state_with(**changes):
    state = list(PLAIN)
    for name, value in changes.items():
        state[NAMES.index(name.replace("_", " "))] = value
    return state


def step(state, action, world=WORLD):
    """Return the next state by name, the reward and the end."""
    new, reward, ended = world.step(np.array([state], float), np.array([action], float))
    return dict(zip(NAMES, new[0].tolist(), strict=True)), float(reward[0]), bool(ended[0])


def near(value):
    return pytest.approx(value, abs=1e-12)


def test_the_agent_moves_alone_or_with_the_cage():
    free, _, _ = step(PLAIN, [1.0, -0.5, 0.0])
    assert [free[name] for name in NAMES[:4]] == near([1.1, -0.55, 2.0, -0.5])
    carried = state_with(**{"cage_x": 1.04, "carried": 1})
    with_cage, _, _ = step(carried, [1.0, -0.5, 0.5])
    assert [with_cage[name] for name in NAMES[:4]] == near([1.1, -0.55, 1.14, -0.55])
    assert with_cage["carried"] == 1


def test_the_cage_still_moves_in_the_step_that_drops_it():
    carried = state_with(**{"cage_x": 1.04, "carried": 1})
    dropped, _, _ = step(carried, [1.0, 0.0, 0.0])
    assert dropped["carried"] == 0
    assert dropped["cage x"] == near(1.14)
    again, _, _ = step([dropped[name] for name in NAMES], [-1.0, 0.0, -1.0])
    assert again["cage x"] == near(1.14)


def test_the_cage_is_grasped_within_its_radius_after_the_move():
    inside, outside = state_with(cage_x=1.1999), state_with(cage_x=1.2001)
    assert step(inside, [1.0, 0.0, 1.0])[0]["carried"] == 1
    assert step(outside, [1.0, 0.0, 1.0])[0]["carried"] == 0
    assert step(inside, [1.0, 0.0, 0.0])[0]["carried"] == 0, "0 does not hold"
    far = state_with(cage_x=2.5, carried=1)
    assert step(far, HOLD)[0]["carried"] == 1, "one that is carried is held from any distance"


def test_walls_hold_agent_and_cage_apart():
    carried = state_with(agent_x=-0.93, cage_x=-0.85, agent_y=-0.1, cage_y=-0.06, carried=1)
    new, _, _ = step(carried, [-0.5, 1.0, 1.0])
    assert [new[name] for name in NAMES[:4]] == near([-0.95, -0.05, -0.9, -0.05])
    start, _, _ = step(state_with(agent_x=-4.0, agent_y=-2.0, cage_x=3.05), STILL)
    assert [start[name] for name in NAMES[:4]] == near([-0.95, -0.95, 2.95, -0.5])


def test_the_sheep_walks_down_and_hides_below_the_top_of_the_wall():
    walking, _, _ = step(state_with(sheep_y=0.53), STILL)
    assert walking["sheep y"] == near(0.505)
    assert walking["hidden"] == 0
    row = [[walking[name] for name in NAMES]]
    hidden = WORLD.step(np.array(row), np.zeros((1, 3)))[0]
    assert dict(zip(NAMES, hidden[0], strict=True))["sheep y"] == 0
    assert WORLD.read_events(hidden)["hidden"][0]
    seen = WORLD.observe(np.array(row))[0, 4:]
    np.testing.assert_allclose(seen, [0.3, 0.505, 0.5], atol=1e-7)
    assert WORLD.observe(hidden)[0, 4:].tolist() == [0, 0, 0.5], "inside the normal range"
    paper = Shepherd("paper").observe(hidden)[0, 4:6]
    assert paper.tolist() == [-1, 1]
    assert not (1.05 <= paper[0] + 2 <= 2.95), "no sheep is ever seen there"
    for _ in range(30):
        hidden = WORLD.step(hidden, np.zeros((1, 3)))[0]
    assert hidden[0, 4:6].tolist() == [2.3, 0.0], "it waits"


def test_the_gate_opens_at_the_lever_and_the_sheep_comes_out_a_step_later():
    waiting = state_with(agent_x=-0.6, agent_y=-0.05, sheep_y=0.0, hidden=1)
    opened, reward, _ = step(waiting, [-1.0, 0.0, 0.0])
    assert opened["agent x"] == near(-0.7)
    assert opened["gate open"] == 1
    assert (opened["sheep y"], opened["hidden"], reward) == (0.0, 1.0, 0.0)
    out, _, _ = step([opened[name] for name in NAMES], [1.0, 0.0, 0.0])
    assert (out["sheep x"], out["hidden"], out["gate open"]) == (2.3, 0.0, 1.0)
    assert out["sheep y"] == near(-0.025)
    for x, opens in ((-0.66, 1), (-0.65, 0)):  # 0.196 and 0.206 from the lever
        row = state_with(agent_x=x + 0.1, agent_y=-0.05)
        assert step(row, [-1.0, 0.0, 0.0])[0]["gate open"] == opens


def test_with_the_gate_open_the_sheep_never_hides_and_stops_at_the_lower_border():
    row = state_with(gate_open=1, sheep_y=0.52)
    heights = []
    for _ in range(80):
        new, _, _ = step(row, STILL)
        assert new["hidden"] == 0
        heights.append(new["sheep y"])
        row = [new[name] for name in NAMES]
    expected = np.maximum(0.52 - 0.025 * np.arange(1, 81), -1.05)
    np.testing.assert_allclose(heights, expected, atol=1e-12)


def test_it_is_caught_by_a_cage_that_stands_while_the_gate_is_open():
    by_cage = state_with(gate_open=1, cage_x=2.25, sheep_y=-0.42, carried=0)
    caught, reward, ended = step(by_cage, STILL)
    assert (caught["caught"], reward, ended) == (1.0, 1.0, True)
    for changes in (
        {"gate_open": 0, "sheep_y": 0.0, "cage_y": -0.05},  # still closed
        {"carried": 1},
        {"cage_x": 2.19},  # 0.11 away
    ):
        row = by_cage.copy()
        for name, value in changes.items():
            row[NAMES.index(name.replace("_", " "))] = value
        _, reward, ended = step(row, HOLD if "carried" in changes else STILL)
        assert (reward, ended) == (0.0, False)


def test_the_step_that_drops_the_cage_may_catch_and_the_one_that_opens_the_gate_too():
    dropping = state_with(gate_open=1, cage_x=2.25, sheep_y=-0.42, carried=1)
    assert step(dropping, STILL)[1:] == (1.0, True)
    opening = state_with(agent_x=-0.8, agent_y=-0.1, cage_x=2.25, cage_y=-0.05, sheep_y=0.0)
    assert step(opening, STILL)[1:] == (1.0, True)


def test_a_caught_sheep_stands_is_rewarded_once_and_goes_down_with_the_cage():
    caught = state_with(gate_open=1, caught=1, agent_x=2.0, cage_x=2.25, sheep_y=-0.45, carried=1)
    above, reward, ended = step(caught, HOLD)
    assert above["sheep y"] == near(-0.5), "no higher than the cage"
    assert (reward, ended) == (0.0, True)
    lower, _, _ = step([above[name] for name in NAMES], [0.0, -1.0, 1.0])
    assert lower["sheep y"] == near(-0.6)
    back, _, _ = step([lower[name] for name in NAMES], [0.0, 1.0, 1.0])
    assert back["sheep y"] == near(-0.6), "it does not go up"


def test_larger_radii_for_planning():
    for variant, factor in rules.PLANNING_RADIUS_FACTOR.items():
        world = Shepherd(variant, radius_factor=factor)
        row = state_with(agent_x=-0.85 + 0.19 * factor, agent_y=-0.05)
        assert step(row, STILL, world)[0]["gate open"] == 1
        row = state_with(agent_x=-0.85 + 0.21 * factor, agent_y=-0.05)
        assert step(row, STILL, world)[0]["gate open"] == 0
        grasp = state_with(cage_x=1.0 + 0.099 * factor)
        assert step(grasp, HOLD, world)[0]["carried"] == 1


def naive(state, action):
    """One world, written again with branches."""
    s = dict(zip(NAMES, state, strict=True))
    gate, carried, caught = s["gate open"], s["carried"], s["caught"]
    dx, dy = 0.1 * action[0], 0.1 * action[1]
    s["agent x"] += dx
    s["agent y"] += dy
    if carried:
        s["cage x"] += dx
        s["cage y"] += dy
    s["hidden"] = 0.0
    if not caught:
        if s["sheep y"] >= 0 or gate:
            s["sheep y"] -= s["sheep speed"]
        if s["sheep y"] < s["wall height"] and not gate:
            s["hidden"], s["sheep y"] = 1.0, 0.0
    else:
        s["sheep y"] = min(s["sheep y"], s["cage y"])
    for who in ("agent", "cage"):
        s[f"{who} x"] = min(max(s[f"{who} x"], -0.95), 2.95)
        s[f"{who} y"] = min(max(s[f"{who} y"], -0.95), -0.05)
    s["sheep y"] = min(max(s["sheep y"], -1.05 if gate else 0.0), 0.95)
    if math.hypot(s["agent x"] + 0.85, s["agent y"]) < 0.2:
        s["gate open"] = 1.0
    if carried:
        if action[2] <= 0:
            s["carried"] = 0.0
    elif action[2] > 0:
        apart = math.hypot(s["agent x"] - s["cage x"], s["agent y"] - s["cage y"])
        s["carried"] = float(apart < 0.1)
    apart = math.hypot(s["sheep x"] - s["cage x"], s["sheep y"] - s["cage y"])
    catches = not caught and bool(s["gate open"]) and not s["carried"] and apart < 0.1
    if catches:
        s["caught"] = 1.0
    return list(s.values()), float(catches), bool(s["caught"])


@pytest.mark.parametrize("start", ["right", "left"])
@pytest.mark.parametrize("variant", ["code", "paper"])
def test_it_follows_a_naive_copy_of_the_rules(variant, start):
    world, n = Shepherd(variant, start=start), 60
    rng = np.random.default_rng(0)
    state = world.initial(rng.random((n, world.num_draws)))
    rows = state.tolist()
    wander, counts = wandering_shepherd(rng, n, biased=True), np.zeros(12)
    for t in range(130):
        # Some of the worlds are solved, then wander off with sheep and cage.
        solving = (np.arange(n) % 2 == 0) & (t < 70)
        action = np.where(solving[:, None], solve_shepherd(t, state), wander(t, state))
        state, rewards, ended = world.step(state, action)
        results = [naive(row, act) for row, act in zip(rows, action.tolist(), strict=True)]
        rows = [row for row, _, _ in results]
        np.testing.assert_array_equal(state, rows)
        np.testing.assert_array_equal(rewards, [reward for _, reward, _ in results])
        np.testing.assert_array_equal(ended, [end for _, _, end in results])
        counts += state.sum(0)
    assert (counts[7:11] > 100).all(), "every flag has been seen"


@pytest.mark.parametrize("start", ["right", "left"])
@pytest.mark.parametrize("variant", ["code", "paper"])
def test_starts_are_the_published_ones(variant, start):
    world, n = Shepherd(variant, start=start), 20_000
    state = world.initial(np.random.default_rng(0).random((n, world.num_draws)))
    columns = dict(zip(NAMES, state.T, strict=True))
    low_x = 1.0 if start == "right" else -5.0
    ranges = {
        "agent x": (low_x, 3.0),
        "agent y": (-2.0, 0.0),
        "sheep x": (1.5, 2.5),
        "sheep y": (0.945, 0.955),
        "wall height": (0.35, 0.65),
    }
    walls = {"agent x": (-0.95, 2.95), "agent y": (-0.95, -0.05), "sheep y": (-1.05, 0.95)}
    for name, (low, high) in ranges.items():
        values = columns[name]
        middle = np.median(values)
        if variant == "paper" and name in walls:
            assert values.min() >= walls[name][0]
            assert values.max() <= walls[name][1]
            continue
        assert low <= values.min() < low + 0.01 * (high - low)
        assert high - 0.01 * (high - low) < values.max() <= high
        assert middle == pytest.approx((low + high) / 2, abs=2 * (high - low) / math.sqrt(n))
    offset = state[:, 2:4] - state[:, :2]
    assert np.abs(offset).max() <= 0.05 + 1e-12
    assert (columns["carried"] == 1).all()
    assert not state[:, [7, 9, 10]].any()
    speeds = columns["sheep speed"]
    assert speeds.mean() == pytest.approx(0.025, abs=2e-4)
    assert (np.ptp(speeds) > 0.019) == (variant == "paper")
    assert np.ptp(speeds) in (0, pytest.approx(0.02, abs=1e-3))
    if start == "left" and variant == "code":
        assert (world.step(state, np.zeros((n, 3)))[0][:, 0] == -0.95).mean() == pytest.approx(
            4.05 / 8, abs=0.012
        )


def test_observations_are_the_documented_numbers():
    seen = WORLD.observe(np.array([PLAIN]))[0]
    assert seen.dtype == np.float32
    np.testing.assert_allclose(seen, [0.0, 0.0, 0.5, 0.0, 0.3, 0.9, 0.5], atol=1e-7)


# Start, what the published files hold, and how many of how many runs were accepted.
PUBLISHED = [
    ("left", "opens late", 8000, 132_000),
    ("right", "opens late, not caught", 8000, 41_000),
    ("right", "caught", 8000, 311_000),
    ("left", "stays closed", 8000, 10_150),
]


@pytest.fixture(scope="module")
def rates():
    found = {}
    for start, n in (("left", 10_000), ("right", 20_000)):
        rng = np.random.default_rng(2)
        world = Shepherd(start=start)
        policy = wandering_shepherd(rng, n, biased=start == "right")
        states, actions = roll_out(world, world.initial(rng.random((n, 8))), policy, 100)
        assert np.abs(actions).max() <= 1
        gate, caught = states[..., 7] > 0.5, states[100, :, 9] > 0.5
        late = ~gate[30] & gate[70]
        events = {"opens late": late, "opens late, not caught": late & ~caught, "caught": caught}
        events["stays closed"] = ~gate[100]
        found |= {(start, name): (event.mean(), n) for name, event in events.items()}
    return found


@pytest.mark.parametrize(("start", "event", "accepted", "total"), PUBLISHED)
def test_the_published_policy_gives_the_published_rates(start, event, accepted, total, rates):
    rate, n = rates[start, event]
    published = accepted / total
    error = math.sqrt(published * (1 - published) * (1 / n + 1 / total))
    assert rate == pytest.approx(published, abs=3 * error)


@pytest.mark.slow
def test_the_published_rates_come_out_with_many_worlds_too():
    rng, n, world = np.random.default_rng(7), 150_000, Shepherd()
    state, policy = world.initial(rng.random((n, 8))), wandering_shepherd(rng, n, biased=True)
    gates = {}
    for t in range(100):
        state = world.step(state, policy(t, state))[0]
        gates[t + 1] = state[:, 7] > 0.5
    caught = state[:, 9] > 0.5
    late = (~gates[30] & gates[70] & ~caught).mean()
    for rate, (_, _, accepted, total) in ((late, PUBLISHED[1]), (caught.mean(), PUBLISHED[2])):
        published = accepted / total
        error = math.sqrt(published * (1 - published) * (1 / n + 1 / total))
        assert rate == pytest.approx(published, abs=3 * error)


def test_the_wandering_agent_holds_by_turns_and_is_pushed_until_the_gate_opens():
    n, rng = 4000, np.random.default_rng(0)
    for biased in (False, True):
        policy = wandering_shepherd(rng, n, biased=biased)
        closed = np.tile(PLAIN, (n, 1))
        actions = np.stack([policy(t, closed) for t in range(100)])
        holds = actions[..., 2] > 0
        assert holds[0].all(), "it carries the cage at first"
        flips = (holds[1:] != holds[:-1]).mean()
        assert flips == pytest.approx(0.1, abs=4 * 0.3 / math.sqrt(99 * n))
        pushed = 1 - 0.98**99 if biased else 0  # by the last of 100 steps
        means = actions[-1].mean(0)
        assert means[0] == pytest.approx(-0.5 * pushed, abs=0.04)
        assert means[1] == pytest.approx(0.5 * pushed, abs=0.04)
        opened = np.tile(state_with(gate_open=1), (n, 1))
        assert np.abs(policy(100, opened)[:, :2].mean(0)).max() < 0.04


@pytest.mark.parametrize(
    ("start", "variant", "steps"),
    [("right", "code", 60), ("right", "paper", 60), ("left", "code", 100), ("left", "paper", 100)],
)
def test_the_task_is_solved_from_every_start(start, variant, steps):
    world = Shepherd(variant, start=start)
    state = world.initial(np.random.default_rng(0).random((5000, 8)))
    total = np.zeros(5000)
    for t in range(steps):
        state, reward, ended = world.step(state, solve_shepherd(t, state))
        total += reward
    assert (total == 1).all(), "within the 60 steps of the paper's planner where it starts there"
    assert ended.all()
