"""The data sets: rules, balance, published rates, and that they are rollouts of the worlds."""

import math

import gymnasium
import numpy as np
import pytest

import iap_gym  # noqa: F401
from iap_gym.data import load, make_dataset
from iap_gym.data.collection import CHUNK
from iap_gym.data.recipes import NAMES, SPLITS, make_recipe
from iap_gym.envs.planar import billiard_ball as billiard

# Sequences of train, val and test; states, and numbers of an observation and an action.
PUBLISHED = {
    "billiard": ((12_800, 3_200, 3_200), 51, 2, 0),
    "rrc-time": ((6_400, 6_400, 6_400), 50, 4, 2),
    "rrc-random": ((6_400, 6_400, 6_400), 50, 4, 2),
    "shepherd": ((12_800, 6_400, 12_800), 101, 7, 3),
}
# Accepted rollouts of a published file, and how many were tried for it.
ACCEPTED = 8_000
TRIED = {
    ("rrc-time", "controlled"): 136_000,
    ("rrc-random", "controlled"): 91_000,
    ("shepherd", "gate opens, start left"): 132_000,
    ("shepherd", "gate opens, start right"): 41_000,
    ("shepherd", "sheep caught, start right"): 311_000,
    ("shepherd", "gate closed, start left"): 10_000,
}


def by_category(dataset, values):
    """Return {category: rows of values}."""
    return {
        name: values[number :: len(dataset.categories)]
        for number, name in enumerate(dataset.categories)
    }


def check_rules(dataset):
    """Compare flags with the rules, written out anew."""
    name = dataset.header["dataset"]
    if name.startswith("rrc"):
        flags = by_category(dataset, dataset.flags("controlled") > 0.5)
        assert not flags["not controlled"].any()
        # What the last action did was not stored in the published code, but it counted.
        shown = flags["controlled"].any(1).mean()
        assert shown == 1 if dataset.header["variant"] == "paper" else 0.9 < shown <= 1
        return
    if name == "shepherd":
        gate = by_category(dataset, dataset.flags("gate_open") > 0.5)
        caught = by_category(dataset, dataset.flags("caught") > 0.5)
        assert not gate["gate closed, start left"][:, 100].any()
        for kind in ("gate opens, start left", "gate opens, start right"):
            assert not gate[kind][:, 30].any()
            assert gate[kind][:, 70].all()
        assert not caught["gate opens, start right"][:, 100].any()
        assert caught["sheep caught, start right"][:, 100].all()
        # Agents that start on the left do so with half of their starts beyond the wall.
        x = by_category(dataset, dataset.observations[:, 0, 0])
        for kind, places in x.items():
            assert (places.min() < -0.5) == kind.endswith("left")
        return
    pocketed = by_category(dataset, dataset.flags("pocketed") > 0.5)
    for kind, flags in pocketed.items():
        pool, _, start = kind.partition("@")
        drop = int(pool.rpartition("_")[2]) if pool.startswith("pocket") else 1000
        assert flags[:, 0].all() == flags[:, 0].any() == (int(start) >= drop)
        assert flags[:, 50].all() == flags[:, 50].any() == (int(start) + 50 >= drop)


@pytest.mark.parametrize("variant", ["code", "paper"])
@pytest.mark.parametrize("name", NAMES)
def test_every_sequence_fulfils_the_rule_of_its_category(name, variant, tmp_path):
    dataset = make_dataset(name, tmp_path / "a.safetensors", sequences=192, variant=variant)
    check_rules(dataset)
    assert dataset.header["variant"] == variant
    assert np.isfinite(dataset.observations).all()
    assert np.abs(dataset.actions).max(initial=0) <= 1
    assert set(np.unique(dataset.info)) <= {0, 1}


def test_sizes_are_the_published_ones():
    for name, (sizes, states, seen, done) in PUBLISHED.items():
        recipe = make_recipe(name)
        assert tuple(recipe.sizes[split] for split in SPLITS) == sizes
        world = recipe.pools[0].world
        assert (recipe.steps + 1, *world.observation_space().shape) == (states, seen)
        assert world.action_size == len(recipe.action_names) == done
        assert all(size % len(recipe.categories) == 0 for size in sizes)


