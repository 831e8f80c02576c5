"""Checkpoints of RecurrentPPO: Stable-Baselines3's file with the statistics of VecNormalize."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

from safetensors.torch import save as save_tensors
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from iap_gym._files import replacing, write_bytes
from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.experiments.config import TrainConfig

STATISTICS = "vec_normalize.pkl"  # a member of the zip; Stable-Baselines3 skips it


def save_checkpoint(model: RecurrentPPO, path: str | os.PathLike[str]) -> None:
    """Write a checkpoint, which ``RecurrentPPO.load`` reads too, whole or not at all."""
    statistics = model.get_vec_normalize_env()
    with replacing(path) as temporary:
        model.save(temporary)
        if statistics is not None:
            with zipfile.ZipFile(temporary, "a") as archive:
                archive.writestr(STATISTICS, pickle.dumps(statistics))


def load_statistics(path: str | os.PathLike[str]) -> VecNormalize | None:
    """Return what observations were normalised with, without environments; None if they were not.

    Like all of a checkpoint of Stable-Baselines3 it is unpickled: load none that you do not trust.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = STATISTICS in archive.namelist()
            return pickle.loads(archive.read(STATISTICS)) if found else None
    except Exception as error:
        raise _refused(path, error) from error


def load_checkpoint(
    path: str | os.PathLike[str], config: TrainConfig, env: VecEnv | None = None
) -> RecurrentPPO:
    """Load the algorithm of a run.

    Args:
        path: of the checkpoint.
        config: the run's, filled in.
        env: to go on training with; None is enough to act.

    Raises:
        ValueError: the checkpoint is damaged, of another core than the config's, or of other
            observations or actions than the environment's.
    """
    device = config.algo_kwargs.get("device", "cpu")
    try:
        model = RecurrentPPO.load(Path(path), env=env, device=device)
    except Exception as error:  # pickle, zip and torch have no common ground
        raise _refused(path, error) from error
    if model.core != config.core:
        raise ValueError(
            f"{path}: expected a checkpoint of core {config.core!r}, got one of {model.core!r}"
        )
    return model


def save_weights(model: RecurrentPPO, path: str | os.PathLike[str]) -> None:
    """Write the ``state_dict`` of the policy as safetensors."""
    # Shared modules have several names, which safetensors wants as separate tensors.
    tensors = {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in model.policy.state_dict().items()
    }
    write_bytes(path, save_tensors(tensors))


def _refused(path: str | os.PathLike[str], error: Exception) -> ValueError:
    said = str(error) if isinstance(error, ValueError) else repr(error)
    return ValueError(f"{path}: expected a checkpoint of this run's RecurrentPPO; {said}")
