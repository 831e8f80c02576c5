"""The folder of one training run of a world model."""

from __future__ import annotations

import os
from pathlib import Path

from iap_gym.baselines.experiments.config import from_fields
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.world_model.config import ALGO, ModelConfig

SEED_FOLDER = "seed-{}"  # of a run among several


class ModelRun(Run):
    """A run of a world model; as ``Run``, but for these.

    ``checkpoint.safetensors`` the whole state after the newest evaluation; ``weights.safetensors``
    the trained model, for ``WorldModel.load``; ``metrics.csv`` a row an epoch; ``evaluations.csv``
    a row an evaluation on the validation, test and generalisation sets; ``planning.json`` what
    planning with the model reached; ``scenes.png`` sequences with what the model made of them;
    ``diverged.txt``, where the loss became infinite or NaN, when that was.
    """

    step_column = "epoch"
    step_name = "epochs"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.checkpoint_file = self.path / "checkpoint.safetensors"
        self.planning_file = self.path / "planning.json"
        self.scenes_file = self.path / "scenes.png"
        self.diverged_file = self.path / "diverged.txt"

    def config(self) -> ModelConfig:  # type: ignore[override]
        """Read the config.

        Raises:
            ValueError: the file is not one of ours, or not of a world model.
        """
        fields = self.fields()
        if fields.get("algo") != ALGO:
            raise ValueError(
                f"{self.path}: expected a run of {ALGO!r}, got one of {fields.get('algo')!r}"
            )
        return from_fields(ModelConfig, fields)


def is_model_run(path: str | os.PathLike[str]) -> bool:
    """Say whether a path is the folder of such a run.

    Raises:
        ValueError: it is a run whose config is not one of ours.
    """
    run = Run(path)
    return run.config_file.is_file() and run.fields().get("algo") == ALGO


def runs_in(path: str | os.PathLike[str]) -> list[ModelRun]:
    """Return the run in a folder, or those of several seeds, or none."""
    if is_model_run(path):
        return [ModelRun(path)]
    pattern = SEED_FOLDER.format("*")
    found = [folder for folder in Path(path).glob(pattern) if is_model_run(folder)]
    return sorted(map(ModelRun, found), key=lambda run: run.config().seed)
