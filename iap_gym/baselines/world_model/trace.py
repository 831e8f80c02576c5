"""What a model predicts and remembers at each step of sequences."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from iap_gym.baselines.world_model._shapes import check_inputs
from iap_gym.baselines.world_model.loop import first_state
from iap_gym.baselines.world_model.model import WorldModel
from iap_gym.baselines.world_model.state import state_of


class Trace(NamedTuple):
    """T steps of B sequences; n_L layers of the core, S numbers of the state of each.

    Attributes:
        observations: float (T, B, O), predictions of the observations after each step.
        states: float (T + 1, B, n_L·S), the core's state before the first step and after each, the
            first layer first.
        gates: float (T, B, n_L·H) of GateL0RD; None of other cores.
    """

    observations: Tensor
    states: Tensor
    gates: Tensor | None


def trace(model: WorldModel, observations: Tensor, actions: Tensor) -> Trace:
    """Predict as ``WorldModel.forward`` does, and keep the state at every step.

    Without gradients and, as in evaluation mode, without noise.

    Args:
        model: any; its mode stays.
        observations: float (T', B, O). Steps from T' on take the model's own predictions.
        actions: float (T, B, A).

    Raises:
        ValueError: as ``WorldModel.forward`` does.
    """
    inputs = check_inputs(model, observations, actions, None, None, None)
    time, batch = actions.shape[:2]
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            core = first_state(model, inputs.observations, actions, batch)
            state = state_of(model, core)
            predicted: list[Tensor] = []
            states, gates = [_flat(core)], []
            for t in range(time):
                seen = observations[t : t + 1] if t < len(observations) else predicted[-1]
                step = model(seen, actions[t : t + 1], state=state)
                state = step.state
                predicted.append(step.observations)
                assert state.core is not None
                states.append(_flat(state.core))
                gates.append(step.gates)
    finally:
        model.train(training)
    opened = None if gates[0] is None else torch.cat(gates)
    return Trace(torch.cat(predicted), torch.stack(states), opened)


def _flat(state: Tensor) -> Tensor:
    """Return (n_L, B, S) as (B, n_L·S)."""
    return state.transpose(0, 1).flatten(1)
