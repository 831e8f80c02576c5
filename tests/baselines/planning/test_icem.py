"""iCEM against closed forms, the published schedule, plain searches, and itself restored."""

import json

import numpy as np
import pytest
import torch

from iap_gym.baselines import ICEM

LOW, HIGH = np.array([-1.0, 0.0, -3.0]), np.array([1.0, 0.5, 5.0])


def rng(seed=0):
    return np.random.default_rng(seed)


def quadratic(target):
    return lambda actions: ((actions - target) ** 2).sum((1, 2))


class Recorder:
    """Costs of a quadratic, and all candidates that were asked for."""

    def __init__(self, target):
        self.cost = quadratic(target)
        self.asked = []

    def __call__(self, actions):
        self.asked.append(actions.copy())
        return self.cost(actions)


def planner(objective, horizon=8, seed=0, **settings):
    return ICEM(objective, LOW, HIGH, horizon, rng(seed), **settings)


def test_finds_the_optimum_of_a_quadratic():
    target = rng(1).uniform(LOW, HIGH, (4, 3))
    settings = {
        "iterations": 25,
        "noise_beta": 0,
        "decay": 1,
        "num_samples": 1024,
        "num_elites": 50,
    }
    search = planner(quadratic(target), 4, **settings)
    np.testing.assert_allclose(search.plan(), target[0], atol=0.01)
    # An optimum outside of the bounds is met on the bounds.
    search = planner(quadratic(HIGH + 1), 4, **settings)
    np.testing.assert_allclose(search.plan(), HIGH, atol=0.01)


def test_following_plans_improve_on_the_first():
    target = rng(2).uniform(LOW, HIGH, 3)
    search = planner(quadratic(target), noise_beta=1)
    errors = [np.linalg.norm(search.plan() - target) for _ in range(15)]
    assert max(errors[-5:]) < errors[0]


def test_the_budget_is_the_published_one():
    objective = Recorder(0)
    search = planner(objective)
    assert search.population_sizes == (256, 204, 163)  # floor(256 / 1.25^i)
    assert (search.num_elites, search.num_kept) == (10, 3)
    search.plan()
    assert [len(asked) for asked in objective.asked] == [256, 204, 163]
    search.plan()
    assert [len(asked) for asked in objective.asked[3:]] == [259, 204, 163]
    search.reset()
    search.plan()
    assert [len(asked) for asked in objective.asked[6:]] == [256, 204, 163]


def test_population_never_falls_below_twice_the_elites():
    search = planner(quadratic(0), num_samples=40, num_elites=9, iterations=8, decay=2)
    assert search.population_sizes == (40, 20, 18, 18, 18, 18, 18, 18)
    assert planner(quadratic(0), num_samples=7).num_elites == 3


def test_one_step_equals_the_printed_equations():
    """Replay the candidates: means, deviations, kept and shifted elites, and what comes out."""
    alpha, kept, horizon = 0.25, 2, 5
    target = rng(3).uniform(LOW, HIGH, (horizon, 3))
    objective = Recorder(target)
    settings = {"num_samples": 60, "num_elites": 6, "alpha": alpha, "keep_fraction": 0.34}
    search = planner(objective, horizon, **settings)
    action = search.plan()
    mean = np.tile((LOW + HIGH) / 2, (horizon, 1))
    elites, elite_costs = np.empty((0, horizon, 3)), np.empty(0)
    for i, asked in enumerate(objective.asked):
        if i == len(objective.asked) - 1:
            np.testing.assert_allclose(asked[0], mean, rtol=0, atol=1e-12)
        pool = np.concatenate([asked, elites[:kept]])
        costs = np.concatenate([objective.cost(asked), elite_costs[:kept]])
        order = np.argsort(costs, kind="stable")[:6]
        elites, elite_costs = pool[order], costs[order]
        mean = alpha * mean + (1 - alpha) * elites.mean(0)
    assert action.tolist() == elites[0, 0].tolist()
    state = search.state_dict()
    np.testing.assert_allclose(state["mean"], [*mean[1:], mean[-1]])
    np.testing.assert_array_equal(state["elites"], elites)
    # The next step begins with the shifted best, whose last actions are new.
    objective.asked.clear()
    search.plan()
    np.testing.assert_array_equal(objective.asked[0][60:, :-1], elites[:kept, 1:])
    assert len({*objective.asked[0][60:, -1, 0], *elites[:kept, -1, 0]}) == 2 * kept


