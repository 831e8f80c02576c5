"""Sequences to train and test on, from the data sets of ``iap_gym.data``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym import _checks
from iap_gym.data import SequenceDataset, load, make_dataset
from iap_gym.data.fetch import NAMES as FETCH
from iap_gym.data.file import SUFFIX, checksum_of
from iap_gym.data.making import NAMES, file_name, sequences_wanted, splits_of


class Sequences:
    """Observations and actions of the first sequences of a data set, in memory.

    Attributes:
        observations: float32 (N, T + 1, O).
        actions: float32 (N, T, A).

    Args:
        dataset: with at least N sequences.
        count: N, a multiple of the data set's categories; None is all.
        steps: first steps that are used, T; None is all.

    Raises:
        ValueError: a count or steps that the data set does not have.
    """

    def __init__(
        self, dataset: SequenceDataset, count: int | None = None, steps: int | None = None
    ) -> None:
        kinds = len(dataset.categories)
        count = len(dataset) if count is None else count
        if _checks.integer("count", count, kinds, len(dataset)) % kinds:
            raise _checks.refuse("count", f"a multiple of the {kinds} categories", count)
        steps = dataset.steps if steps is None else steps
        _checks.integer("steps", steps, 1, dataset.steps)
        header = {**dataset.header, "sequences": count, "steps": steps}
        arrays = {
            name: array[:count, : steps + (name in ("observations", "info"))]
            for name, array in dataset.arrays.items()
        }
        self._dataset = SequenceDataset(header, arrays)
        # copies: those of the data set lie on the disk, and torch wants to write
        self.observations = torch.from_numpy(np.array(self._dataset.observations))
        self.actions = torch.from_numpy(np.array(self._dataset.actions))

    def __len__(self) -> int:
        """N."""
        return len(self.observations)

    @property
    def steps(self) -> int:
        """T."""
        return self.actions.shape[1]

    @property
    def categories(self) -> int:
        """How many kinds of sequences there are, all equally frequent."""
        return len(self._dataset.categories)

    def checksum(self) -> str:
        """Return the sha256 of the numbers, those of the same sequences of a longer data set."""
        return checksum_of({}, self._dataset.arrays)

    def flags(self, event: str) -> NDArray[np.float32]:
        """Return the flags of an event, (N, T + 1).

        Raises:
            ValueError: there is no such event.
        """
        return self._dataset.flags(event)

    def only(self, row: int) -> Sequences:
        """Return one sequence alone.

        Raises:
            ValueError: there is no such sequence.
        """
        _checks.integer("row", row, 0, len(self) - 1)
        header = {**self._dataset.header, "sequences": 1, "categories": ["one"]}
        arrays = {name: array[row : row + 1] for name, array in self._dataset.arrays.items()}
        return Sequences(SequenceDataset(header, arrays))

    def batches(self, batch_size: int, rng: np.random.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield observations (T + 1, B, O) and actions (T, B, A) in random order, none twice.

        Each batch has as many sequences of every category, as the published trainings had it. An
        incomplete batch is left out.

        Args:
            batch_size: B, at most N, a multiple of the data set's categories.
            rng: the order comes from it.

        Raises:
            ValueError: another batch size.
        """
        for rows in self._dataset.rows_of_batches(batch_size, rng, balanced=True):
            index = torch.from_numpy(rows)
            # views: the kernel reads in any order, and torch copies as it joins
            yield (
                self.observations[index].transpose(0, 1),
                self.actions[index].transpose(0, 1),
            )

    def parts(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield observations and actions as ``batches``, all in their order, ``size`` at a time."""
        pairs = zip(self.observations.split(size), self.actions.split(size), strict=True)
        for observations, actions in pairs:
            yield observations.transpose(0, 1), actions.transpose(0, 1)


def data_file(
    folder: str | os.PathLike[str], name: str, split: str, count: int, variant: str = "code"
) -> Path:
    """Return where ``load_or_make`` looks for a set, or writes it."""
    whole = Path(folder) / file_name(name, split, variant)
    if whole.is_file() or split not in splits_of(name):
        return whole
    if count >= sequences_wanted(name, split, None):
        return whole
    return whole.with_name(f"{whole.stem}-{count}{SUFFIX}")


def load_or_make(
    folder: str | os.PathLike[str],
    name: str,
    split: str,
    count: int,
    variant: str = "code",
    workers: int = 1,
) -> SequenceDataset:
    """Open a data set with at least ``count`` sequences, made now if the folder has none.

    The whole published data set is taken where it lies in the folder or is asked for, so that runs
    of different sizes share it. Otherwise a file of ``count`` sequences gets that number in its
    name.

    Args:
        folder: of data sets, as ``iap-gym data make`` fills it.
        name: of the data set.
        split: "train", "val" or "test", of "fetch-grasp" also "gen".
        count: sequences wanted.
        variant: of the world, "code" or "paper".
        workers: processes that make a set of Fetch Pick and Place.

    Raises:
        ValueError: an unknown data set that is not in the folder, a count that its categories do
            not divide, or a file with fewer sequences or of something else.
    """
    _checks.one_of("name", name, NAMES)
    path = data_file(folder, name, split, count, variant)
    if not path.is_file():
        _checks.one_of("split", split, splits_of(name))
        # a process beside this one may do the same; both write the same bytes
        make_dataset(
            name, path, split, variant=variant, sequences=count, overwrite=True, workers=workers
        )
    dataset = load(path)
    found = tuple(dataset.header[key] for key in ("dataset", "split", "variant"))
    if found != (name, split, None if name in FETCH else variant):
        raise ValueError(f"{path}: expected {name} {split} ({variant}), got {found}")
    if len(dataset) < count:
        raise ValueError(
            f"{path}: expected at least {count} sequences, got {len(dataset)}; delete it to have "
            "it made anew"
        )
    return dataset
