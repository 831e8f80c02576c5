"""Checkpoints: one zip file of JSON and safetensors, written whole or not at all.

======================  ==========================================================================
``meta.json``           format and version of the file
``config.json``         ``{"config": EvolutionConfig, "env": EnvSource or null,
                        "policy_settings": what the policy's numbers mean}``
``state.json``          counters, history, state of the random generator
``tensors.safetensors`` ``center``, ``first_moment``, ``second_moment`` (float64 (n,)), and
                        ``policy.*``, the policy's ``state_dict``
======================  ==========================================================================
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from iap_gym._files import replacing

FORMAT = "iap_gym.baselines.EvolutionStrategies"
VERSION = 1
META = {"format": FORMAT, "version": VERSION}
MOMENTS = ("center", "first_moment", "second_moment")
POLICY = "policy."


@dataclass(frozen=True)
class Checkpoint:
    """What a file holds; files of earlier versions have no ``policy_settings``."""

    config: dict[str, Any]
    env: dict[str, Any] | None
    state: dict[str, Any]
    tensors: dict[str, NDArray[Any]]
    policy_settings: dict[str, Any] | None = None


def with_zip(path: str | os.PathLike[str]) -> Path:
    """Return the path, with .zip at its end."""
    path = Path(path)
    return path if path.suffix == ".zip" else path.with_name(path.name + ".zip")


def write(path: str | os.PathLike[str], checkpoint: Checkpoint) -> Path:
    """Write a checkpoint; whoever reads meanwhile, or after a crash, finds the old file or the new.

    Args:
        path: where to; .zip is added if missing, and missing folders are made.
        checkpoint: what to write.

    Returns:
        The path of the file.
    """
    path = with_zip(path)
    settings = {
        "config": checkpoint.config,
        "env": checkpoint.env,
        "policy_settings": checkpoint.policy_settings,
    }
    entries = {
        "meta.json": _json(META),
        "config.json": _json(settings),
        "state.json": _json(checkpoint.state),
        "tensors.safetensors": save_tensors(checkpoint.tensors),
    }
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def read(path: str | os.PathLike[str]) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: the file, with or without .zip.

    Raises:
        FileNotFoundError: there is none.
        ValueError: truncated, damaged, of another kind or version; names the path.
    """
    path = with_zip(path)
    content = path.read_bytes()
    wanted = f"a checkpoint of {FORMAT}, version {VERSION}"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            meta = json.loads(archive.read("meta.json"))
            if meta == META:
                settings = json.loads(archive.read("config.json"))
                return Checkpoint(
                    settings["config"],
                    settings["env"],
                    json.loads(archive.read("state.json")),
                    load_tensors(archive.read("tensors.safetensors")),
                    settings.get("policy_settings"),
                )
    except Exception as error:  # zipfile, json and safetensors have many for damaged bytes
        raise ValueError(f"{path}: expected {wanted}, got damaged contents: {error}") from error
    raise ValueError(f"{path}: expected {wanted}, got {meta}")


def pack_tensors(
    optimizer_state: dict[str, Any], policy: dict[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """Put the arrays of an optimizer and of a policy together."""
    tensors = {name: np.ascontiguousarray(optimizer_state[name]) for name in MOMENTS}
    tensors |= {POLICY + name: np.ascontiguousarray(array) for name, array in policy.items()}
    return tensors


def policy_tensors(tensors: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the policy."""
    return {
        name.removeprefix(POLICY): array
        for name, array in tensors.items()
        if name.startswith(POLICY)
    }


def _json(data: Any) -> bytes:
    return json.dumps(data, indent=1, allow_nan=False).encode()
