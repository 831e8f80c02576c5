"""The data sets of a config, and whether they are those that it was trained on."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.data import Sequences, load_or_make
from iap_gym.data.making import sequences_wanted

TRAIN = "train"


def load_sets(config: ModelConfig, workers: int = 1) -> tuple[Sequences, dict[str, Sequences]]:
    """Load what a config trains on, and what it evaluates on by name; make what is not there.

    Args:
        config: names them.
        workers: processes that make sets of Fetch Pick and Place.

    Raises:
        ValueError: numbers of sequences that the data sets do not have.
    """
    wanted = {TRAIN: config.train_set, **config.test_sets}
    for key, (name, split, count) in wanted.items():  # before any is made
        sequences_wanted(name, split, count, "sequences" if key == TRAIN else "test_sequences")
    sets = {
        key: Sequences(
            load_or_make(config.data, name, split, count, config.variant, workers), count
        )
        for key, (name, split, count) in wanted.items()
    }
    return sets.pop(TRAIN), sets


def check_data(
    config: ModelConfig, train: Sequences, tests: Mapping[str, Sequences]
) -> ModelConfig:
    """Return a config with the checksums of its data sets and their folder's absolute path.

    Raises:
        ValueError: it has other checksums already.
    """
    found = {key: sequences.checksum() for key, sequences in {TRAIN: train, **tests}.items()}
    folder = os.fspath(Path(config.data).resolve())
    known = config.data_sha256
    if known is not None and known != found:
        others = sorted(key for key in {**known, **found} if known.get(key) != found.get(key))
        raise ValueError(
            f"data: expected the data sets that the run was trained on, got others in {folder}: "
            f"{', '.join(others)}; name the folder that has them with --data"
        )
    return dataclasses.replace(config, data=folder, data_sha256=found)
