"""Checks of the tensors that cells and cores are called with."""

from __future__ import annotations

import torch
from torch import Tensor

from iap_gym import _checks


def describe(tensor: Tensor) -> str:
    """Name the dtype and shape of a tensor in an error."""
    return f"{str(tensor.dtype).removeprefix('torch.')} of shape {tuple(tensor.shape)}"


def check_input(x: Tensor, dimensions: str, size: int, like: Tensor) -> None:
    """Refuse an input of another rank, last dimension or dtype.

    Args:
        x: the input.
        dimensions: names of its dimensions, such as "T, B, I".
        size: of the last dimension.
        like: a parameter, whose dtype the input must have.
    """
    rank = dimensions.count(",") + 1
    # Within autocast torch itself casts what its operations are given.
    same = x.dtype == like.dtype or torch.is_autocast_enabled(x.device.type)
    if x.ndim != rank or x.shape[-1] != size or not same:
        wanted = f"{str(like.dtype).removeprefix('torch.')} of shape ({dimensions}) with I = {size}"
        raise _checks.refuse("x", wanted, describe(x))


def check_state(name: str, state: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a state of another shape."""
    if tuple(state.shape) != shape:
        raise _checks.refuse(name, f"a state of shape {shape}", describe(state))


def check_reset_mask(mask: Tensor, time: int, batch: int) -> None:
    """Refuse a reset mask that is not bool (T, B)."""
    if mask.dtype != torch.bool or tuple(mask.shape) != (time, batch):
        wanted = f"bool of shape (T, B) = ({time}, {batch})"
        raise _checks.refuse("reset_mask", wanted, describe(mask))
