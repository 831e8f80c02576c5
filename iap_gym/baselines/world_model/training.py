"""Training of a world model epoch after epoch, and its state as tensors.

Every random number of an epoch comes from the config's seed and the number of the epoch. A training
that goes on from the state after an epoch does what the one would have done that never stopped.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.baselines.world_model import weights
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.data import Sequences
from iap_gym.baselines.world_model.learning import NonFiniteLossError, TrainingStep
from iap_gym.baselines.world_model.metrics import copy_error, evaluate, reappearance_error
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.baselines.world_model.sampling import draw_real

Row = dict[str, float | None]

EPOCH_COLUMNS = ("epoch", "probability", "loss", "error", "gates", "seconds")
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what Adam remembers of a parameter
SHEPHERD = "shepherd"
# Fields of the config that a training that goes on may have otherwise.
MAY_CHANGE = ("epochs", "evaluate_every", "data", "data_sha256")


class DivergedError(RuntimeError):
    """The loss became NaN or infinite, and would do so again."""


def make_model(config: ModelConfig, backend: str = "auto") -> WorldModel:
    """Build the model of a config, untrained; torch's own generator stays as it is.

    Raises:
        ValueError: an argument of the model is wrong.
    """
    with torch.random.fork_rng([]):
        torch.manual_seed(config.seed)
        return WorldModel(**config.model_settings, backend=backend)


class Training:
    """The training of one model.

    Args:
        config: filled in.
        train: what is trained on.
        tests: what is evaluated on.
        backend: of the model.

    Attributes:
        copy_errors: of each set, the error of predicting that nothing changes.
        epoch: how many are done.
        history: a row an epoch.
        evaluations: a row each ``evaluate``.

    Raises:
        ValueError: the model refuses an argument of the config, or the sequences do not suit it.
    """

    def __init__(
        self,
        config: ModelConfig,
        train: Sequences,
        tests: Mapping[str, Sequences],
        backend: str = "auto",
    ) -> None:
        assert config.learning_rate is not None, "the config is filled in"
        assert config.penalty is not None
        assert config.start_steps is not None
        self.config = config
        self.train = train
        self.tests = dict(tests)
        self.model = make_model(config, backend)
        self.step = TrainingStep(
            self.model,
            config.learning_rate,
            config.penalty,
            config.penalty_kind,
            config.max_grad_norm,
        )
        _checks.integer("start_steps", config.start_steps, 1, train.steps)
        if config.start_steps < self.model.context_inputs:
            wanted = f"at least the {self.model.context_inputs} inputs that f_init sees"
            raise _checks.refuse("start_steps", wanted, config.start_steps)
        if config.batch_size % train.categories:
            wanted = f"a multiple of the {train.categories} categories of {config.train_set.name}"
            raise _checks.refuse("batch_size", wanted, config.batch_size)
        if len(train) < config.batch_size:
            wanted = f"at least the {config.batch_size} of a batch (batch_size)"
            raise _checks.refuse("sequences", wanted, len(train))
        self.copy_errors = {
            name: copy_error(sequences, config.start_steps) for name, sequences in tests.items()
        }
        self.epoch = 0
        self.history: list[Row] = []
        self.evaluations: list[Row] = []

    def run_epoch(self) -> Row:
        """Train on every sequence once, but for an incomplete batch; return the row of the epoch.

        Raises:
            DivergedError: the loss is not finite.
        """
        config, begin = self.config, time.perf_counter()
        assert config.start_steps is not None
        stream = np.random.SeedSequence(config.seed, spawn_key=(self.epoch,))
        order, numbers = stream.spawn(2)
        generator = torch.Generator().manual_seed(int(numbers.generate_state(1)[0]))
        probability = config.probability(self.epoch)
        self.model.train()
        total, count = np.zeros(3), 0
        batches = self.train.batches(config.batch_size, np.random.default_rng(order))
        for observations, actions in batches:
            shape = actions.shape[:2]
            real = draw_real(*shape, probability, config.start_steps, generator)
            try:
                losses = self.step(observations, actions, real, generator=generator)
            except NonFiniteLossError as error:
                raise DivergedError(
                    f"{error} in epoch {self.epoch}; a smaller learning rate may help"
                ) from error
            total += losses.loss, losses.error, math.nan if losses.gates is None else losses.gates
            count += 1
        loss, error, gates = (total / count).tolist()
        self.epoch += 1
        row: Row = {
            "epoch": self.epoch,
            "probability": probability,
            "loss": loss,
            "error": error,
            "gates": None if math.isnan(gates) else gates,
            "seconds": time.perf_counter() - begin,
        }
        self.history.append(row)
        return row

    def evaluate(self) -> Row:
        """Predict the other sets from their first observations; return the row."""
        start = self.config.start_steps
        assert start is not None
        row: Row = {"epoch": self.epoch}
        for name, sequences in self.tests.items():
            found = evaluate(self.model, sequences, start)
            row[f"{name}_error"] = found.error
            row[f"{name}_copy_error"] = self.copy_errors[name]
            for key in ("rate", "times", "dims"):
                value = None if found.gates is None else getattr(found.gates, key)
                row[f"{name}_gate_{key}"] = value
        if self.config.scenario.name == SHEPHERD:
            row["reappearance_error"] = reappearance_error(self.model, self.tests["test"])
        self.evaluations.append(row)
        return row

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything that the next epoch depends on, and the rows so far."""
        tensors = {f"model.{name}": z for name, z in self.model.state_dict().items()}
        state = self.step.optimizer.state_dict()["state"]
        for index, moments in state.items():
            tensors |= {f"adam.{index}.{name}": moments[name] for name in MOMENTS}
        columns = {}
        for name, rows in self._tables().items():
            columns[name] = list(rows[0]) if rows else []
            tensors[f"rows.{name}"] = torch.tensor(
                [[math.nan if v is None else v for v in row.values()] for row in rows],
                dtype=torch.float64,
            ).reshape(len(rows), -1 if rows else 0)
        header = {"config": self.config.to_json(), "epoch": self.epoch, "columns": columns}
        weights.save(path, tensors, header)

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Go on from what ``save`` wrote.

        Raises:
            ValueError: it is no state of this training: not one at all, or with other settings.
        """
        tensors, header = weights.load(path)
        mine, its = (_settings(fields) for fields in (self.config.to_json(), header.get("config")))
        if its != mine:
            names = sorted(name for name in mine | its if mine.get(name) != its.get(name))
            wanted = f"{path}: expected a checkpoint of this run"
            raise ValueError(f"{wanted}, got one with another {', '.join(names)}")
        try:
            self._restore(tensors, header)
        except (KeyError, RuntimeError, TypeError) as error:
            raise ValueError(
                f"{path}: expected a checkpoint of this run ({json.dumps(str(error))})"
            ) from None

    def _restore(self, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
        def part(prefix: str) -> dict[str, Tensor]:
            names = [name for name in tensors if name.startswith(prefix)]
            return {name.removeprefix(prefix): tensors[name] for name in names}

        self.model.load_state_dict(part("model."))
        optimizer = self.step.optimizer
        state: dict[str, Any] = optimizer.state_dict()
        indices = range(len(self.step.gradients.parameters))
        moments = part("adam.")
        state["state"] = {
            i: {name: moments[f"{i}.{name}"] for name in MOMENTS} for i in indices if moments
        }
        optimizer.load_state_dict(state)
        self.epoch = int(header["epoch"])
        for name, rows in self._tables().items():
            rows[:] = _rows(tensors[f"rows.{name}"], header["columns"][name])

    def _tables(self) -> dict[str, list[Row]]:
        return {"history": self.history, "evaluations": self.evaluations}


def _settings(fields: Any) -> dict[str, Any]:
    """Return the fields of a config that all epochs depend on, as JSON has them."""
    kept = fields if isinstance(fields, dict) else {}
    return json.loads(json.dumps({name: kept[name] for name in kept if name not in MAY_CHANGE}))


def _rows(table: Tensor, columns: Sequence[str]) -> list[Row]:
    whole = ("epoch",)
    return [
        {
            name: None if math.isnan(value) else int(value) if name in whole else value
            for name, value in zip(columns, numbers, strict=True)
        }
        for numbers in table.tolist()
    ]
