"""``iap-gym data``: make, look at and exchange the data sets of the GateL0RD paper."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from pathlib import Path
from typing import Any

from iap_gym._checks import integer, one_of
from iap_gym.cli.arguments import add_pairs, at_least, pairs
from iap_gym.data import from_minari, load, make_dataset, to_minari
from iap_gym.data.fetch import SPLITS
from iap_gym.data.file import SUFFIX, verify
from iap_gym.data.making import (
    NAMES,
    check_target,
    check_variant,
    file_name,
    is_made,
    sequences_wanted,
    splits_of,
    wanted_header,
)
from iap_gym.data.parts import all_cores
from iap_gym.data.summary import pool_table, summary
from iap_gym.envs.planar.world import VARIANTS

BAR = 30  # characters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the four actions."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    make = actions.add_parser("make", help="collect a published data set anew")
    make.add_argument("name", metavar="NAME", choices=NAMES, help=", ".join(NAMES))
    make.add_argument("--split", choices=(*SPLITS, "all"), help="default: all")
    make.add_argument("--seed", type=at_least(0), default=0, help="(%(default)s)")
    make.add_argument("--variant", choices=VARIANTS, default="code", help="(%(default)s)")
    make.add_argument(
        "--sequences", type=at_least(1), help="of each split; default: as many as were published"
    )
    make.add_argument(
        "--out",
        type=Path,
        default=Path("data"),
        help=f"a folder, or for one split a file (…{SUFFIX}); default: %(default)s",
    )
    make.add_argument(
        "--showpiece",
        type=at_least(1),
        metavar="N",
        help="of fetch-diverse: instead, N sequences (at most 100) that iCEM plans on the true "
        "simulator, with a quarter of an hour of a core for each; without --split, --sequences",
    )
    add_pairs(make, "--planner", "of --showpiece: num_samples=64 horizon=12 and the like")
    make.add_argument(
        "--workers",
        type=at_least(1),
        default=all_cores(),
        help="processes for the Fetch sets; default: all cores, here %(default)s",
    )
    _add_writing(make)

    info = actions.add_parser("info", help="header, ranges and events of a data set")
    info.add_argument("file", metavar="FILE")
    info.add_argument("--verify", action="store_true", help="compare the checksum first")

    to = actions.add_parser("to-minari", help="write a data set into Minari's folder")
    to.add_argument("file", metavar="FILE")
    to.add_argument("--id", required=True, help="for Minari: name-v0 or namespace/name-v0")
    to.add_argument("--no-progress", action="store_true", help="no progress bar")

    back = actions.add_parser("from-minari", help="write a data set of Minari's folder into a file")
    back.add_argument("id", metavar="ID", help="Minari's: name-v0 or namespace/name-v0")
    back.add_argument("--out", type=Path, required=True, metavar="FILE", help=f"…{SUFFIX}")
    _add_writing(back)


def _add_writing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked."""
    action = {"make": make, "info": info, "to-minari": export, "from-minari": bring}
    return action[arguments.action](arguments)


def make(arguments: argparse.Namespace) -> int:
    """Collect one split or all, each into a file."""
    name, variant = arguments.name, arguments.variant
    if arguments.showpiece is not None:
        return plan(arguments)
    if arguments.planner:
        raise ValueError("--planner: expected --showpiece with it")
    splits = splits_of(name) if arguments.split in (None, "all") else (arguments.split,)
    check_variant(name, variant)
    sizes: list[int] = []
    for split in splits:
        one_of("--split", split, splits_of(name))
        sizes.append(sequences_wanted(name, split, arguments.sequences))
    files = target_files(arguments.out, name, variant, splits)
    missing: list[tuple[str, Path]] = []
    for split, file, size in zip(splits, files, sizes, strict=True):  # before the first is made
        wanted = wanted_header(name, split, arguments.seed, variant, size)
        if not arguments.force and _is_there(file, wanted):
            continue
        check_target(file, overwrite=arguments.force)
        missing.append((split, file))
    for split, file in missing:
        begin = time.monotonic()
        with Bar(f"{name} {split}", shown=not arguments.no_progress) as bar:
            dataset = make_dataset(
                name,
                file,
                split,
                arguments.seed,
                variant,
                arguments.sequences,
                overwrite=arguments.force,
                progress=bar,
                workers=arguments.workers,
            )
        size = file.stat().st_size / 1e6
        seconds = time.monotonic() - begin
        print(f"{file}: {len(dataset):,} sequences, {size:.1f} MB, {seconds:.1f} s")
        print(*pool_table(dataset), sep="\n", flush=True)
    return 0


