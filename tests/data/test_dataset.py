"""Minibatches, and reading by name."""

import numpy as np
import pytest

from iap_gym.data import SequenceDataset, load


def test_batches_are_time_first_and_hold_each_sequence_once(small):
    dataset = load(small["shepherd"])
    rows = []
    for batch in dataset.batches(7, np.random.default_rng(0)):
        assert batch.observations.shape == (101, 7, 7)
        assert batch.actions.shape == (100, 7, 3)
        assert batch.rewards.shape == (100, 7)
        assert batch.info.shape == (101, 7, 4)
        for array, source in zip(batch[:4], dataset.arrays.values(), strict=True):
            assert array.dtype == np.float32
            assert array.flags.c_contiguous
            assert array.flags.writeable
            np.testing.assert_array_equal(array, source[batch.sequence].swapaxes(0, 1))
        np.testing.assert_array_equal(batch.category, dataset.category[batch.sequence])
        rows += batch.sequence.tolist()
    assert len(rows) == 91  # 13 of 7; five of the 96 are left out
    assert len(set(rows)) == 91
    assert rows != sorted(rows)


def test_the_order_comes_from_the_generator_alone(small):
    dataset = load(small["rrc-time"])
    first, again, other = (
        [batch.sequence.tolist() for batch in dataset.batches(96, np.random.default_rng(seed))]
        for seed in (0, 0, 1)
    )
    assert first == again != other
    assert sorted(first[0]) == sorted(other[0]) == list(range(96))


def test_every_sequence_comes_first_as_often(small):
    # Six sequences of each category: uniform numbers 0 to 5 have mean 2.5 and deviation 1.71.
    dataset = load(small["billiard"])
    rng = np.random.default_rng(0)
    first = [next(dataset.batches(16, rng, balanced=True)).sequence for _ in range(400)]
    by_category = {}
    for sequence in np.concatenate(first):
        by_category.setdefault(sequence % 16, []).append(sequence // 16)
    for places in by_category.values():
        assert len(places) == 400
        assert np.mean(places) == pytest.approx(2.5, abs=4 * 1.71 / 20)


def test_balanced_batches_hold_as_many_of_each_category(small):
    for name, kinds in (("billiard", 16), ("rrc-time", 2), ("rrc-random", 2), ("shepherd", 4)):
        dataset = load(small[name])
        batches = list(dataset.batches(32, np.random.default_rng(0), balanced=True))
        assert len(batches) == 3
        for batch in batches:
            counts = np.bincount(batch.category, minlength=kinds)
            np.testing.assert_array_equal(counts, 32 // kinds)
        rows = np.concatenate([batch.sequence for batch in batches])
        assert sorted(rows) == list(range(96))


def test_wrong_batch_sizes_are_named(small):
    dataset, rng = load(small["shepherd"]), np.random.default_rng(0)
    for size, balanced, wanted in (
        (0, False, r"an integer in \[1, 96\]"),
        (97, False, r"an integer in \[1, 96\]"),
        (30, True, "a multiple of the 4 categories"),
    ):
        with pytest.raises(ValueError, match=f"batch_size: expected {wanted}"):
            dataset.batches(size, rng, balanced=balanced)  # at the call, not at the first batch


@pytest.mark.parametrize("rng", [None, 0, np.random, np.random.RandomState(0)])
def test_what_is_no_generator_is_named(small, rng):
    dataset = load(small["shepherd"])
    for draw in (dataset.batches, dataset.rows_of_batches):
        with pytest.raises(ValueError, match="^rng: expected a numpy Generator, got "):
            draw(16, rng)


def test_it_says_what_it_is(small):
    text = "<SequenceDataset shepherd train: 96 sequences of 100 steps>"
    assert repr(load(small["shepherd"])) == text


def test_flags_are_columns_of_info(small):
    dataset = load(small["shepherd"])
    np.testing.assert_array_equal(dataset.flags("caught"), dataset.info[..., 2])
    with pytest.raises(ValueError, match="event: expected one of 'gate_open', 'carried'"):
        dataset.flags("pocketed")
    assert len(dataset) == 96
    assert dataset.steps == 100


def test_arrays_in_memory_make_a_data_set_too(small):
    stored = load(small["rrc-time"])
    arrays = {name: np.array(array) for name, array in stored.arrays.items()}
    dataset = SequenceDataset(stored.header, arrays)
    assert dataset.observations is arrays["observations"]
    with pytest.raises(ValueError, match="arrays: expected shapes that go with"):
        SequenceDataset(stored.header, {**arrays, "rewards": arrays["rewards"][:, 1:]})
