"""GateL0RD over a sequence in torch: the reference, the fallback, and the way on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.gates import openness


def run_torch(
    cell: GateL0RDCell, x: Tensor, h: Tensor, reset_mask: Tensor | None, noise: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Run a cell over a sequence.

    Args:
        cell: holds the weights.
        x: float (T, B, I).
        h: float (B, H).
        reset_mask: bool (T, B); the state is zeroed before the steps where it is True.
        noise: float (T, B, H), added to the arguments of the gates.

    Returns:
        y (T, B, O), the last h (B, H), gates (T, B, H).
    """
    if x.shape[0] > 1 and all(map(_is_affine, (*cell.g, *cell.r))):
        return _run_hoisted(cell, x, h, reset_mask, noise)
    outputs: list[Tensor] = []
    gates: list[Tensor] = []
    for t in range(x.shape[0]):
        if reset_mask is not None:
            h = h.masked_fill(reset_mask[t].unsqueeze(-1), 0.0)
        y, h, theta = cell.step(x[t], h, None if noise is None else noise[t])
        outputs.append(y)
        gates.append(theta)
    if not outputs:
        return x.new_zeros(0, x.shape[1], cell.output_size), h, x.new_zeros(0, *h.shape)
    return torch.stack(outputs), h, torch.stack(gates)


def _is_affine(layer: Any) -> bool:
    """Say whether a layer is its weight and bias alone, or without any.

    Hooks (of pruning, say) run when a layer is called, and others may be in its place.
    """
    if layer._forward_pre_hooks or layer._forward_hooks:
        return False
    return isinstance(layer, nn.Linear | nn.Tanh)


def _run_hoisted(
    cell: GateL0RDCell, x: Tensor, h: Tensor, reset_mask: Tensor | None, noise: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Do the same with as few operations as can be inside the loop.

    The inputs' part of g and r is one product before it, and the outputs are two after it.
    """
    first_g, first_r = cell.g[0], cell.r[0]
    assert isinstance(first_g, nn.Linear)
    assert isinstance(first_r, nn.Linear)
    weight = torch.cat((first_g.weight, first_r.weight))
    bias = torch.cat((first_g.bias, first_r.bias))
    # unbind rather than x[t], whose gradient would be a full sequence of zeros at each step
    drives = nn.functional.linear(x, weight[:, : cell.input_size], bias).unbind(0)
    rest_g, rest_r = cell.g[1:], cell.r[1:]
    from_state = weight[:, cell.input_size :].T
    states: list[Tensor] = []
    updates: list[Tensor] = []
    for t, drive in enumerate(drives):
        if reset_mask is not None:
            h = h.masked_fill(reset_mask[t].unsqueeze(-1), 0.0)
        s, r = torch.addmm(drive, h, from_state).chunk(2, dim=-1)
        h, update = cell.move(h, rest_g(s), rest_r(r), None if noise is None else noise[t])
        states.append(h)
        updates.append(update)
    after = torch.stack(states)
    y = cell.output(torch.cat((x, after), dim=-1))
    # The last state is copied from the stack: inductor (torch 2.13) would compute h itself into the
    # memory of the last update, and give that memory to others before h is returned.
    return y, after[-1].clone(), openness(cell.gate, torch.stack(updates))
