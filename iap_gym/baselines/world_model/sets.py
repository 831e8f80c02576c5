"""The data sets of a config, and whether they are those that it was trained on."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

from iap_gym import _checks
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.data import Sequences, data_file, load_or_make
from iap_gym.data.making import file_name, sequences_wanted

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
    if config.train_set.sequences < config.batch_size:
        least = f"at least the {config.batch_size} of a batch (batch_size)"
        raise _checks.refuse("sequences", least, config.train_set.sequences)
    sets = {
        key: Sequences(
            load_or_make(config.data, name, split, count, config.variant, workers), count
        )
        for key, (name, split, count) in wanted.items()
    }
    return sets.pop(TRAIN), sets


def open_set(config: ModelConfig, key: str) -> Sequences:
    """Load a set that a run was trained on, or evaluated on; nothing is made in its place.

    Args:
        config: of the run.
        key: "train", or of ``config.test_sets``.

    Raises:
        FileNotFoundError: it is not where it was.
        ValueError: it is another one.
    """
    name, split, count = {TRAIN: config.train_set, **config.test_sets}[key]
    path = data_file(config.data, name, split, count, config.variant)
    hint = "iap-gym train --resume RUN --data FOLDER names another folder"
    if not path.is_file():
        whole = file_name(name, split, config.variant)
        either = " nor ".join(dict.fromkeys((whole, path.name)))
        raise FileNotFoundError(f"{config.data} has no {either}, of which the run was made; {hint}")
    sequences = Sequences(load_or_make(config.data, name, split, count, config.variant), count)
    known = (config.data_sha256 or {}).get(key)
    if known is not None and known != sequences.checksum():
        raise ValueError(f"{path}: expected what the run was made with, got other data; {hint}")
    return sequences


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
