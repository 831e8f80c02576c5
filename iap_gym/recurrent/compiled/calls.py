"""A sequence as a function that torch differentiates by calling the compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.compiled._addresses import Arguments, backward, forward
from iap_gym.recurrent.sequence import run_torch

Outputs = tuple[Tensor, Tensor, Tensor]


def run(
    cell: GateL0RDCell,
    x: Tensor,
    h: Tensor,
    reset_mask: Tensor | None,
    noise: Tensor | None,
    weights: Sequence[Tensor],
) -> Outputs:
    """Do what ``run_torch`` does, for float32 on the CPU; ``Arguments`` says more."""
    x, h = _plain(x), _plain(h)
    reset_mask = None if reset_mask is None else reset_mask.contiguous()
    noise = None if noise is None else noise.contiguous()
    weights = [weight.contiguous() for weight in weights]
    if torch.is_grad_enabled() and any(z.requires_grad for z in (x, h, *weights)):
        function: Any = _Sequence
        return cast("Outputs", function.apply(cell, x, h, reset_mask, noise, *weights))
    return forward(Arguments(cell, x, h, reset_mask, noise, weights), kept=False)[:3]


class _Sequence(torch.autograd.Function):
    """The compiled sequence."""

    @staticmethod
    def forward(
        ctx: Any,
        cell: GateL0RDCell,
        x: Tensor,
        h: Tensor,
        reset_mask: Tensor | None,
        noise: Tensor | None,
        *weights: Tensor,
    ) -> Outputs:
        arguments = Arguments(cell, x, h, reset_mask, noise, weights)
        y, last, gates, memory = forward(arguments, kept=True)
        ctx.cell = cell
        ctx.save_for_backward(x, h, reset_mask, noise, memory, *weights)
        ctx.set_materialize_grads(False)
        return y, last, gates

    @staticmethod
    def backward(ctx: Any, *d_outputs: Tensor | None) -> tuple[Tensor | None, ...]:
        x, h, reset_mask, noise, memory, *weights = ctx.saved_tensors
        arguments = Arguments(ctx.cell, x, h, reset_mask, noise, weights)
        wanted = [want for index, want in enumerate(ctx.needs_input_grad) if index not in (0, 3, 4)]
        # Gradients that may be differentiated in their turn, or that torch stacks (vmap).
        if torch.is_grad_enabled() or not all(map(_in_memory, d_outputs)):
            dx, dh, *rest = _torch_backward(arguments, d_outputs, wanted)
        else:
            plain = [None if d is None else _plain(d) for d in d_outputs]
            dx, dh, *rest = backward(arguments, memory, plain, wanted)
        return None, dx, dh, None, None, *rest


def _plain(tensor: Tensor) -> Tensor:
    """Return a tensor whose numbers lie one after the other in memory, as they are."""
    return tensor.resolve_neg().contiguous()


def _in_memory(tensor: Tensor | None) -> bool:
    """Say whether a tensor has numbers of its own, unlike those that stand for several."""
    try:
        return tensor is None or tensor.data_ptr() != 0
    except RuntimeError:
        return False


class _Reference(nn.Module):
    """``run_torch`` as a module, which may be called with other weights than its own."""

    def __init__(self, cell: GateL0RDCell) -> None:
        super().__init__()
        self.cell = cell

    def forward(
        self, x: Tensor, h: Tensor, reset_mask: Tensor | None, noise: Tensor | None
    ) -> Outputs:
        return run_torch(self.cell, x, h, reset_mask, noise)


def _torch_backward(
    arguments: Arguments, d_outputs: Sequence[Tensor | None], wanted: Sequence[bool]
) -> list[Tensor | None]:
    """Return what ``backward`` does, by operations of torch."""
    cell, x, h, reset_mask, noise, weights = arguments
    reference = _Reference(cell)
    names = [name for name, _ in reference.named_parameters()]
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        outputs = torch.func.functional_call(
            reference, dict(zip(names, weights, strict=True)), (x, h, reset_mask, noise)
        )
    pairs = [(y, d) for y, d in zip(outputs, d_outputs, strict=True) if d is not None]
    chosen = [z for z, want in zip((x, h, *weights), wanted, strict=True) if want]
    found = iter(
        torch.autograd.grad(
            [y for y, _ in pairs],
            chosen,
            [d for _, d in pairs],
            create_graph=create_graph,
            allow_unused=True,
        )
    )
    return [next(found) if want else None for want in wanted]
