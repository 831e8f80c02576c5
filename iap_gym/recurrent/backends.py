"""Which code runs a sequence: torch, or a kernel that numba compiles."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

from iap_gym._compiled.availability import import_kernels
from iap_gym._optional import require
from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.sequence import run_torch

BACKENDS = ("auto", "torch", "numba")
_PLAIN = (Tensor, nn.Parameter)

# torch has no public name, or no type, for these.
_is_tracing: Any = torch.jit.is_tracing  # pyright: ignore[reportPrivateImportUsage]
_forward_ad: Any = forward_ad
_in_torch_func: Any = torch._C._are_functorch_transforms_active  # pyright: ignore[reportPrivateUsage]


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
    obstacle = (
        obstacle_of_mode()
        or unusual_tensor((x, h, *weights) if noise is None else (x, h, noise, *weights))
        or _unusual_cell(cell, maps, weights)
        or ("it is empty" if x.shape[0] == 0 or x.shape[1] == 0 else None)
    )
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


def obstacle_of_mode() -> str | None:
    """Say in which mode torch is that the kernel would not heed; None if in none."""
    if torch.compiler.is_compiling() or _is_tracing():
        return "torch compiles or traces it"
    if _in_torch_func():
        return "it is within a transform of torch.func"
    if _forward_ad._current_level >= 0:
        return "it is within forward-mode differentiation"
    if torch.is_autocast_enabled("cpu"):
        return "it is within autocast"
    return None


def unusual_tensor(tensors: Iterable[Tensor], dtype: torch.dtype = torch.float32) -> str | None:
    """Say which tensor is more than numbers of one type in the memory of the CPU."""
    name = str(dtype).removeprefix("torch.")
    for tensor in tensors:
        if type(tensor) not in _PLAIN:
            return f"a tensor is a {type(tensor).__name__}"
        if tensor.dtype is not dtype or not tensor.is_cpu:
            return f"a tensor is {tensor.dtype} on {tensor.device}, not {name} on the CPU"
        if tensor.layout is not torch.strided:
            return f"a tensor is {tensor.layout}"
    return None


def _unusual_cell(cell: GateL0RDCell, maps: Sequence[Any], weights: Sequence[Tensor]) -> str | None:
    """Say what somebody made of the maps of a cell that the kernel does not know."""
    for m in maps:
        if type(m) is not nn.Linear or has_hooks(m):
            return f"a map of the cell is a {type(m).__name__} or has hooks"
    sizes = cell.input_size, cell.hidden_size, cell.output_size, cell.num_internal_layers
    if [weight.shape for weight in weights] != _shapes(*sizes, cell.multiplicative_output):
        return "the weights of the cell have other shapes than it says"
    return None


def has_hooks(module: Any) -> bool:
    """Say whether something else runs when a module is called, such as pruning."""
    return bool(module._forward_pre_hooks or module._forward_hooks)


@functools.cache
def _shapes(
    inputs: int, hidden: int, outputs: int, depth: int, multiplicative: bool
) -> list[tuple[int, ...]]:
    """Return the shapes of weight and bias of each map, g, r, p, o."""
    joined = inputs + hidden
    widths = [2**i * hidden for i in reversed(range(depth))]
    network = list(itertools.pairwise([joined, *widths]))
    output = [(joined, outputs)] * (2 if multiplicative else 1)
    return [
        shape
        for fan_in, width in (*network, *network, *output)
        for shape in ((width, fan_in), (width,))
    ]
