"""Gate activations with their surrogate gradients, and the penalty on open gates."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.recurrent._shapes import check_gates

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


# name: s -> Λ, how far the state moves to its new value
GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "retanh": retanh,
    "heaviside": heaviside,
    "sigmoid": torch.sigmoid,
}


def openness(gate: str, update: Tensor) -> Tensor:
    """Turn Λ into what cells return as gates: Θ(Λ), but Λ itself for sigmoids, which never close.

    Args:
        gate: name of the gate.
        update: Λ, float tensor of any shape.
    """
    return heaviside(update) if gate == "retanh" else update


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
        ValueError: an unknown kind, gates that are not float, or a mask that is not bool or has
            another shape.
    """
    _checks.one_of("kind", kind, PENALTIES)
    check_gates(gates, mask)
    penalty = {"l0": heaviside, "l1": torch.abs, "l2": torch.square}[kind]
    if mask is None:
        values = penalty(gates)
        return values.mean() if values.numel() else values.sum()
    # Padding may hold anything, NaN too. It is replaced before the penalty is computed, whose
    # gradient would be 0 · NaN; every penalty of 0 is 0.
    kept = gates.masked_fill(~mask.reshape(mask.shape + (1,) * (gates.ndim - mask.ndim)), 0.0)
    each = gates.numel() // max(mask.numel(), 1)
    return penalty(kept).sum() / (mask.sum() * each).clamp(min=1)