@pytest.mark.parametrize("beta", [0.0, 3.0])
def test_samples_have_the_initial_deviation_around_the_middle(beta):
    objective = Recorder(0)
    ICEM(objective, [-10.0], [30.0], 6, rng(), num_samples=20_000, iterations=1, init_std=0.2,
         noise_beta=beta).plan()  # fmt: skip
    samples = objective.asked[0][1:, :, 0]  # the first is the mean
    np.testing.assert_allclose(samples.mean(0), 10, atol=5 * 4 / np.sqrt(20_000))
    np.testing.assert_allclose(samples.std(0), 4, rtol=0.03)
    correlated = np.corrcoef(samples[:, 0], samples[:, 1])[0, 1]
    assert abs(correlated) < 0.05 if beta == 0 else correlated > 0.5


def test_the_deviation_shrinks_within_a_step_and_begins_anew_with_the_next():
    objective = Recorder(rng(4).uniform(LOW, HIGH, (8, 3)))
    search = planner(objective)
    for _ in range(2):
        search.plan()
    first, _, third, again = (asked[1:250].std(0).mean() for asked in objective.asked[:4])
    assert third < 0.7 * first
    assert again == pytest.approx(first, rel=0.25)


def test_candidates_stay_within_the_bounds():
    objective = Recorder(HIGH)
    search = planner(objective, init_std=5.0)
    for _ in range(3):
        action = search.plan()
        assert ((action >= LOW) & (action <= HIGH)).all()
        assert action.shape == (3,)
    everything = np.concatenate(objective.asked)
    assert ((everything >= LOW) & (everything <= HIGH)).all()
    assert (everything == HIGH).any()


@pytest.mark.parametrize("bound", [0.1, 0.3, 0.7, 1.0, 1.1, 2.3])
def test_plans_at_a_bound_stay_within_it_to_the_last_bit(bound):
    """Means of numbers that are all the bound may be beyond it."""
    search = ICEM(lambda a: -a.sum((1, 2)), [-bound], [bound], 6, rng(), num_samples=64)
    for _ in range(20):
        assert -bound <= search.plan()[0] <= bound
        search.load_state_dict(search.state_dict())


def test_the_objective_may_spoil_what_it_is_given():
    def spoiling(actions):
        costs = quadratic(0.2)(actions)
        actions[:] = np.nan
        return costs

    assert planner(spoiling).plan().tolist() == planner(quadratic(0.2)).plan().tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_never_an_elite(bad):
    def costs(actions):
        return np.where(actions[:, :, 0].mean(1) > 0, bad, quadratic(HIGH)(actions))

    search = planner(costs)
    for _ in range(3):
        search.plan()
        elites = search.state_dict()["elites"]
        assert len(elites) == 10
        assert (elites[:, :, 0].mean(1) <= 0).all()
        assert np.isfinite(search.state_dict()["mean"]).all()


def test_fewer_finite_costs_than_elites_are_enough():
    def one(actions):
        costs = np.full(len(actions), np.nan)
        costs[5] = 1.0
        return costs

    search = planner(one)
    for _ in range(3):
        assert np.isfinite(search.plan()).all()
        assert 1 <= len(search.state_dict()["elites"]) <= 3


def test_no_finite_cost_at_all_is_an_error_that_changes_no_plan():
    broken = False

    def costs(actions):
        return np.full(len(actions), np.nan) if broken else quadratic(0.3)(actions)

    search = planner(costs)
    search.plan()
    before = search.state_dict()
    broken = True
    with pytest.raises(ValueError, match="objective: expected a finite cost of at least one cand"):
        search.plan()
    broken = False
    after = search.state_dict()
    for name in ("mean", "elites"):
        np.testing.assert_array_equal(after[name], before[name])
    search.plan()