def test_billiard_has_sixteen_kinds_of_windows_of_which_three_drop_and_one_has_dropped(small):
    dataset = load(small["billiard"])
    pocketed = dataset.flags("pocketed") > 0.5
    assert len(dataset.categories) == 16
    assert (~pocketed[:, 0] & pocketed[:, -1]).mean() == 3 / 16
    assert pocketed[:, 0].mean() == 1 / 16


def test_windows_of_one_run_follow_one_another(small):
    windows = by_category(load(small["billiard"]), load(small["billiard"]).observations)
    for pool in ("pocket_drop_100", "pocket_drop_150", "no_pocket_drop_1", "no_pocket_drop_3"):
        first, second, third = (windows[f"{pool}@{start}"] for start in (0, 50, 100))
        np.testing.assert_array_equal(first[:, -1], second[:, 0])
        np.testing.assert_array_equal(second[:, -1], third[:, 0])


@pytest.mark.parametrize("name", ["rrc-time", "rrc-random", "shepherd"])
def test_sequences_are_episodes_of_the_environment(name, small):
    dataset = load(small[name])
    env = gymnasium.make(dataset.header["env"]).unwrapped
    event_names = dataset.header["columns"]["info"]
    for row in range(0, 96, 3):
        start = dataset.observations[row, 0].astype(float)
        if name == "shepherd":  # scaled in the docstring of the environment
            start[:4] = start[:4] / 0.5 + [1, -0.5, 1, -0.5]
            start[4] += 2
            state = [*start, 0, 1, 0, 0, 0.025]  # the cage is carried, the sheep walks 0.025
        else:
            state = [*start, 0]
        env.set_state(np.clip(state, *env.world.state_bounds))
        for t in range(dataset.steps):
            seen, reward, _, _, events = env.step(dataset.actions[row, t])
            np.testing.assert_allclose(seen, dataset.observations[row, t + 1], atol=1e-5)
            assert reward == dataset.rewards[row, t]
            assert [events[event] for event in event_names] == dataset.info[row, t + 1].tolist()


def test_billiard_windows_are_episodes_of_the_environment(small):
    dataset = load(small["billiard"])
    env = gymnasium.make(dataset.header["env"]).unwrapped
    checked = 0
    for row in np.flatnonzero(~(dataset.info[:, :2] > 0.5).any((1, 2))):
        places = dataset.observations[row].astype(float) * billiard.HALF
        # Without a cushion in the first step the ball loses nothing but to drag.
        velocity = (places[1] - places[0]) * billiard.DRAG / -math.expm1(-billiard.DRAG)
        env.set_state([*places[0], *velocity, 0, 0])
        seen = np.array([env.step(0)[0] for _ in range(50)])
        checked += np.allclose(seen, dataset.observations[row, 1:], atol=1e-3)
    # Where a ball grazes a pocket, float32 places do not say whether it drops.
    assert checked >= 80


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bytes_and_all_else_other_sequences(name, tmp_path):
    def made(file, **changes):
        path = tmp_path / file
        dataset = make_dataset(**{"name": name, "path": path, "sequences": 32, **changes})
        # A ball that lies in one of six pockets is in the same sequence as any other in it.
        moving = (np.ptp(dataset.observations, axis=1) > 0).any(1)
        return path.read_bytes(), [rows.tobytes() for rows in dataset.observations[moving]]

    first, seen = made("a")
    assert made("b")[0] == first
    for number, changes in enumerate(
        ({"split": "val"}, {"split": "test"}, {"seed": 1}, {"name": NAMES[NAMES.index(name) - 1]})
    ):
        other, sequences = made(str(number), **changes)
        assert other != first
        seen += sequences
    assert len(set(seen)) == len(seen)


def test_the_two_sets_of_one_world_start_differently(small):
    time, random = (load(small[f"rrc-{kind}"]).observations[:, 0] for kind in ("time", "random"))
    assert not {row.tobytes() for row in time} & {row.tobytes() for row in random}


