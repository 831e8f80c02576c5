"""Starting a search where another one ended."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from iap_gym import _checks
from iap_gym.baselines.evolution import checkpoint
from iap_gym.baselines.evolution.checkpoint import Checkpoint
from iap_gym.baselines.evolution.hierarchy import HierarchicalPolicy
from iap_gym.baselines.evolution.policy import EvolutionPolicy

Source = str | os.PathLike[str]
# Vectors apart, what `start_from` takes; a mapping names parts of a policy of parts.
Start = Source | Mapping[str, Source] | ArrayLike
CHECKPOINT = "checkpoint.zip"
# What is looked for in a run's folder, first to last: the best generation where there were
# evaluations during training, else the newest.
RUN_FILES = ("best.safetensors", CHECKPOINT, "weights.safetensors")


def read_weights(source: Source) -> dict[str, NDArray[Any]]:
    """Read the arrays of a policy, as its ``state_dict`` gave them.

    Args:
        source: a run's folder, a checkpoint (.zip), or weights (.safetensors).

    Raises:
        FileNotFoundError: there is no such file or folder, or nothing trained in it.
        ValueError: the file is damaged, or not one of ours.
    """
    return _read(source)[0]


def _read(source: Source) -> tuple[dict[str, NDArray[Any]], Checkpoint | None]:
    """Read arrays, and the checkpoint that says what they mean, if there is one."""
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"start_from: there is no run or file {path}")
    folder = path if path.is_dir() else None
    if folder is not None:
        found = [path / name for name in RUN_FILES if (path / name).is_file()]
        if not found:
            raise FileNotFoundError(f"{path} has none of {', '.join(RUN_FILES)}; train it first")
        path = found[0]
    if path.suffix not in (".safetensors", ".zip"):
        wanted = "a run's folder, a checkpoint (.zip) or weights (.safetensors)"
        raise _checks.refuse("start_from", wanted, os.fspath(path))
    if path.suffix == ".zip":
        stored = checkpoint.read(path)
        return checkpoint.policy_tensors(stored.tensors), stored
    try:
        return load_file(path), None if folder is None else _checkpoint_of_run(folder)
    except SafetensorError as error:
        raise ValueError(f"{path}: expected weights (safetensors), got another: {error}") from error


def _checkpoint_of_run(folder: Path) -> Checkpoint | None:
    """Return the checkpoint beside the weights of a run; None if there is none that is whole."""
    try:
        return checkpoint.read(folder / CHECKPOINT)
    except (FileNotFoundError, ValueError):
        return None


def start(policy: EvolutionPolicy, start_from: Start) -> None:
    """Give a policy the weights to start from.

    Args:
        policy: gets them.
        start_from: what ``read_weights`` reads, for the whole policy; a mapping from parts of it
            ("high", "low") to such; or a vector, (n,).

    Raises:
        FileNotFoundError: see ``read_weights``.
        ValueError: the weights do not fit the policy, in shape or, where a checkpoint says so, in
            the settings that give them their meaning; or see ``read_weights``.
    """
    if isinstance(start_from, str | os.PathLike):
        _start_part(policy, start_from, None)
    elif isinstance(start_from, Mapping):
        for part, source in start_from.items():
            _start_part(policy, source, part)
    else:
        try:
            vector = _checks.array("start_from", start_from, ("n",))
        except ValueError:
            wanted = "a path, parts or finite numbers (n,)"
            raise _checks.refuse("start_from", wanted, start_from) from None
        policy.set_vector(vector)


def _start_part(policy: EvolutionPolicy, source: Source, part: str | None) -> None:
    arrays, stored = _read(source)
    try:
        policy.start_from(arrays, part)
        if stored is not None and stored.policy_settings is not None:
            _same_settings(policy, part, stored.config["policy"], stored.policy_settings)
    except ValueError as error:
        raise ValueError(f"start_from: {source} does not fit the policy: {error}") from error


def _same_settings(
    policy: EvolutionPolicy, part: str | None, name: str, trained: Mapping[str, Any]
) -> None:
    """Check that numbers of the same shapes mean the same.

    Args:
        policy: has taken them.
        part: of it.
        name: of the policy that they were trained as.
        trained: its settings.

    Raises:
        ValueError: they do not; it names the arguments that differ.
    """
    own = json.loads(json.dumps(policy.settings))  # as they come back from a file
    if part == "low":
        if name == HierarchicalPolicy.__name__:  # nothing but the shapes of a low level can differ
            return
        # A walker that was trained by itself; a low level reads and acts in one way.
        own = {"squash": "clip", "vector_scale": [1.0] * len(trained.get("vector_scale", ()))}
        trained = {key: trained.get(key) for key in own}
    keys = [key for key in own | dict(trained) if own.get(key) != trained.get(key)]
    if keys:
        wanted, came = ({key: each.get(key) for key in keys} for each in (trained, own))
        raise _checks.refuse("policy_kwargs", f"{wanted}, as it was trained with", came)