def plan(arguments: argparse.Namespace) -> int:
    """Plan showpieces into a file."""
    one_of("NAME with --showpiece", arguments.name, ("fetch-diverse",))
    check_variant(arguments.name, arguments.variant)
    for option, given in (("--split", arguments.split), ("--sequences", arguments.sequences)):
        if given is not None:
            raise ValueError(f"{option}: expected none with --showpiece N, got {given!r}")
    from iap_gym.baselines.planning.settings import PlannerSettings
    from iap_gym.baselines.planning.showpieces import (
        MOST,
        SPLIT,
        make_showpieces,
        showpiece_header,
    )

    sequences = integer("--showpiece", arguments.showpiece, 1, MOST)
    chosen = pairs("--planner", arguments.planner)
    known = [field.name for field in dataclasses.fields(PlannerSettings)]
    for key in chosen:
        one_of("--planner", key, known)
    (file,) = target_files(arguments.out, arguments.name, VARIANTS[0], (SPLIT,))
    settings = PlannerSettings(**chosen)
    wanted = showpiece_header(sequences, arguments.seed, settings)
    if not arguments.force and _is_there(file, wanted):
        return 0
    begin = time.monotonic()
    with Bar(arguments.name, shown=not arguments.no_progress) as bar:
        dataset = make_showpieces(
            file,
            sequences,
            arguments.seed,
            settings,
            overwrite=arguments.force,
            progress=bar,
            workers=arguments.workers,
        )
    reached = (dataset.rewards[:, -1] == 0).mean()
    seconds = time.monotonic() - begin
    print(f"{file}: {len(dataset)} sequences, {100 * reached:.0f} % at the goal, {seconds:.1f} s")
    return 0


def _is_there(file: Path, wanted: dict[str, Any]) -> bool:
    """Say so where a file is made already."""
    if not is_made(file, wanted):
        return False
    print(f"{file}: is there already, with these {wanted['sequences']:,} sequences")
    return True


def target_files(out: Path, name: str, variant: str, splits: tuple[str, ...]) -> list[Path]:
    """Return the file of each split: ``out``, or files in it.

    Raises:
        ValueError: one file for several splits, or a file where a folder is meant.
    """
    if out.suffix == SUFFIX and not out.is_dir():
        if len(splits) > 1:
            raise ValueError(f"--out: expected a folder for {', '.join(splits)}, got {out}")
        return [out]
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out: expected a folder or a name that ends with {SUFFIX}, got {out}")
    return [out / file_name(name, split, variant) for split in splits]


def info(arguments: argparse.Namespace) -> int:
    """Print what a data set holds."""
    dataset = load(arguments.file)
    if arguments.verify:
        verify(arguments.file)
    print(*summary(dataset), sep="\n")
    if arguments.verify:
        print("\nthe checksum is right")
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Write a data set into Minari's folder."""
    dataset = load(arguments.file)
    verify(arguments.file)  # what is damaged goes no farther
    with Bar(arguments.id, shown=not arguments.no_progress) as bar:
        written = to_minari(dataset, arguments.id, bar)
    print(f"{written.id}: {written.total_episodes:,} episodes in {written.storage.data_path}")
    return 0


def bring(arguments: argparse.Namespace) -> int:
    """Write a data set of Minari's folder into a file."""
    with Bar(arguments.id, shown=not arguments.no_progress) as bar:
        dataset = from_minari(arguments.id, arguments.out, overwrite=arguments.force, progress=bar)
    print(f"{arguments.out}: {len(dataset):,} sequences of {dataset.steps} steps")
    return 0


class Bar:
    """A line on a terminal that shows how far the work is; elsewhere nothing.

    Args:
        name: of the work.
        shown: False for nothing anywhere.
    """

    def __init__(self, name: str, *, shown: bool = True) -> None:
        self._name = name
        self._shown = shown and sys.stderr.isatty()
        self._percent = -1

    def __enter__(self) -> Bar:
        """Begin."""
        return self

    def __exit__(self, *_: Any) -> None:
        """Wipe the line, whether the work is done or was stopped."""
        if self._shown and self._percent >= 0:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def __call__(self, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` is done."""
        percent = 100 * done // total
        if not self._shown or percent == self._percent:
            return
        self._percent = percent
        filled = "#" * (BAR * done // total)
        sys.stderr.write(f"\r{self._name} [{filled:<{BAR}}] {percent:3d} %")
        sys.stderr.flush()
