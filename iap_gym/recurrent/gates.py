"""Gate activations with their surrogate gradients, and the penalty on open gates."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from iap_gym import _checks

PENALTIES = ("l0", "l1", "l2")


def heaviside(x: Tensor) -> Tensor:
    """Step function whose backward pass is that of the identity (straight-through estimator).

    Forward Θ(x) = 1 if x > 0 else 0, backward ∂Θ/∂x := 1 (GateL0RD, Section 3 and Figure 1c).

    Args:
        x: float tensor of any shape.

    Returns:
        Tensor of the shape and dtype of ``x`` with the values 0 and 1.
    """
    return (x > 0).to(x.dtype) + (x - x.detach())


def retanh(s: Tensor) -> Tensor:
    """Rectified tanh, Λ(s) = max(0, tanh(s)), in [0, 1) (GateL0RD, Section 3).

    Args:
        s: float tensor of any shape.

    Returns:
        Tensor of the shape and dtype of ``s``; its gradient is 0 where s <= 0.
    """
    return torch.relu(torch.tanh(s))


def _retanh(s: Tensor) -> tuple[Tensor, Tensor]:
    update = retanh(s)
    return update, heaviside(update)


def _heaviside(s: Tensor) -> tuple[Tensor, Tensor]:
    update = heaviside(s)
    return update, update


def _sigmoid(s: Tensor) -> tuple[Tensor, Tensor]:
    update = torch.sigmoid(s)
    return update, update


# name: s -> (Λ, how far the state moves to its new value; what is counted as open)
GATES: dict[str, Callable[[Tensor], tuple[Tensor, Tensor]]] = {
    "retanh": _retanh,
    "heaviside": _heaviside,
    "sigmoid": _sigmoid,
}


def gate_penalty(gates: Tensor, mask: Tensor | None = None, kind: str = "l0") -> Tensor:
    """Mean penalty of gates, to be added to a loss after multiplying it by λ.

    "l0" is mean(Θ(gates)), the fraction of open gates, whose gradient passes straight through Θ
    (GateL0RD, Equation 2 with the norm replaced by Θ); "l1" is mean(|gates|) and "l2" mean(gates²),
    the ablations of Appendix D.3 for sigmoid gates.

    Args:
        gates: float (..., H), as a cell or a core returns them.
        mask: bool of the leading dimensions of ``gates``, such as (T, B): True where a step counts
            and False where it is padding. None counts every step.
        kind: "l0", "l1" or "l2".

    Returns:
        Scalar of the dtype of ``gates``: the mean over what the mask keeps, 0 if it keeps nothing.

    Raises:
        ValueError: an unknown kind, or a mask that is not bool or has another shape.
    """
    _checks.one_of("kind", kind, PENALTIES)
    values = {"l0": heaviside, "l1": torch.abs, "l2": torch.square}[kind](gates)
    if mask is None:
        return values.mean() if values.numel() else values.sum()
    leading = tuple(gates.shape[: mask.ndim])
    if mask.dtype != torch.bool or tuple(mask.shape) != leading or mask.ndim >= gates.ndim:
        wanted = f"a bool tensor of shape {tuple(gates.shape[:-1])} or of its first dimensions"
        raise _checks.refuse("mask", wanted, f"{mask.dtype} of shape {tuple(mask.shape)}")
    # Padding may hold anything, NaN too, which a product with 0 would let through.
    open_mask = mask.reshape(mask.shape + (1,) * (gates.ndim - mask.ndim))
    kept = torch.where(open_mask, values, torch.zeros_like(values))
    each = gates.numel() // max(mask.numel(), 1)
    return kept.sum() / (mask.sum() * each).clamp(min=1)
