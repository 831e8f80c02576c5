"""Sequences to train on, and where they come from."""

import numpy as np
import pytest
import torch

from iap_gym.baselines.world_model.data import Sequences, load_or_make
from iap_gym.data import load, make_dataset


def test_batches_have_every_sequence_once_and_all_categories(small, sets, data_folder):
    train, _ = sets
    dataset = load(f"{data_folder}/rrc-time-train-64.safetensors")
    np.testing.assert_array_equal(train.observations, dataset.observations)
    assert train.steps == 49
    found = []
    for observations, actions in train.batches(32, np.random.default_rng(0)):
        assert observations.shape == (50, 32, 4)
        assert actions.shape == (49, 32, 2)
        starts = observations[0].numpy()
        rows = [int(np.flatnonzero((dataset.observations[:, 0] == s).all(1))[0]) for s in starts]
        for column, row in enumerate(rows):
            np.testing.assert_array_equal(observations[:, column], dataset.observations[row])
            np.testing.assert_array_equal(actions[:, column], dataset.actions[row])
        assert np.bincount(dataset.category[rows]).tolist() == [16, 16]
        found += rows
    assert sorted(found) == list(range(64))
    first = next(train.batches(32, np.random.default_rng(0)))[0]
    assert torch.equal(first, next(train.batches(32, np.random.default_rng(0)))[0])


def test_parts_are_all_sequences_in_their_order(sets):
    train, _ = sets
    parts = [observations for observations, _ in train.parts(40)]
    assert [part.shape[1] for part in parts] == [40, 24]
    assert torch.equal(torch.cat(parts, 1).transpose(0, 1), train.observations)


def test_first_sequences_and_first_steps(data_folder, sets):
    dataset = load(f"{data_folder}/rrc-time-train-64.safetensors")
    some = Sequences(dataset, 10, 7)
    assert some.observations.shape == (10, 8, 4)
    np.testing.assert_array_equal(some.actions, dataset.actions[:10, :7])
    np.testing.assert_array_equal(some.flags("controlled"), dataset.flags("controlled")[:10, :8])
    for count, steps, message in (
        (11, None, r"count: expected a multiple of the 2 categories, got 11"),
        (66, None, r"count: expected an integer in \[2, 64\]"),
        (None, 50, r"steps: expected an integer in \[1, 49\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Sequences(dataset, count, steps)


def test_data_sets_are_made_once(tmp_path):
    made = load_or_make(tmp_path, "rrc-random", "val", 4)
    path = tmp_path / "rrc-random-val-4.safetensors"
    assert len(made) == 4
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    before = path.stat().st_mtime_ns
    load_or_make(tmp_path, "rrc-random", "val", 4)
    assert path.stat().st_mtime_ns == before


def test_a_whole_data_set_in_the_folder_is_taken(tmp_path):
    make_dataset("rrc-random", tmp_path / "rrc-random-val.safetensors", "val", sequences=6)
    assert len(load_or_make(tmp_path, "rrc-random", "val", 4)) == 6
    with pytest.raises(ValueError, match=r"expected at least 8 sequences, got 6; delete it"):
        load_or_make(tmp_path, "rrc-random", "val", 8)
    # something else under that name
    make_dataset("rrc-time", tmp_path / "rrc-random-test.safetensors", "test", sequences=4)
    with pytest.raises(ValueError, match=r"expected rrc-random test \(code\), got \('rrc-time'"):
        load_or_make(tmp_path, "rrc-random", "test", 4)


def test_unknown_data_sets(tmp_path):
    with pytest.raises(ValueError, match=r"name: expected one of 'billiard'"):
        load_or_make(tmp_path, "chess", "train", 4)
    with pytest.raises(ValueError, match=r"sequences: expected a multiple of 2"):
        load_or_make(tmp_path, "rrc-time", "train", 5)


def test_fetch_sets_are_made(tmp_path):
    """Their files have no variant, and a split that no planar set has."""
    pytest.importorskip("gymnasium_robotics")
    made = load_or_make(tmp_path, "fetch-grasp", "gen", 2)
    assert [file.name for file in tmp_path.iterdir()] == ["fetch-grasp-gen-2.safetensors"]
    assert Sequences(made).observations.shape == (2, 26, 11)
    with pytest.raises(ValueError, match=r"split: expected one of 'train'"):
        load_or_make(tmp_path, "fetch-diverse", "gen", 4)
