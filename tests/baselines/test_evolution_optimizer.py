"""The optimizer against naive loops, closed forms and itself restored."""

import copy
import json

import numpy as np
import pytest
from scipy.stats import rankdata

from iap_gym.baselines.evolution.optimizer import (
    BETA_1,
    BETA_2,
    EPSILON,
    EvolutionOptimizer,
    antithetic_gradient,
    centered_ranks,
    failed_last,
    pair_advantages,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_centered_ranks_equal_scipy_with_ties():
    values = np.array([3.0, -1.0, 3.0, 7.0, 0.0, 0.0, 0.0, 9.0])
    np.testing.assert_allclose(centered_ranks(values), (rankdata(values) - 1) / 7 - 0.5)
    assert centered_ranks([1.0, 5.0]).tolist() == [-0.5, 0.5]
    assert not centered_ranks(np.full(6, 2.0)).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_failed_candidates_share_the_lowest_rank(bad):
    ranks = centered_ranks(failed_last([1.0, bad, -1e300, bad]))
    assert ranks[1] == ranks[3] == ranks.min() < ranks[2]


def test_pair_advantages_ignore_what_a_pair_shares():
    fitness = np.array([1.0, 5.0, -2.0, 0.0, 6.0, -2.5])
    offset = np.array([100.0, -7.0, 3.0])
    shifted = fitness + np.tile(offset, 2)
    np.testing.assert_allclose(pair_advantages(fitness), [1, -1, 0.5, -1, 1, -0.5])
    np.testing.assert_allclose(pair_advantages(shifted), pair_advantages(fitness))


def test_pair_advantages_of_failed_candidates():
    values = failed_last([np.nan, 1.0, np.inf, 1.7e308, 2.0, -np.inf, np.nan, -1.7e308])
    plus = pair_advantages(values)[:4]
    assert plus.tolist() == [-np.inf, np.inf, 0.0, np.inf]


@pytest.mark.parametrize("shaping", ["population", "pairs"])
@pytest.mark.parametrize("decay", [1.0, 0.8])
def test_update_equals_the_printed_equations(shaping, decay):
    n, pairs, first_sigma, first_alpha, pull = 5, 4, 0.3, 0.07, 0.02
    center, scale = rng(1).normal(size=n), rng(2).uniform(0.1, 2.0, size=n)
    optimizer = EvolutionOptimizer(
        center,
        rng(3),
        population_size=2 * pairs,
        sigma=first_sigma,
        learning_rate=first_alpha,
        decay=decay,
        weight_decay=pull,
        scale=scale,
        shaping=shaping,
    )
    noise_source = rng(3)
    theta, m, v = center.copy(), np.zeros(n), np.zeros(n)
    for t in range(1, 6):
        sigma, alpha = first_sigma * decay ** (t - 1), first_alpha * decay ** (t - 1)
        assert optimizer.current_sigma == pytest.approx(sigma)
        candidates = optimizer.ask()
        eps = noise_source.standard_normal((pairs, n))
        fitness = np.array([np.sin(c).sum() - c[0] ** 2 for c in candidates])
        for i in range(pairs):
            for j in range(n):
                assert candidates[i, j] == pytest.approx(theta[j] + sigma * scale[j] * eps[i, j])
                assert candidates[i + pairs, j] == pytest.approx(
                    theta[j] - sigma * scale[j] * eps[i, j]
                )
        judged = fitness
        if shaping == "pairs":
            judged = np.concatenate(
                [fitness[:pairs] - fitness[pairs:], fitness[pairs:] - fitness[:pairs]]
            )
        u = (rankdata(judged) - 1) / (2 * pairs - 1) - 0.5
        for j in range(n):
            g = sum((u[i] - u[i + pairs]) * eps[i, j] for i in range(pairs))
            g = g / (2 * pairs * sigma) - pull * theta[j] / scale[j]
            m[j] = BETA_1 * m[j] + (1 - BETA_1) * g
            v[j] = BETA_2 * v[j] + (1 - BETA_2) * g**2
            theta[j] += (
                alpha
                * scale[j]
                * (m[j] / (1 - BETA_1**t))
                / (np.sqrt(v[j] / (1 - BETA_2**t)) + EPSILON)
            )
        optimizer.tell(fitness)
        np.testing.assert_allclose(optimizer.center, theta, rtol=1e-10)
    assert optimizer.generation == 5


def test_gradient_estimate_is_unbiased_on_a_linear_function():
    n, pairs, sigma, repeats = 6, 4, 0.5, 4000
    slope, x = rng(1).normal(size=n), rng(2).normal(size=n)
    source = rng(3)
    estimates = np.empty((repeats, n))
    for k in range(repeats):
        eps = source.standard_normal((pairs, n))
        raw = np.concatenate([(x + sigma * eps) @ slope, (x - sigma * eps) @ slope]) + 3.0
        estimates[k] = antithetic_gradient(raw, eps, sigma)
    error = estimates.std(axis=0) / np.sqrt(repeats)
    assert np.all(np.abs(estimates.mean(axis=0) - slope) < 4 * error)
    assert np.all(error < 0.05)  # tight enough that a factor of two would be seen


@pytest.mark.parametrize("shaping", ["population", "pairs"])
def test_solves_a_badly_scaled_quadratic(shaping):
    scale = 10.0 ** np.arange(-2, 3)
    goal = scale * np.array([1.0, -2.0, 0.5, 3.0, -1.0])
    optimizer = EvolutionOptimizer(
        np.zeros(5), rng(0), sigma=0.1, learning_rate=0.05, weight_decay=0.0, scale=scale,
        shaping=shaping,
    )  # fmt: skip
    for _ in range(300):
        optimizer.tell([-np.sum(((c - goal) / scale) ** 2) for c in optimizer.ask()])
    assert np.abs((optimizer.center - goal) / scale).max() < 0.1


def test_pairs_shaping_learns_under_noise_that_pairs_share():
    def error(shaping):
        optimizer = EvolutionOptimizer(
            np.full(4, 2.0), rng(0), population_size=16, weight_decay=0.0, shaping=shaping
        )
        weather = rng(1)
        for _ in range(150):
            fitness = np.array([-np.sum(c**2) for c in optimizer.ask()])
            optimizer.tell(fitness + np.tile(weather.normal(size=8) * 1000, 2))
        return np.linalg.norm(optimizer.center)

    assert error("pairs") < 0.2


def test_weight_decay_alone_shrinks_the_center():
    optimizer = EvolutionOptimizer(np.full(3, 5.0), rng(0), weight_decay=0.01)
    for _ in range(50):
        optimizer.tell(np.zeros(optimizer.ask().shape[0]))
    assert np.all(optimizer.center < 5.0 - 40 * 0.05)


def test_failed_candidates_are_never_followed():
    # The objective fails on the side where it would be largest.
    optimizer = EvolutionOptimizer(np.zeros(1), rng(0), weight_decay=0.0)
    for _ in range(100):
        asked = optimizer.ask()[:, 0]
        optimizer.tell(np.where(asked > 0.5, np.inf, asked))
    assert 0.2 < optimizer.center[0] < 0.6


def test_restored_optimizer_continues_bit_for_bit_also_through_json():
    def advance(optimizer, generations):
        for _ in range(generations):
            optimizer.tell([-np.sum((c - 1) ** 2) for c in optimizer.ask()])

    original = EvolutionOptimizer(np.zeros(7), rng(5), shaping="pairs", decay=0.9)
    advance(original, 3)
    original.ask()  # in the middle of a generation
    state = original.state_dict()
    kept = copy.deepcopy(state)
    state["rng"] = json.loads(json.dumps(state["rng"]))
    restored = EvolutionOptimizer(np.ones(7), rng(99), shaping="pairs", decay=0.9)
    restored.load_state_dict(state)
    advance(original, 4)
    advance(restored, 4)
    np.testing.assert_array_equal(restored.center, original.center)
    np.testing.assert_array_equal(restored.ask(), original.ask())
    np.testing.assert_array_equal(kept["center"], state["center"])  # shares no memory
    assert kept["rng"] == state["rng"]


def test_ask_repeats_itself_until_tell():
    optimizer = EvolutionOptimizer(np.zeros(3), rng(0))
    first = optimizer.ask()
    np.testing.assert_array_equal(optimizer.ask(), first)
    optimizer.tell(np.arange(32.0))
    assert not np.array_equal(optimizer.ask(), first)


def test_moving_the_center_keeps_the_sequence_of_noise():
    a, b = EvolutionOptimizer(np.zeros(3), rng(0)), EvolutionOptimizer(np.zeros(3), rng(0))
    a.ask()
    a.move_center(np.ones(3))
    np.testing.assert_allclose(a.ask() - 1, b.ask())


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"population_size": 7}, "population_size"),
        ({"population_size": 0}, "population_size"),
        ({"sigma": 0.0}, "sigma"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"decay": 0.0}, "decay"),
        ({"decay": 1.1}, "decay"),
        ({"weight_decay": float("nan")}, "weight_decay"),
        ({"scale": [1.0, 0.0]}, "scale"),
        ({"scale": [1.0]}, "scale"),
        ({"shaping": "rank"}, "shaping"),
        ({"center": [np.nan, 0.0]}, "center"),
        ({"center": [[1.0]]}, "center"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(ValueError, match=f"^{named}: expected"):
        EvolutionOptimizer(arguments.pop("center", np.zeros(2)), rng(), **arguments)


def test_bad_tells_and_states():
    optimizer = EvolutionOptimizer(np.zeros(2), rng(), population_size=4)
    with pytest.raises(RuntimeError, match="ask"):
        optimizer.tell(np.zeros(4))
    optimizer.ask()
    with pytest.raises(ValueError, match=r"fitness: expected shape \(4,\)"):
        optimizer.tell(np.zeros(3))
    with pytest.raises(ValueError, match="at least one finite"):
        optimizer.tell(np.full(4, np.nan))
    state = optimizer.state_dict()
    with pytest.raises(ValueError, match=r"state\['center'\]: .* of shape \(3,\)"):
        EvolutionOptimizer(np.zeros(3), rng()).load_state_dict(state)
    with pytest.raises(ValueError, match="entries"):
        optimizer.load_state_dict({"center": np.zeros(2)})
    philox = EvolutionOptimizer(np.zeros(2), np.random.Generator(np.random.Philox(0)))
    with pytest.raises(ValueError, match="Philox"):
        philox.load_state_dict(state)