@pytest.mark.parametrize("costs", [["a"] * 256, np.zeros(256, complex), None])
def test_costs_that_are_no_numbers_are_refused(costs):
    with pytest.raises(
        ValueError, match=r"^costs of objective: expected numbers of shape \(256,\)"
    ):
        planner(lambda actions: costs).plan()


def test_costs_with_gradients_are_named_and_those_without_are_numbers():
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)

    def cost(actions):
        return (torch.from_numpy(actions).mean(1) * weight).sum(1)

    with pytest.raises(ValueError, match=r"^costs of objective: .*\.detach\(\) .*requires grad$"):
        planner(cost).plan()
    planner(lambda actions: cost(actions).detach()).plan()


@pytest.mark.parametrize("shape", [(), (3,), (256, 1)])
def test_costs_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"costs of objective: expected numbers of shape \(256,\)"):
        planner(lambda actions: np.zeros(shape)).plan()


def test_reset_forgets():
    target = rng(6).uniform(LOW, HIGH, (8, 3))
    used, fresh = planner(quadratic(target)), planner(quadratic(target))
    for _ in range(3):
        used.plan()
    used.reset()
    state = fresh.state_dict()
    for name in ("mean", "elites"):
        np.testing.assert_array_equal(used.state_dict()[name], state[name])
    fresh.load_state_dict({**state, "rng": used.state_dict()["rng"]})
    assert used.plan().tolist() == fresh.plan().tolist()


