"""Make a published data set anew and write it into a file."""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import iap_gym
from iap_gym import _checks, _files
from iap_gym.data import fetch, fetch_rules, file, parts, recipes
from iap_gym.data.collection import Count, Progress, collect
from iap_gym.data.dataset import SequenceDataset, load
from iap_gym.envs.planar.world import VARIANTS

NAMES = (*recipes.NAMES, *fetch.NAMES)


def make_dataset(
    name: str,
    path: str | os.PathLike[str],
    split: str = "train",
    seed: int = 0,
    variant: str = "code",
    sequences: int | None = None,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    workers: int = 1,
) -> SequenceDataset:
    """Collect one split of a published data set, and open the file.

    The planar worlds have their published policies, Fetch Pick and Place scripted controllers. The
    same arguments give the same bytes, with the same version of this package and of what it runs
    on. A run of a Fetch set that was killed goes on when it is asked for again.

    Args:
        name: "billiard", "rrc-time", "rrc-random", "shepherd", "fetch-grasp" or "fetch-diverse".
        path: of the file; its folder is made.
        split: "train", "val" or "test", of "fetch-grasp" also "gen"; no two share a sequence.
        seed: at least 0.
        variant: "code" or "paper", see the planar environments; Fetch has none but "code".
        sequences: N, a multiple of the number of categories (billiard 16, rrc 2, shepherd 4,
            fetch-diverse 4); None for the published number.
        overwrite: replace a file that is there.
        progress: called with how many rollouts have been kept, and how many it will be.
        workers: processes for the Fetch sets; the planar ones take seconds. Scripts need the usual
            ``if __name__ == "__main__"`` with more than one.

    Raises:
        ValueError: an argument outside of this.
        FileExistsError: the file is there, and not to be replaced.
        OSError: it cannot be written; both are found before the work begins.
        gymnasium.error.DependencyNotInstalled: a Fetch set without the extra ``fetch``.
        ImportError: a Fetch set with versions that do not work.
    """
    _checks.one_of("name", name, NAMES)
    _checks.one_of("split", split, splits_of(name))
    check_variant(name, variant)
    seed = _checks.integer("seed", seed)
    sequences = sequences_wanted(name, split, sequences)
    _checks.integer("workers", workers, 1)
    if name in fetch.NAMES:
        fetch.load_simulator()
    check_target(path, overwrite=overwrite)
    if name in fetch.NAMES:
        task = fetch.FetchTask(name, split, seed, fetch_versions())
        command = f"{_command(name, split, seed)} --sequences {sequences}"
        header = {"dataset": name, "split": split, "seed": seed, "command": command}
        return make_fetch_file(task, Path(path), sequences, header, progress, workers)
    recipe = recipes.make_recipe(name, variant)
    arrays, counts = collect(recipe, split, seed, sequences, progress)
    world = recipe.pools[0].world
    observations = world.state_names[: arrays["observations"].shape[2]]
    header = {
        "dataset": name,
        "env": recipe.env_id,
        "variant": variant,
        "split": split,
        "seed": seed,
        "sequences": sequences,
        "steps": recipe.steps,
        "command": f"{_command(name, split, seed)} --variant {variant} --sequences {sequences}",
        "versions": versions(),
        "categories": list(recipe.categories),
        "pools": {pool: count._asdict() for pool, count in counts.items()},
        "columns": _columns(observations, recipe.action_names, world.events),
    }
    file.write(path, arrays, header)
    return load(path)


def file_name(name: str, split: str, variant: str = VARIANTS[0]) -> str:
    """Return the name of a split's file in a folder of data sets."""
    stem = name if variant == VARIANTS[0] else f"{name}-{variant}"
    return f"{stem}-{split}{file.SUFFIX}"


