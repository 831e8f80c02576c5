"""Checks of the tensors that a world model is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.baselines.world_model.state import ModelState
from iap_gym.recurrent._shapes import describe

if TYPE_CHECKING:
    from iap_gym.baselines.world_model.model import WorldModel


class Inputs(NamedTuple):
    """What ``WorldModel.forward`` takes, checked."""

    observations: Tensor
    actions: Tensor
    real: Tensor | None
    state: Tensor | None
    noise: Tensor | None


def check_inputs(
    model: WorldModel, observations: Any, actions: Any, real: Any, state: Any, noise: Any
) -> Inputs:
    """Refuse what has another shape or dtype than a model takes.

    Args:
        model: decides.
        observations: (T', B, O).
        actions: (T, B, A).
        real: (T, B) or None.
        state: a ``ModelState`` of B sequences, or None.
        noise: (T, B, n_L·H) or None.

    Returns:
        What there is to compute; inputs that the state still holds for f_init come first in it, so
        that it may have more steps than ``actions``.

    Raises:
        ValueError: the message names the argument.
    """
    dtype = model.f_post.weight.dtype
    check_float("actions", actions, ("T", "B", model.action_size), dtype)
    time, batch = actions.shape[:2]
    if time == 0 or batch == 0:
        raise _checks.refuse("actions", "at least one step of one sequence", tuple(actions.shape))
    check_float("observations", observations, ("T'", batch, model.obs_size), dtype)
    core, first = (None, ()) if state is None else check_state(model, state, batch)
    needed = max(1, 0 if core is not None else model.context_inputs - len(first))
    available = min(len(observations), time)
    if available < needed:
        wanted = f"at least {needed} steps with an observation, which the model begins with"
        raise _checks.refuse("observations", wanted, available)
    if real is not None and (
        not isinstance(real, Tensor) or real.dtype != torch.bool or real.shape != (time, batch)
    ):
        wanted = f"a tensor, bool of shape (T, B) = ({time}, {batch})"
        raise _checks.refuse("real", wanted, describe(real))
    if noise is not None:
        width = model.core.num_layers * model.core.hidden_size
        check_float("noise", noise, (time, batch, width), dtype)
    if isinstance(first, Tensor) and len(first):
        moves, seen = first.split([model.action_size, model.obs_size], dim=-1)
        observations, actions = torch.cat((seen, observations)), torch.cat((moves, actions))
        real = None if real is None else prepend(real, len(first), value=True)
        noise = None if noise is None else prepend(noise, len(first))
    return Inputs(observations, actions, real, core, noise)


def check_state(model: WorldModel, state: Any, batch: int, *, spread: bool = False) -> ModelState:
    """Return a state of ``batch`` sequences.

    Args:
        model: whose state it is.
        state: what was given.
        batch: B.
        spread: whether one of a single sequence is taken for all.

    Raises:
        ValueError: it is none, or of another model or number of sequences.
    """
    if not isinstance(state, ModelState):
        wanted = "a ModelState, as begin, step and predictions give it, or None"
        raise _checks.refuse("state", wanted, describe(state))
    dtype, core, first = model.f_post.weight.dtype, state.core, state.first
    if core is not None:
        shape = model.core.num_layers, "B", model.core.state_size
        check_float("state.core", core, shape, dtype)
    check_float("state.first", first, ("j", "B", model.action_size + model.obs_size), dtype)
    most = 0 if core is not None else max(0, model.context_inputs - 1)
    if len(first) > most:
        raise _checks.refuse("state.first", f"at most {most} inputs", len(first))
    found = first.shape[1] if core is None else core.shape[1]
    if found != batch and not (spread and found == 1):
        wanted = f"that of {'1 or ' if spread else ''}{batch} sequences"
        raise _checks.refuse("state", wanted, f"one of {found}")
    if found == batch:
        return state
    return ModelState(
        None if core is None else core.expand(-1, batch, -1), first.expand(-1, batch, -1)
    )


def prepend(tensor: Tensor, steps: int, *, value: bool = False) -> Tensor:
    """Return a tensor (T, B, ...) with so many steps of zeros, or of True, before it."""
    return torch.cat((tensor.new_full((steps, *tensor.shape[1:]), value), tensor))


def check_step(model: WorldModel, observation: Any, action: Any) -> None:
    """Refuse what is no observation (B, O) and action (B, A).

    Raises:
        ValueError: the message names the argument.
    """
    dtype = model.f_post.weight.dtype
    check_float("observation", observation, ("B", model.obs_size), dtype)
    batch = len(observation)
    if batch == 0:
        raise _checks.refuse("observation", "at least one sequence", tuple(observation.shape))
    check_float("action", action, (batch, model.action_size), dtype)


def for_all_plans(name: str, tensor: Any, actions: Any) -> Tensor:
    """Return a tensor (n, B, m) or (n, 1, m) as one of as many sequences as there are plans.

    Raises:
        ValueError: it, or actions, have another shape.
    """
    if not isinstance(actions, Tensor) or actions.ndim != 3:
        raise _checks.refuse("actions", "a tensor of shape (T, B, A)", describe(actions))
    batch = actions.shape[1]
    if not isinstance(tensor, Tensor) or tensor.ndim != 3 or tensor.shape[1] not in (1, batch):
        wanted = f"a tensor of three dimensions, the second 1 or B = {batch}"
        raise _checks.refuse(name, wanted, describe(tensor))
    return tensor.expand(-1, batch, -1)


def check_float(name: str, tensor: Any, shape: tuple[Any, ...], dtype: torch.dtype) -> None:
    """Refuse what is no tensor of a dtype and of a shape, in which names stand for any number.

    Raises:
        ValueError: the message names the argument.
    """
    if (
        not isinstance(tensor, Tensor)
        or tensor.dtype != dtype
        or tensor.ndim != len(shape)
        or any(isinstance(n, int) and n != m for n, m in zip(shape, tensor.shape, strict=True))
    ):
        text = ", ".join(map(str, shape))
        wanted = f"a tensor, {str(dtype).removeprefix('torch.')} of shape ({text})"
        raise _checks.refuse(name, wanted, describe(tensor))