def test_a_restored_planner_continues_to_the_bit():
    target = rng(7).uniform(LOW, HIGH, (8, 3))
    search = planner(quadratic(target))
    for _ in range(2):
        search.plan()
    state = search.state_dict()
    assert json.loads(json.dumps(state["rng"])) == state["rng"]
    kept = {name: np.array(state[name]) for name in ("mean", "elites")}
    expected = [search.plan().tolist() for _ in range(3)]
    for name, array in kept.items():  # a copy, which later plans do not touch
        np.testing.assert_array_equal(state[name], array)
    other = planner(quadratic(target), seed=99)
    other.load_state_dict(state)
    assert [other.plan().tolist() for _ in range(3)] == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"more": 1}, "state: expected the entries"),
        ({"mean": np.zeros((3, 3))}, r"state\['mean'\]"),
        ({"mean": np.full((8, 3), np.nan)}, r"state\['mean'\]"),
        ({"elites": np.zeros((2, 3, 3))}, r"state\['elites'\]"),
        ({"elites": np.zeros((11, 8, 3))}, r"state\['elites'\]"),
        ({"rng": {"bit_generator": "MT19937"}}, r"state\['rng'\]: expected a state of PCG64"),
    ],
)
def test_a_foreign_state_is_refused_by_name(change, message):
    search = planner(quadratic(0))
    with pytest.raises(ValueError, match=message):
        search.load_state_dict({**search.state_dict(), **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": 3}, "objective"),
        ({"action_low": [[0.0]]}, r"^action_low: expected finite numbers of shape \(A,\), got \["),
        ({"action_low": []}, r"^action_low: expected finite numbers of shape \(A,\), got \[\]"),
        ({"action_low": [-np.inf, 0, 0]}, "^action_low: expected finite numbers"),
        ({"action_low": ["-1", "a", "0"]}, "^action_low: expected finite numbers .* got \\['-1'"),
        ({"action_low": "abc"}, "^action_low: expected finite numbers .* got 'abc'"),
        ({"action_low": None}, "^action_low: expected finite numbers .* got None"),
        ({"action_low": torch.ones(3, requires_grad=True)}, "^action_low: .* got tensor"),
        ({"action_high": torch.ones(3, requires_grad=True)}, "^action_high: .* got tensor"),
        ({"action_high": ["a", "b", "c"]}, "^action_high: expected finite numbers .* got \\['a'"),
        ({"action_high": [1j, 1, 1]}, "^action_high: expected finite numbers .* got \\[1j"),
        ({"action_high": HIGH[:2]}, "^action_high: expected as many numbers as action_low has, 3"),
        ({"action_high": LOW}, "^action_high: expected numbers above action_low"),
        ({"horizon": 0}, "horizon"),
        ({"rng": 0}, "rng: expected a numpy Generator"),
        ({"num_samples": 1}, "num_samples"),
        ({"noise_beta": -1}, "noise_beta"),
        ({"num_elites": 0}, "num_elites"),
        ({"iterations": 0}, "iterations"),
        ({"init_std": 0}, "init_std"),
        ({"alpha": 1}, "alpha"),
        ({"decay": 0.5}, "decay"),
        ({"keep_fraction": 1.5}, "keep_fraction"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {
        "objective": quadratic(0), "action_low": LOW, "action_high": HIGH, "horizon": 5,
        "rng": rng(),
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        ICEM(**{**arguments, **change})


# A heavy point on a plane, a wall between it and its goal.
GOAL, WALL_X, WALL_Y = np.array([2.0, 0.0]), 1.0, 0.6
STEPS, HORIZON = 45, 25


def move(state, action):
    """Return the states (..., 4) of place and velocity after a step; the wall stops the point."""
    place, velocity = state[..., :2], 0.9 * state[..., 2:] + 0.02 * action
    moved = place + velocity
    hits = (place[..., :1] < WALL_X) & (moved[..., :1] >= WALL_X) & (moved[..., 1:] < WALL_Y)
    hits &= moved[..., 1:] > -2
    return np.concatenate([np.where(hits, place, moved), np.where(hits, 0, velocity)], -1)


def drive(make_search, seed):
    """Return the mean distance to the goal of a run that plans anew at each step."""
    state = np.zeros(4)

    def objective(actions):
        states, costs = np.tile(state, (len(actions), 1)), np.zeros(len(actions))
        for t in range(actions.shape[1]):
            states = move(states, actions[:, t])
            costs += np.linalg.norm(states[:, :2] - GOAL, axis=1)
        return costs

    plan = make_search(objective, rng(seed))
    total = 0.0
    for _ in range(STEPS):
        state = move(state, plan())
        total += np.linalg.norm(state[:2] - GOAL)
    return total / STEPS


def test_beats_plain_cem_and_random_shooting_with_the_same_budget():
    def improved(objective, rng):
        return ICEM(objective, [-1, -1], [1, 1], HORIZON, rng, num_samples=64).plan

    def plain(objective, rng):
        """CEM of the same number of evaluations: white noise, no memory but the mean."""
        mean = np.zeros((HORIZON, 2))

        def plan():
            nonlocal mean
            std = np.full_like(mean, 0.5)
            for _ in range(3):
                samples = np.clip(mean + std * rng.standard_normal((53, HORIZON, 2)), -1, 1)
                elites = samples[np.argsort(objective(samples))[:10]]
                mean = 0.1 * mean + 0.9 * elites.mean(0)
                std = 0.1 * std + 0.9 * elites.std(0)
            action = mean[0]
            mean = np.concatenate([mean[1:], mean[-1:]])
            return action

        return plan

    def shooting(objective, rng):
        def plan():
            samples = rng.uniform(-1, 1, (159, HORIZON, 2))
            return samples[np.argmin(objective(samples)), 0]

        return plan

    ours, cem, random = (
        np.mean([drive(search, seed) for seed in range(4)])
        for search in (improved, plain, shooting)
    )
    assert ours < 0.9 * cem
    assert ours < 0.8 * random


def test_a_state_with_plans_outside_the_bounds_is_refused():
    wide = ICEM(lambda plans: -plans.sum((1, 2)), [-1.0], [1.0], 5, np.random.default_rng(0))
    wide.plan()
    narrow = ICEM(lambda plans: -plans.sum((1, 2)), [-0.1], [0.1], 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"state\['mean'\]: expected actions within the bounds"):
        narrow.load_state_dict(wide.state_dict())
