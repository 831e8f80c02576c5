"""A run is one folder; this file knows what lies in it and nothing about how it came there."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

import iap_gym
from iap_gym._files import write_text
from iap_gym.baselines.experiments.config import ALGORITHMS, TrainConfig

FORMAT = "iap_gym run"
VERSION = 1


class Config(Protocol):
    """What a run is made from."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        ...


class Run:
    """The folder of one training run.

    ``config.json`` what it was made from; ``checkpoint.zip`` the whole state after the newest
    generation (es) or at the newest boundary (ppo, see ``train_ppo``); ``weights.safetensors`` the
    policy's numbers alone, and ``best.safetensors`` those of the generation that was best in the
    evaluations during training (es, where there were any); ``metrics.csv``, ``evaluations.csv``
    (played during training) and ``tensorboard/`` the training curve; ``evaluation.json``,
    ``curve.png``, ``film.mp4``, ``path.png`` (of a robot, its way from above) and ``report.html``
    what the later commands add.

    Attributes:
        step_column: of the tables, what the others are drawn over.
        step_name: the same in words.
    """

    step_column = "timesteps"
    step_name = "environment steps"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.config_file = self.path / "config.json"
        self.lock_file = self.path / ".lock"
        self.checkpoint_file = self.path / "checkpoint.zip"
        self.weights_file = self.path / "weights.safetensors"
        self.best_file = self.path / "best.safetensors"
        self.metrics_file = self.path / "metrics.csv"
        self.evaluations_file = self.path / "evaluations.csv"
        self.tensorboard_dir = self.path / "tensorboard"
        self.evaluation_file = self.path / "evaluation.json"
        self.curve_file = self.path / "curve.png"
        self.film_file = self.path / "film.mp4"
        self.path_file = self.path / "path.png"
        self.report_file = self.path / "report.html"

    @classmethod
    def create(cls, path: str | os.PathLike[str], config: Config) -> Self:
        """Make a new run folder.

        Raises:
            FileExistsError: the folder is not empty.
        """
        run = cls(path)
        if run.path.exists() and (not run.path.is_dir() or any(run.path.iterdir())):
            raise FileExistsError(
                f"{run.path} exists already; name another folder with --run, or go on with --resume"
            )
        run.write_config(config)
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a run folder that ``create`` made.

        Raises:
            FileNotFoundError: there is no run; the message says what was looked for.
        """
        run = cls(path)
        if not run.config_file.is_file():
            inside = sorted(run.path.glob(f"*/{run.config_file.name}"))
            hint = f"; {inside[0].parent} is one" if inside else ""
            raise FileNotFoundError(f"{run.path} is no run: it has no {run.config_file.name}{hint}")
        return run

    def write_config(self, config: Config) -> None:
        """Replace ``config.json``."""
        header = {"format": FORMAT, "version": VERSION, "iap_gym": iap_gym.__version__}
        content = {**header, "config": config.to_json()}
        write_text(self.config_file, json.dumps(content, indent=2) + "\n")

    def config(self) -> TrainConfig:
        """Read the config.

        Raises:
            ValueError: the file is not one of ours, or that of a world model, which does not act.
        """
        fields = self.fields()
        if fields.get("algo") not in (None, *ALGORITHMS):
            raise ValueError(
                f"{self.path}: expected a run of an agent ({', '.join(ALGORITHMS)}), got one of "
                f"{fields['algo']!r}"
            )
        return TrainConfig.from_json(fields)

    def fields(self) -> dict[str, Any]:
        """Read the fields of the config, whatever it is of.

        Raises:
            ValueError: the file is not one of ours.
        """
        try:
            content = json.loads(self.config_file.read_text(encoding="utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise ValueError(f"{self.config_file}: expected JSON, {error}") from None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"{self.config_file}: expected a config of an {FORMAT}")
        if content.get("version") != VERSION:
            raise ValueError(
                f"{self.config_file}: expected version {VERSION}, got {content.get('version')!r}"
            )
        return content["config"]

    def write_metrics(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace ``metrics.csv`` by these rows, one a generation or update; None is left empty."""
        _write_table(self.metrics_file, rows)

    def metrics(self) -> dict[str, np.ndarray]:
        """Read ``metrics.csv``: one float64 array a column, NaN where a number is missing.

        Raises:
            FileNotFoundError: no generation or update has ended yet.
            ValueError: the file is not a table of numbers.
        """
        return _read_table(self.metrics_file)

    def write_evaluations(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace ``evaluations.csv`` by these rows, one an evaluation during training."""
        _write_table(self.evaluations_file, rows)

    def evaluations(self) -> dict[str, np.ndarray]:
        """Read ``evaluations.csv`` as ``metrics`` reads its file.

        Raises:
            FileNotFoundError: there was none during training.
            ValueError: the file is not a table of numbers.
        """
        return _read_table(self.evaluations_file)


def rows_until(file: Path, timesteps: int) -> list[dict[str, str]]:
    """Read the rows of a table as they are written, up to so many steps; no file is no row.

    Raises:
        ValueError: the file is not a table of numbers.
    """
    if not file.is_file():
        return []
    try:
        return [row for row in _read_rows(file) if int(row["timesteps"]) <= timesteps]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{file}: expected a table of numbers, {error}") from None


def _write_table(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(file, text.getvalue())


def _read_rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    if not rows:
        raise ValueError("got no row")
    for number, row in enumerate(rows, 1):
        if None in row.values():
            raise ValueError(f"row {number} ends before its last column")
    return rows


def _read_table(file: Path) -> dict[str, np.ndarray]:
    if not file.is_file():
        raise FileNotFoundError(f"{file.parent} has no {file.name} yet")
    try:
        rows = _read_rows(file)
        return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}
    except ValueError as error:
        raise ValueError(f"{file}: expected a table of numbers, {error}") from None
