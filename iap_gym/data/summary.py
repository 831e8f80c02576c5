"""What a data set holds, in words and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from iap_gym.data.collection import Count
from iap_gym.data.dataset import Array, SequenceDataset


def summary(dataset: SequenceDataset) -> list[str]:
    """Return lines about a data set: its header, its ranges, its events. All of it is read."""
    header = dataset.header
    shapes = ", ".join(f"{name} {array.shape}" for name, array in dataset.arrays.items())
    versions = ", ".join(f"{name} {version}" for name, version in header["versions"].items())
    lines = [f"{name:<12}{header[name]}" for name in ("dataset", "env", "variant", "split", "seed")]
    lines += [
        f"{'command':<12}{header['command']}",
        f"{'versions':<12}{versions}",
        f"{'sequences':<12}{len(dataset):,} of {dataset.steps} steps",
        f"{'arrays':<12}{shapes}",
        f"{'sha256':<12}{header['sha256']}",
    ]
    each = len(dataset) // len(dataset.categories)
    lines += [
        "",
        *_table(["category", "sequences"], ([n, f"{each:,}"] for n in dataset.categories)),
    ]
    if header["pools"]:
        lines += ["", *pool_table(dataset)]
    lines += ["", *_table(["column", "lowest", "highest", "mean"], _ranges(dataset))]
    if header["columns"]["info"]:
        titles = ["event", "of states", "at the start", "after it, not at it"]
        lines += ["", *_table(titles, _events(dataset))]
    return lines


def pool_table(dataset: SequenceDataset) -> list[str]:
    """Return a table of how many rollouts were tried for each pool, and accepted."""
    rows: list[list[str]] = []
    for name, counts in dataset.header["pools"].items():
        count = Count(**counts)
        numbers = [f"{number:,}" for number in count]
        rows.append([name, *numbers, _percent(count.accepted / count.tried)])
    return _table(["rollouts", *Count._fields, "acceptance"], rows)


def _ranges(dataset: SequenceDataset) -> Iterator[list[str]]:
    def row(name: str, values: Array) -> list[str]:
        mean = values.mean(dtype=np.float64)
        return [name, *(f"{number:.3f}" for number in (values.min(), values.max(), mean))]

    for kind in ("observations", "actions"):
        array = dataset.arrays[kind]
        for column, name in enumerate(dataset.header["columns"][kind]):
            yield row(f"{kind[:-1]} {name}", array[:, :, column])
    yield row("reward", dataset.rewards)


def _events(dataset: SequenceDataset) -> Iterator[list[str]]:
    for event in dataset.header["columns"]["info"]:
        flags = dataset.flags(event) > 0.5
        later = flags.any(1) & ~flags[:, 0]
        shares = (flags.mean(), flags[:, 0].mean(), later.mean())
        yield [event, *(_percent(share) for share in shares)]


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def _table(titles: Sequence[str], rows: Iterable[list[str]]) -> list[str]:
    """Return lines with the first column to the left, and the others to the right."""
    table = [list(titles), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(titles))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
