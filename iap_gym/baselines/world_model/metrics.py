"""What trained models are judged by: errors of prediction, and how gates were used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym import _checks
from iap_gym.baselines.world_model.data import Sequences
from iap_gym.baselines.world_model.model import WorldModel

PART = 1024  # sequences at a time
SHEEP_X = 4  # of Shepherd's observations


class GateMetrics(NamedTuple):
    """How much of the gates was open in sequences.

    Attributes:
        rate: mean fraction of open gates.
        times: fraction of steps with at least one open gate.
        dims: fraction of the numbers of the latent state whose gate was open at least once in a
            sequence.
    """

    rate: float
    times: float
    dims: float


class TestError(NamedTuple):
    """What ``evaluate`` found.

    Attributes:
        error: mean squared error over all steps, sequences and numbers of an observation.
        gates: of GateL0RD; None of other cores.
    """

    __test__ = False  # pytest: not a test

    error: float
    gates: GateMetrics | None


def gate_metrics(gates: Tensor) -> GateMetrics:
    """Measure how gates were used.

    Args:
        gates: float (T, B, H), open where above 0.

    Raises:
        ValueError: another shape, or nothing in it.
    """
    if not isinstance(gates, Tensor) or gates.ndim != 3 or gates.numel() == 0:
        raise _checks.refuse("gates", "a tensor of shape (T, B, H)", getattr(gates, "shape", gates))
    opened = gates > 0
    means = (opened, opened.any(dim=2), opened.any(dim=0))
    return GateMetrics(*(mean.double().mean().item() for mean in means))


def evaluate(model: WorldModel, sequences: Sequences, start_steps: int) -> TestError:
    """Predict sequences from their first observations and all actions.

    Args:
        model: put into evaluation mode.
        sequences: of its observations and actions.
        start_steps: first steps that take real observations; all others take predictions.

    Raises:
        ValueError: fewer start steps than f_init sees, or sequences of another kind.
    """
    squares, weighted = 0.0, np.zeros(3)
    gated = False
    for part, gates in _squares(model, sequences, start_steps):
        squares += part.sum(dtype=torch.float64).item()
        if gates is not None:
            gated = True
            weighted += part.shape[1] * np.array(gate_metrics(gates))
    count = sequences.observations[:, 1:].numel()
    found = GateMetrics(*(weighted / len(sequences)).tolist()) if gated else None
    return TestError(squares / count, found)


def sequence_errors(
    model: WorldModel, sequences: Sequences, start_steps: int
) -> NDArray[np.float64]:
    """As ``evaluate``, the error of each sequence by itself, (N,): their mean is its error.

    Few sequences may have most of the mean, those that go either way; the median shows the others.
    Arguments and errors are those of ``evaluate``.
    """
    parts = _squares(model, sequences, start_steps)
    return np.concatenate([part.double().mean(dim=(0, 2)).numpy() for part, _ in parts])


def _squares(
    model: WorldModel, sequences: Sequences, start_steps: int
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Return squared errors (T, B, O) and gates of sequences, part by part."""
    model.eval()
    start = _checks.integer("start_steps", start_steps, 1, sequences.steps)
    for observations, actions in sequences.parts(PART):
        with torch.no_grad():
            predicted, _, gates = model(observations[:start], actions)
        yield (predicted - observations[1:]).square(), gates


def reappearance_error(model: WorldModel, sequences: Sequences) -> float:
    """Squared error of the sheep's x where it reappears, with real inputs until then (Figure 5).

    The sheep is seen again one step after the gate opens; only memory tells where. Over all
    sequences of Shepherd in which the gate opens before the last step; NaN if there is none.

    Args:
        model: put into evaluation mode.
        sequences: of Shepherd.

    Raises:
        ValueError: sequences of something else.
    """
    model.eval()
    opened = sequences.flags("gate_open") > 0
    first = opened.argmax(axis=1)
    rows = np.flatnonzero(opened.any(axis=1) & (first > 0) & (first < sequences.steps))
    if len(rows) == 0:
        return float("nan")
    squares = 0.0
    with torch.no_grad():
        for part in np.array_split(rows, -(-len(rows) // PART)):
            index, when = torch.from_numpy(part), torch.from_numpy(first[part])
            observations = sequences.observations[index].transpose(0, 1)
            actions = sequences.actions[index].transpose(0, 1)
            predicted = model(observations[:-1], actions)[0][..., SHEEP_X]
            across = torch.arange(len(part))
            target = observations[..., SHEEP_X][when + 1, across]
            squares += (predicted[when, across] - target).square().sum().item()
    return squares / len(rows)


def copy_error(sequences: Sequences, start_steps: int) -> float:
    """Mean squared error of predicting that nothing changes, the baseline of all models.

    Args:
        sequences: any.
        start_steps: first steps that take real observations.
    """
    observations = sequences.observations
    held = observations[:, :-1].clone()
    held[:, start_steps:] = observations[:, start_steps - 1 : start_steps]
    return (held - observations[:, 1:]).square().mean(dtype=torch.float64).item()
