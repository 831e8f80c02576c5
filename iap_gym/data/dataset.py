"""A data set in memory or, mapped, on the disk; and minibatches of its sequences."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.data import file

Array = NDArray[np.float32]

ARRAYS = ("observations", "actions", "rewards", "info")
HEADER = (
    *("dataset", "env", "variant", "split", "seed", "sequences", "steps", "command", "versions"),
    *("categories", "pools", "columns"),
)


class Batch(NamedTuple):
    """B sequences, time first; everything float32 but the last two, which are int64."""

    observations: Array  # (T + 1, B, O)
    actions: Array  # (T, B, A)
    rewards: Array  # (T, B)
    info: Array  # (T + 1, B, K)
    category: NDArray[np.int64]  # (B,)
    sequence: NDArray[np.int64]  # (B,), which of the data set


class SequenceDataset:
    """N sequences of T steps; action t leads from state t to state t + 1.

    Attributes:
        observations: float32 (N, T + 1, O).
        actions: float32 (N, T, A); A may be 0.
        rewards: float32 (N, T), of the action.
        info: float32 (N, T + 1, K), flags of the states, 0 or 1.
        header: what the file says of itself: ``dataset``, ``env``, ``variant``, ``split``,
            ``seed``, ``sequences``, ``steps``, ``command``, ``versions``, ``categories``,
            ``pools`` (rollouts tried, accepted and kept), ``columns`` (names of the O, A and K
            numbers), and ``sha256``.

    Args:
        header: as above.
        arrays: the four arrays by name.

    Raises:
        ValueError: arrays whose shapes do not go together, or not with the header.
    """

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        shapes = {name: arrays[name].shape for name in ARRAYS if name in arrays}
        columns = header.get("columns", {})
        try:
            n, states, _ = shapes["observations"]
            wanted = {
                "observations": (n, states, len(columns["observations"])),
                "actions": (n, states - 1, len(columns["actions"])),
                "rewards": (n, states - 1),
                "info": (n, states, len(columns["info"])),
            }
            whole = shapes == wanted and len(arrays) == len(wanted) and set(HEADER) <= set(header)
            whole = whole and n > 0 and states > 1 and n % len(header["categories"]) == 0
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            whole = False
        if not whole:
            raise _checks.refuse("arrays", "shapes that go with the header's columns", shapes)
        self.header = dict(header)
        self.observations = arrays["observations"]
        self.actions = arrays["actions"]
        self.rewards = arrays["rewards"]
        self.info = arrays["info"]

    def __len__(self) -> int:
        """Number of sequences."""
        return len(self.observations)

    @property
    def arrays(self) -> dict[str, Array]:
        """The four arrays by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def steps(self) -> int:
        """T, the steps of a sequence."""
        return self.actions.shape[1]

    def __repr__(self) -> str:
        """Name it and its sizes."""
        about = " ".join(str(self.header[key]) for key in ("dataset", "split") if self.header[key])
        return f"<SequenceDataset {about}: {len(self)} sequences of {self.steps} steps>"

    @property
    def categories(self) -> tuple[str, ...]:
        """Names of the kinds of sequences, all equally frequent."""
        return tuple(self.header["categories"])

    @property
    def category(self) -> NDArray[np.int64]:
        """The kind of each sequence, int64 (N,): i modulo the number of ``categories``."""
        return np.arange(len(self), dtype=np.int64) % len(self.categories)

    def flags(self, event: str) -> Array:
        """Return one column of ``info``, (N, T + 1).

        Raises:
            ValueError: there is no such event.
        """
        names = self.header["columns"]["info"]
        return self.info[:, :, names.index(_checks.one_of("event", event, names))]

    def batches(
        self, batch_size: int, rng: np.random.Generator, *, balanced: bool = False
    ) -> Iterator[Batch]:
        """Return the sequences in random order, each at most once; an incomplete batch is left out.

        Args:
            batch_size: B, at most N.
            rng: the order comes from it.
            balanced: as many of every category in each batch, as the published trainings had it;
                ``batch_size`` is a multiple of their number.

        Raises:
            ValueError: another batch size, or ``rng`` is no generator.
        """
        return map(self._batch, self.rows_of_batches(batch_size, rng, balanced=balanced))

    def rows_of_batches(
        self, batch_size: int, rng: np.random.Generator, *, balanced: bool = False
    ) -> Iterator[NDArray[np.int64]]:
        """Return which sequences are in each of the ``batches``, int64 (B,).

        Raises:
            ValueError: another batch size, or ``rng`` is no generator.
        """
        _checks.integer("batch_size", batch_size, 1, len(self))
        _checks.instance("rng", rng, np.random.Generator, "a numpy Generator")
        kinds = len(self.categories) if balanced else 1
        if batch_size % kinds:
            raise _checks.refuse("batch_size", f"a multiple of the {kinds} categories", batch_size)
        # Row k: the sequences that are k modulo ``kinds``, shuffled.
        order = np.arange(len(self), dtype=np.int64).reshape(-1, kinds).T
        order = rng.permuted(order, axis=1)
        each = batch_size // kinds
        starts = range(0, order.shape[1] - each + 1, each)
        return (order[:, start : start + each].reshape(-1) for start in starts)

    def _batch(self, rows: NDArray[np.int64]) -> Batch:
        observations, actions, rewards, info = (
            np.ascontiguousarray(array[rows].swapaxes(0, 1)) for array in self.arrays.values()
        )
        kinds = rows % len(self.categories)
        return Batch(observations, actions, rewards, info, kinds, rows)


def load(path: str | os.PathLike[str]) -> SequenceDataset:
    """Open a data set; its arrays are mapped, so that only what is used is read.

    Args:
        path: of a file that ``make_dataset`` or ``iap-gym data`` wrote.

    Raises:
        FileNotFoundError: there is no file.
        DataFileError: it is truncated, of another version, damaged, or no data set.
    """
    header, arrays = file.read(path)
    try:
        return SequenceDataset(header, arrays)
    except ValueError as error:
        raise file.DataFileError(f"{path} is damaged: {error}") from error