def make_fetch_file(
    task: fetch.Collector,
    path: Path,
    sequences: int,
    header: Mapping[str, Any],
    progress: Progress | None,
    workers: int,
) -> SequenceDataset:
    """Collect sequences of Fetch Pick and Place in parts, and write them as one file.

    Args:
        task: collects them.
        path: of the file, which can be written.
        sequences: N.
        header: of the file: dataset, split, seed and command.
        progress: as of ``make_dataset``.
        workers: processes.

    Raises:
        OSError: it cannot be written.
    """
    arrays, tried = parts.collect_in_parts(task, path, sequences, workers, progress)
    kept = sequences // len(tried)
    whole = {
        **header,
        "env": fetch.ENV_ID,
        "variant": None,
        "sequences": sequences,
        "steps": arrays["actions"].shape[1],
        "versions": dict(task.versions),
        "categories": list(tried),
        "pools": {pool: Count(number, kept, kept)._asdict() for pool, number in tried.items()},
        "columns": _columns(fetch.OBSERVATION_NAMES, fetch.ACTION_NAMES, fetch_rules.EVENTS),
    }
    file.write(path, arrays, whole)
    parts.remove_parts(task, path, sequences)
    return load(path)


def is_made(path: Path, wanted: Mapping[str, Any]) -> bool:
    """Whether there is a whole file whose header has these entries."""
    if not path.is_file():
        return False
    try:
        header = load(path).header
        file.verify(path)
    except file.DataFileError:
        return False
    return {key: header.get(key) for key in wanted} == wanted


def wanted_header(name: str, split: str, seed: int, variant: str, sequences: int) -> dict[str, Any]:
    """Return the entries of the header that tell what ``make_dataset`` would write now."""
    of_fetch = name in fetch.NAMES
    return {
        "dataset": name,
        "split": split,
        "seed": seed,
        "variant": None if of_fetch else variant,
        "sequences": sequences,
        "versions": dict(fetch_versions()) if of_fetch else versions(),
    }


def fetch_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions that a data set of Fetch Pick and Place depends on."""
    others = ("mujoco", "gymnasium-robotics")
    return tuple(
        {**versions(), **{name: importlib.metadata.version(name) for name in others}}.items()
    )


def _command(name: str, split: str, seed: int) -> str:
    return f"iap-gym data make {name} --split {split} --seed {seed}"


def _columns(
    observations: Iterable[str], actions: Iterable[str], info: Iterable[str]
) -> dict[str, list[str]]:
    return {"observations": list(observations), "actions": list(actions), "info": list(info)}


def check_variant(name: str, variant: str) -> None:
    """Check that a data set has a variant.

    Raises:
        ValueError: it has not.
    """
    _checks.one_of("variant", variant, VARIANTS)
    if name in fetch.NAMES and variant != VARIANTS[0]:
        raise _checks.refuse("variant", f"{VARIANTS[0]!r} for {name}", variant)


def splits_of(name: str) -> tuple[str, ...]:
    """Return the names of a data set's splits."""
    return tuple(fetch.SIZES[name]) if name in fetch.NAMES else recipes.SPLITS


def versions() -> dict[str, str]:
    """Return the versions that a data set depends on."""
    return {"iap_gym": iap_gym.__version__, "numpy": np.__version__}


def sequences_wanted(
    name: str, split: str, sequences: int | None, argument: str = "sequences"
) -> int:
    """Return N, or the published number for None; an error names the argument that it came from.

    Raises:
        ValueError: the categories cannot be equally frequent in it.
    """
    if name in fetch.NAMES:
        size = fetch.SIZES[name][split]
        categories = len(fetch.make_fetch_recipe(name, split).categories)
    else:
        recipe = recipes.make_recipe(name)
        size, categories = recipe.sizes[split], len(recipe.categories)
    if sequences is None:
        return size
    if _checks.integer(argument, sequences, 1) % categories:
        wanted = f"a multiple of {categories}, the categories of {name}"
        raise _checks.refuse(argument, wanted, sequences)
    return int(sequences)


def check_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Make the folder of a file and find out whether the file can be written.

    What a writer of it left that was killed is removed.

    Raises:
        FileExistsError: the file is there and is not to be overwritten.
        OSError: it cannot be written.
    """
    path = Path(path)
    if path.is_dir():
        raise _checks.refuse("path", "the name of a file", os.fspath(path))
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists already; --force or overwrite=True replaces it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Permissions do not tell: root may do all, and a disk may be mounted to read only.
        tempfile.TemporaryFile(dir=path.parent).close()
        _files.remove_abandoned(path)
    except OSError as error:
        raise OSError(f"cannot write into {path.parent}: {error.strerror}") from error
