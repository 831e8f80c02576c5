"""Whether gates open at the events that nothing shows (Table 2 of the GateL0RD paper)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from iap_gym.baselines.world_model.data import Sequences
from iap_gym.baselines.world_model.metrics import PART
from iap_gym.baselines.world_model.model import WorldModel


class EventGates(NamedTuple):
    """Fractions of inputs at which at least one gate opened; NaN where there are no such inputs.

    An input is an action and the observation before it.

    Attributes:
        trigger: of the inputs whose action brings the event about.
        after: of the inputs right after those, the first ones that it has an effect on.
        elsewhere: of all others, in sequences with and without the event.
    """

    trigger: float
    after: float
    elsewhere: float

    @property
    def at(self) -> float:
        """Mean of ``trigger`` and ``after``: a model may foresee an event or see that it came."""
        return (self.trigger + self.after) / 2


def event_gates(model: WorldModel, sequences: Sequences, event: str) -> EventGates | None:
    """Let a model see whole sequences, and look at its gates.

    Args:
        model: put into evaluation mode.
        sequences: all of whose observations are inputs.
        event: a flag that is set once in a sequence, such as "controlled".

    Returns:
        None of cores without gates.

    Raises:
        ValueError: there is no such event, or sequences of another kind.
    """
    model.eval()
    flags = sequences.flags(event) > 0  # (N, T + 1)
    begins = flags[:, 1:] & ~flags[:, :-1]  # by the input whose action sets the flag
    after = np.zeros_like(begins)
    after[:, 1:] = begins[:, :-1]
    opened: list[torch.Tensor] = []
    with torch.no_grad():
        for observations, actions in sequences.parts(PART):
            gates = model(observations[:-1], actions).gates
            if gates is None:
                return None
            opened.append((gates > 0).any(dim=2).T)
    found = torch.cat(opened).numpy()
    kinds = (begins, after, ~(begins | after))
    return EventGates(*(float(found[kind].mean()) if kind.any() else np.nan for kind in kinds))
