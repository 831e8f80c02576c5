"""Checks of the tensors that cells and cores are called with."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from iap_gym import _checks


def describe(value: Any) -> str:
    """Name the dtype and shape of a tensor in an error, and the type of anything else."""
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"{_name(value.dtype)} of shape {tuple(value.shape)}"


def check_input(x: Any, dimensions: str, size: int, like: Tensor) -> None:
    """Refuse an input of another rank, last dimension or dtype.

    Args:
        x: the input.
        dimensions: names of its dimensions, such as "T, B, I".
        size: of the last dimension.
        like: a parameter, whose dtype the input must have.
    """
    rank = dimensions.count(",") + 1
    if (
        not isinstance(x, Tensor)
        or x.ndim != rank
        or x.shape[-1] != size
        or not _same_dtype(x, like)
    ):
        wanted = f"a tensor, {_name(like.dtype)} of shape ({dimensions}) with I = {size}"
        raise _checks.refuse("x", wanted, describe(x))


def check_state(name: str, state: Any, shape: tuple[int, ...], like: Tensor) -> None:
    """Refuse a state of another shape, or of another dtype than a parameter ``like``."""
    if not isinstance(state, Tensor) or tuple(state.shape) != shape or not _same_dtype(state, like):
        wanted = f"a tensor, {_name(like.dtype)} of shape {shape}"
        raise _checks.refuse(name, wanted, describe(state))


def check_reset_mask(mask: Any, time: int, batch: int) -> None:
    """Refuse a reset mask that is not bool (T, B)."""
    if (
        not isinstance(mask, Tensor)
        or mask.dtype != torch.bool
        or tuple(mask.shape) != (time, batch)
    ):
        wanted = f"a tensor, bool of shape (T, B) = ({time}, {batch})"
        raise _checks.refuse("reset_mask", wanted, describe(mask))


def check_gates(gates: Any, mask: Any) -> None:
    """Refuse gates that are not float, and a mask that is not bool of their leading dimensions."""
    if not isinstance(gates, Tensor) or not gates.is_floating_point():
        raise _checks.refuse("gates", "a float tensor", describe(gates))
    if mask is None:
        return
    leading = tuple(gates.shape[:-1])
    if (
        not isinstance(mask, Tensor)
        or mask.dtype != torch.bool
        or mask.ndim > len(leading)
        or tuple(mask.shape) != leading[: mask.ndim]
    ):
        wanted = f"a bool tensor of shape {leading} or of its first dimensions"
        raise _checks.refuse("mask", wanted, describe(mask))


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _same_dtype(tensor: Tensor, like: Tensor) -> bool:
    if tensor.dtype == like.dtype:
        return True
    # Within autocast torch itself casts what its operations are given.
    device = tensor.device.type
    return (
        tensor.is_floating_point()
        and torch.amp.is_autocast_available(device)
        and torch.is_autocast_enabled(device)
    )