def test_actions_of_robot_remote_control_are_those_of_the_variant(small, tmp_path):
    ramp = np.linspace(1e-4, 1, 50)[:49]
    lengths = np.linalg.norm(load(small["rrc-time"]).actions, axis=2)
    np.testing.assert_allclose(lengths, np.broadcast_to(ramp, (96, 49)), rtol=1e-5)
    paper = make_dataset("rrc-time", tmp_path / "a", sequences=96, variant="paper").actions
    # Uniform numbers in [-1, 1] have the mean square 1/3, and that the deviation 0.298.
    square = (paper / ramp[:, None]) ** 2
    assert square.max() <= 1 + 1e-5
    assert square.mean() == pytest.approx(1 / 3, abs=5 * 0.298 / np.sqrt(square.size))
    for actions in (load(small["rrc-random"]).actions, load(small["shepherd"]).actions[..., :1]):
        assert np.abs(actions).max() > 0.99


@pytest.mark.parametrize("name", NAMES)
def test_a_smaller_data_set_is_the_beginning_of_a_larger_one(name, small, tmp_path):
    larger, smaller = load(small[name]), make_dataset(name, tmp_path / "s", sequences=32)
    for part, whole in zip(smaller.arrays.values(), larger.arrays.values(), strict=True):
        np.testing.assert_array_equal(part, whole[:32])


def check_rates(dataset):
    """Compare with the published rates, which have errors of their own."""
    for pool, count in dataset.header["pools"].items():
        if (dataset.header["dataset"], pool) in TRIED:
            published = ACCEPTED / TRIED[dataset.header["dataset"], pool]
            parts = 1 / count["tried"] + 1 / TRIED[dataset.header["dataset"], pool]
            error = math.sqrt(published * (1 - published) * parts)
            assert count["accepted"] / count["tried"] == pytest.approx(published, abs=3 * error)


@pytest.mark.parametrize("name", ["rrc-time", "rrc-random", "shepherd"])
def test_acceptance_rates_are_the_published_ones(name, tmp_path):
    sequences = 6_400 if name.startswith("rrc") else 1_600
    dataset = make_dataset(name, tmp_path / "a", sequences=sequences)
    check_rates(dataset)
    for count in dataset.header["pools"].values():
        assert count["kept"] == sequences // len(dataset.categories)
        assert count["kept"] <= count["accepted"] <= count["tried"]
        assert count["tried"] % CHUNK == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_whole_data_sets_have_the_published_sizes_rates_and_balance(name, tmp_path):
    sizes, states, seen, done = PUBLISHED[name]
    starts = set()
    for split, size in zip(SPLITS, sizes, strict=True):
        dataset = make_dataset(name, tmp_path / split, split)
        assert dataset.observations.shape == (size, states, seen)
        assert dataset.actions.shape == (size, states - 1, done)
        check_rules(dataset)
        check_rates(dataset)
        moving = dataset.observations[(np.ptp(dataset.observations, axis=1) > 0).any(1)]
        sequences = {rows.tobytes() for rows in moving}
        assert len(sequences) == len(moving)
        assert not starts & sequences
        starts |= sequences


def test_progress_ends_with_everything_kept(tmp_path):
    steps = []
    make_dataset(
        "shepherd", tmp_path / "a", sequences=400, progress=lambda *step: steps.append(step)
    )
    assert steps == sorted(steps)
    assert steps[-1] == (400, 400)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "pool"}, "name: expected one of 'billiard', 'rrc-time'"),
        ({"split": "all"}, "split: expected one of 'train', 'val', 'test', got 'all'"),
        ({"variant": "both"}, "variant: expected one of 'code', 'paper', got 'both'"),
        ({"seed": -1}, "seed: expected an integer >= 0, got -1"),
        ({"sequences": 0}, "sequences: expected an integer >= 1, got 0"),
        ({"sequences": 6}, "sequences: expected a multiple of 4, the categories of shepherd"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_is_written(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        make_dataset(**{"name": "shepherd", "path": tmp_path / "folder" / "a", **changes})
    assert not list(tmp_path.iterdir())
