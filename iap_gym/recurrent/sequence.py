"""GateL0RD over a sequence in torch: the reference, the fallback, and the way on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.gates import openness


def run_torch(
    cell: GateL0RDCell, x: Tensor, h: Tensor, reset_mask: Tensor | None, noise: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Do what ``cell.step`` does at each time, with as few operations as can be inside the loop.

    The inputs' part of g and r is one product before it, and the outputs are two after it. That
    is no gain for a single step, which is left to ``cell.step``.

    Args:
        cell: holds the weights.
        x: float (T, B, I).
        h: float (B, H).
        reset_mask: bool (T, B); the state is zeroed before the steps where it is True.
        noise: float (T, B, H), added to the arguments of the gates.

    Returns:
        y (T, B, O), the last h (B, H), gates (T, B, H).
    """
    if x.shape[0] == 0:
        return x.new_zeros(0, x.shape[1], cell.output_size), h, x.new_zeros(0, *h.shape)
    if x.shape[0] == 1:
        if reset_mask is not None:
            h = h.masked_fill(reset_mask[0].unsqueeze(-1), 0.0)
        y, h, theta = cell.step(x[0], h, None if noise is None else noise[0])
        return y.unsqueeze(0), h, theta.unsqueeze(0)
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
    y = cell.output(torch.cat((x, torch.stack(states)), dim=-1))
    return y, h, openness(cell.gate, torch.stack(updates))
