"""GateL0RD over a sequence in torch: the reference, the fallback, and the way on a GPU."""

from __future__ import annotations

import torch
from torch import Tensor

from iap_gym.recurrent.cell import GateL0RDCell


def run_torch(
    cell: GateL0RDCell, x: Tensor, h: Tensor, reset_mask: Tensor | None, noise: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Take one step of a cell after the other.

    Args:
        cell: holds the weights.
        x: float (T, B, I).
        h: float (B, H).
        reset_mask: bool (T, B); the state is zeroed before the steps where it is True.
        noise: float (T, B, H), added to the arguments of the gates.

    Returns:
        y (T, B, O), the last h (B, H), gates (T, B, H).
    """
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
