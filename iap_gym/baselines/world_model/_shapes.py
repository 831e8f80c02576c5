"""Checks of the tensors that a world model is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from iap_gym import _checks
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
    model: WorldModel,
    observations: Any,
    actions: Any,
    real: Any,
    state: Any,
    noise: Any,
    *,
    whole: bool = True,
) -> Inputs:
    """Refuse what has another shape or dtype than a model takes.

    Args:
        model: decides.
        observations: (T', B, O).
        actions: (T, B, A).
        real: (T, B) or None.
        state: (n_L, B, S) or None.
        noise: (T, B, n_L·H) or None.
        whole: whether f_init must find its inputs.

    Raises:
        ValueError: the message names the argument.
    """
    dtype = model.f_post.weight.dtype
    _float("actions", actions, ("T", "B", model.action_size), dtype)
    time, batch = actions.shape[:2]
    if time == 0 or batch == 0:
        raise _checks.refuse("actions", "at least one step of one sequence", tuple(actions.shape))
    _float("observations", observations, ("T'", batch, model.obs_size), dtype)
    core = model.core
    if state is not None:
        _float("state", state, (core.num_layers, batch, core.state_size), dtype)
    needed = 1 if state is not None else max(1, model.context_inputs)
    available = min(len(observations), time)
    if available < (needed if whole else 1):
        wanted = f"at least {needed} steps with an observation, which the model begins with"
        raise _checks.refuse("observations", wanted, available)
    if real is not None and (
        not isinstance(real, Tensor) or real.dtype != torch.bool or real.shape != (time, batch)
    ):
        wanted = f"a tensor, bool of shape (T, B) = ({time}, {batch})"
        raise _checks.refuse("real", wanted, describe(real))
    if noise is not None:
        _float("noise", noise, (time, batch, core.num_layers * core.hidden_size), dtype)
    return Inputs(observations, actions, real, state, noise)


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


def check_first(first: Tensor, observation: Tensor) -> None:
    """Refuse first inputs of another number of sequences than an observation (B, O)."""
    if first.shape[1] != len(observation):
        wanted = f"that of {len(observation)} sequences"
        raise _checks.refuse("state", wanted, f"one of {first.shape[1]}")


def _float(name: str, tensor: Any, shape: tuple[Any, ...], dtype: torch.dtype) -> None:
    if (
        not isinstance(tensor, Tensor)
        or tensor.dtype != dtype
        or tensor.ndim != len(shape)
        or any(isinstance(n, int) and n != m for n, m in zip(shape, tensor.shape, strict=True))
    ):
        text = ", ".join(map(str, shape))
        wanted = f"a tensor, {str(dtype).removeprefix('torch.')} of shape ({text})"
        raise _checks.refuse(name, wanted, describe(tensor))
