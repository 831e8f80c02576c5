"""Which code runs a sequence: torch, or a kernel that numba compiles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from iap_gym._compiled.availability import import_kernels
from iap_gym._optional import require
from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.sequence import run_torch

BACKENDS = ("auto", "torch", "numba")

# What torch has no public or no typed name for.
_in_torch_func: Any = torch._C._are_functorch_transforms_active
_is_tracing: Any = torch.jit.is_tracing
_unpack_dual: Any = forward_ad.unpack_dual


def run(
    cell: GateL0RDCell,
    x: Tensor,
    h: Tensor,
    reset_mask: Tensor | None,
    noise: Tensor | None,
    backend: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run one cell over a sequence.

    Args:
        cell: holds the weights.
        x: float (T, B, I).
        h: float (B, H).
        reset_mask: bool (T, B); the state is zeroed before the steps where it is True.
        noise: float (T, B, H), added to the arguments of the gates.
        backend: one of ``BACKENDS``; "auto" is "numba" where that can run the sequence.

    Returns:
        y (T, B, O), the last h (B, H), gates (T, B, H).

    Raises:
        ValueError: ``backend`` is "numba", which cannot run this sequence; the message says why.
        gymnasium.error.DependencyNotInstalled: ``backend`` is "numba", which is not installed.
    """
    # torch.compile follows what is called here; it shall see nothing but torch.
    if backend == "torch" or (backend == "auto" and torch.compiler.is_compiling()):
        return run_torch(cell, x, h, reset_mask, noise)
    maps = [m for m in (*cell.g, *cell.r, cell.p, cell.o) if isinstance(m, nn.Linear)]
    weights = [z for m in maps for z in (m.weight, m.bias)]
    numbers = (x, h, *weights) if noise is None else (x, h, noise, *weights)
    obstacle = _obstacle(maps, numbers, empty=x.shape[0] == 0 or x.shape[1] == 0)
    if obstacle is None:
        calls = import_kernels(
            "iap_gym.recurrent.compiled.calls", "sequences are computed by torch"
        )
        if calls is not None:
            return calls.run(cell, x, h, reset_mask, noise, weights)
        obstacle = "numba is absent, broken or told not to compile (NUMBA_DISABLE_JIT)"
    if backend == "numba":
        require("numba", "fast")
        raise ValueError(f"backend: 'numba' cannot run this sequence: {obstacle}")
    return run_torch(cell, x, h, reset_mask, noise)


def _obstacle(maps: Iterable[nn.Linear], numbers: Iterable[Tensor], empty: bool) -> str | None:
    """Say what stands against the kernel; None if nothing does."""
    if torch.compiler.is_compiling() or _is_tracing():
        return "torch compiles or traces it"
    if _in_torch_func():
        return "it is within a transform of torch.func"
    if torch.is_autocast_enabled("cpu"):
        return "it is within autocast"
    if empty:
        return "it is empty"
    for m in maps:
        if type(m) is not nn.Linear:
            return f"a map of the cell is a {type(m).__name__}, not a Linear"
    for tensor in numbers:
        if type(tensor) not in (Tensor, nn.Parameter):
            return f"a tensor is a {type(tensor).__name__}"
        if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
            return f"a tensor is {tensor.dtype} on {tensor.device}, not float32 on the CPU"
        if tensor.layout != torch.strided:
            return f"a tensor is {tensor.layout}"
        if _unpack_dual(tensor).tangent is not None:
            return "a tensor carries a forward-mode derivative"
    return None
