"""The model's loop over steps in torch: the reference, the fallback, and the way on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from iap_gym.baselines.world_model._shapes import Inputs
from iap_gym.recurrent import Core, GateL0RDCore

if TYPE_CHECKING:
    from iap_gym.baselines.world_model.model import WorldModel

Predicted = tuple[Tensor, Tensor, Tensor | None]


def predict_torch(model: WorldModel, inputs: Inputs) -> Predicted:
    """Predict the observations after each step.

    Args:
        model: holds the weights.
        inputs: checked.

    Returns:
        Predictions (T, B, O), the core's last state (n_L, B, S), gates (T, B, n_L·H) or None.
    """
    observations, actions, real, state, noise = inputs
    time, batch = actions.shape[:2]
    given = min(len(observations), time)
    if state is None:
        state = first_state(model, observations, actions, batch)
    begin = given if real is None else _leading(real[:given])
    # Steps that all take observations run as one sequence.
    seen = observations[:begin]
    x = torch.cat((actions[:begin], seen), dim=-1)
    predicted, state, opened = _advance(model, x, seen, state, _part(noise, 0, begin))
    predictions, gates = [predicted], [opened]
    for t in range(begin, time):
        seen = predictions[-1][-1:]
        if real is not None and t < given:
            seen = torch.where(real[t].unsqueeze(-1), observations[t], seen)
        x = torch.cat((actions[t : t + 1], seen), dim=-1)
        predicted, state, opened = _advance(model, x, seen, state, _part(noise, t, t + 1))
        predictions.append(predicted)
        gates.append(opened)
    whole = [part for part in gates if part is not None]
    return torch.cat(predictions), state, torch.cat(whole) if whole else None


def first_state(model: WorldModel, observations: Tensor, actions: Tensor, batch: int) -> Tensor:
    """Return the state before the first step: what f_init chooses, or zeros."""
    if model.f_init is None:
        return model.core.initial_state(batch)
    k = model.context_inputs
    return model.core.state_from(model.f_init(torch.cat((actions[:k], observations[:k]), dim=-1)))


def _leading(real: Tensor) -> int:
    """Return how many first steps take all observations, at least one."""
    mixed = (~real.all(dim=1)).nonzero()
    return max(1, int(mixed[0])) if len(mixed) else len(real)


def _part(noise: Tensor | None, begin: int, end: int) -> Tensor | None:
    return None if noise is None else noise[begin:end]


def _advance(
    model: WorldModel, x: Tensor, seen: Tensor, state: Tensor, noise: Tensor | None
) -> Predicted:
    y, state, gates = _run(model.core, model.f_pre(x), state, noise)
    return seen + model.residual_scale * model.f_post(y), state, gates


def _run(core: Core, x: Tensor, state: Tensor, noise: Tensor | None) -> Predicted:
    """Run a core with noise of gates that was drawn for the whole sequence."""
    if not isinstance(core, GateL0RDCore):
        y, state, _ = core.run(x, state, None)
        return y, state, None
    if noise is None and core.training:  # none is to be drawn
        noise = x.new_zeros(()).expand(*x.shape[:2], core.num_layers * core.hidden_size)
    h = state[0] if core.num_layers == 1 else state
    y, h, gates = core.gatel0rd.run(x, h, None, noise=noise)
    return y, h.reshape(state.shape), gates
