"""Starting a search where another one ended."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file

from iap_gym import _checks
from iap_gym.baselines.evolution import checkpoint
from iap_gym.baselines.evolution.hierarchy import HierarchicalPolicy
from iap_gym.baselines.evolution.policies import make_policy
from iap_gym.baselines.evolution.policy import EvolutionPolicy

Source = str | os.PathLike[str]
# Vectors apart, what `start_from` takes; a mapping names parts of a policy of parts.
Start = Source | Mapping[str, Source] | ArrayLike
CHECKPOINT = "checkpoint.zip"
# What is looked for in a run's folder, first to last: the best generation where there were
# evaluations during training, else the newest.
RUN_FILES = ("best.safetensors", CHECKPOINT, "weights.safetensors")
# What a low level may have been trained as by itself.
WALKER, WALKER_KWARGS = "LinearPolicy", {"squash": "clip"}


def read_weights(source: Source) -> dict[str, NDArray[Any]]:
    """Read the arrays of a policy, as its ``state_dict`` gave them.

    Args:
        source: a run's folder, a checkpoint (.zip), or weights (.safetensors).

    Raises:
        FileNotFoundError: there is no such file or folder, or nothing trained in it.
        ValueError: the file is damaged, or not one of ours.
    """
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"start_from: there is no run or file {path}")
    if path.is_dir():
        found = [path / name for name in RUN_FILES if (path / name).is_file()]
        if not found:
            raise FileNotFoundError(f"{path} has none of {', '.join(RUN_FILES)}; train it first")
        path = found[0]
    if path.suffix not in (".safetensors", ".zip"):
        wanted = "a run's folder, a checkpoint (.zip) or weights (.safetensors)"
        raise _checks.refuse("start_from", wanted, os.fspath(path))
    if path.suffix == ".zip":
        return checkpoint.policy_tensors(checkpoint.read(path).tensors)
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path}: expected weights (safetensors), got another: {error}") from error


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
    arrays, config = read_weights(source), _read_config(source)
    try:
        policy.start_from(arrays, part)
        if config is not None:
            _same_settings(policy, part, config)
    except ValueError as error:
        raise ValueError(f"start_from: {source} does not fit the policy: {error}") from error


def _read_config(source: Source) -> Mapping[str, Any] | None:
    """Return the ``EvolutionConfig`` of a checkpoint or a run as JSON; None for weights alone."""
    path = Path(source)
    if path.is_dir():
        path = path / CHECKPOINT
    return checkpoint.read(path).config if path.suffix == ".zip" and path.is_file() else None


def _same_settings(policy: EvolutionPolicy, part: str | None, config: Mapping[str, Any]) -> None:
    """Check that numbers of the same shapes mean the same.

    Raises:
        ValueError: they do not; it names the arguments that differ.
    """
    name, kwargs = config["policy"], config["policy_kwargs"]
    hierarchical = name == HierarchicalPolicy.__name__
    if part == "low":
        if hierarchical:  # nothing but the shapes of a low level can differ
            return
        own, other = _walker(policy, WALKER_KWARGS), _walker(policy, kwargs)
    else:
        own = cast("HierarchicalPolicy", policy).high if part == "high" else policy
        like = policy if hierarchical else own
        other = make_policy(name, like.observation_space, like.action_space, kwargs)
        if part == "high" and hierarchical:
            other = cast("HierarchicalPolicy", other).high
    wanted, came = own.settings, other.settings
    differing = [key for key in wanted | came if wanted.get(key) != came.get(key)]
    if differing:
        wanted, came = ({key: each.get(key) for key in differing} for each in (wanted, came))
        raise _checks.refuse("policy_kwargs", f"{came}, as it was trained with", wanted)


def _walker(policy: EvolutionPolicy, kwargs: Mapping[str, Any]) -> EvolutionPolicy:
    """Return the policy that a low level may have been trained as."""
    low = cast("HierarchicalPolicy", policy).low
    outputs, inputs = low.weight[:, low.latent_size :].shape
    felt, action = spaces.Box(-1.0, 1.0, (inputs,)), spaces.Box(-1.0, 1.0, (outputs,))
    return make_policy(WALKER, felt, action, kwargs)
