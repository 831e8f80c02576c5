"""Make a published data set anew and write it into a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import iap_gym
from iap_gym import _checks
from iap_gym.data import file
from iap_gym.data.collection import Progress, collect
from iap_gym.data.dataset import SequenceDataset, load
from iap_gym.data.recipes import SPLITS, Recipe, make_recipe
from iap_gym.envs.planar.world import VARIANTS


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
) -> SequenceDataset:
    """Collect one split of a published data set with its published policy, and open the file.

    The same arguments give the same bytes, with the same version of this package and of NumPy.

    Args:
        name: "billiard", "rrc-time", "rrc-random" or "shepherd".
        path: of the file; its folder is made.
        split: "train", "val" or "test"; no two share a sequence.
        seed: at least 0.
        variant: "code" or "paper", see the environments.
        sequences: N, a multiple of the number of categories (billiard 16, rrc 2, shepherd 4);
            None for the published number.
        overwrite: replace a file that is there.
        progress: called with how many rollouts have been kept, and how many it will be.

    Raises:
        ValueError: an argument outside of this.
        FileExistsError: the file is there, and not to be replaced.
        OSError: it cannot be written; both are found before the work begins.
    """
    recipe = make_recipe(name, variant)
    _checks.one_of("split", split, SPLITS)
    seed = _checks.integer("seed", seed)
    sequences = sequences_wanted(recipe, split, sequences)
    check_target(path, overwrite=overwrite)
    arrays, counts = collect(recipe, split, seed, sequences, progress)
    world = recipe.pools[0].world
    header: dict[str, Any] = {
        "dataset": name,
        "env": recipe.env_id,
        "variant": variant,
        "split": split,
        "seed": seed,
        "sequences": sequences,
        "steps": recipe.steps,
        "command": (
            f"iap-gym data make {name} --split {split} --seed {seed} --variant {variant} "
            f"--sequences {sequences}"
        ),
        "versions": versions(),
        "categories": list(recipe.categories),
        "pools": {pool: count._asdict() for pool, count in counts.items()},
        "columns": {
            "observations": list(world.state_names[: arrays["observations"].shape[2]]),
            "actions": list(recipe.action_names),
            "info": list(world.events),
        },
    }
    file.write(path, arrays, header)
    return load(path)


def file_name(name: str, split: str, variant: str = VARIANTS[0]) -> str:
    """Return the name of a split's file in a folder of data sets."""
    stem = name if variant == VARIANTS[0] else f"{name}-{variant}"
    return f"{stem}-{split}{file.SUFFIX}"


def versions() -> dict[str, str]:
    """Return the versions that a data set depends on."""
    return {"iap_gym": iap_gym.__version__, "numpy": np.__version__}


def sequences_wanted(recipe: Recipe, split: str, sequences: int | None) -> int:
    """Return N, or the published number for None.

    Raises:
        ValueError: the categories cannot be equally frequent in it.
    """
    if sequences is None:
        return recipe.sizes[split]
    categories = len(recipe.categories)
    if _checks.integer("sequences", sequences, 1) % categories:
        wanted = f"a multiple of {categories}, the categories of {recipe.name}"
        raise _checks.refuse("sequences", wanted, sequences)
    return int(sequences)


def check_target(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Make the folder of a file and find out whether the file can be written.

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
    except OSError as error:
        raise OSError(f"cannot write into {path.parent}: {error.strerror}") from error
