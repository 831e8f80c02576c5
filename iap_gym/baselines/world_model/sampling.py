"""Scheduled sampling: which inputs are real, and which the model's own predictions."""

from __future__ import annotations

import torch
from torch import Tensor

from iap_gym import _checks


def sampling_probability(epoch: int, minimum: float = 0.0, decay: float = 0.998) -> float:
    """Return p_i = max(p_min, k^i), the probability of a real input in epoch i (Appendix B.1).

    Args:
        epoch: i, from 0.
        minimum: p_min in [0, 1].
        decay: k in [0, 1].

    Raises:
        ValueError: an argument is wrong.
    """
    _checks.integer("epoch", epoch, 0)
    _checks.real("minimum", minimum, 0.0, 1.0)
    return max(minimum, _checks.real("decay", decay, 0.0, 1.0) ** epoch)


def draw_real(
    time: int,
    batch: int,
    probability: float,
    start_steps: int = 1,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw which inputs are real, for every step and sequence on its own.

    Args:
        time: T.
        batch: B.
        probability: of a real input; 1 is teacher forcing, 0 goes on from predictions alone.
        start_steps: first steps that are always real, at least 1.
        generator: draws them; None is torch's own.

    Returns:
        bool (T, B).

    Raises:
        ValueError: an argument is wrong.
    """
    shape = _checks.integer("time", time, 1), _checks.integer("batch", batch, 1)
    _checks.real("probability", probability, 0.0, 1.0)
    real = torch.rand(shape, generator=generator) < probability
    real[: _checks.integer("start_steps", start_steps, 1)] = True
    return real
