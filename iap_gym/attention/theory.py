r"""Mean squared errors of the three estimators of the softmax kernel, in closed form.

Theorem 4.1 of "Unlocking Pixels for Reinforcement Learning via Implicit Attention" (2021), with
its lemmas, eqs. 13 and 14. The paper's formulas hold for independent samples; orthogonal ones have
smaller errors. Everywhere :math:`\mathrm{SM} = \exp(x \cdot y)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.attention.angles import angle_fraction


def mse_positive(x: Any, y: Any, m: int) -> Tensor:
    r"""Mean squared error of :class:`PositiveFeatures` with independent samples (eq. 14).

    .. math:: V_E = \frac 1m\, e^{|x+y|^2}\, \mathrm{SM}^2 \left(1 - e^{-|x+y|^2}\right)

    Args:
        x: (..., d), torch or numpy; computed in float64.
        y: (..., d), likewise; leading sizes broadcast.
        m: number of random vectors; of plain features, not ``symmetric`` ones.

    Returns:
        float64 (...); infinite where the error is beyond float64.

    Raises:
        ValueError: shapes that do not fit, or m is not an integer of at least 1.
    """
    x, y, m = _vectors(x, y, m)
    return _positive(x, y, m, torch.ones_like(x[..., 0]))


def mse_trigonometric(x: Any, y: Any, m: int) -> Tensor:
    r"""Mean squared error of :class:`TrigonometricFeatures` with independent samples (eq. 13).

    .. math:: V_T = \frac 1{2m}\, e^{|x+y|^2}\, \mathrm{SM}^{-2} \left(1 - e^{-|x-y|^2}\right)^2

    Args:
        x: (..., d), torch or numpy; computed in float64.
        y: (..., d), likewise; leading sizes broadcast.
        m: number of random vectors; there are 2m features.

    Returns:
        float64 (...); infinite where the error is beyond float64.

    Raises:
        ValueError: shapes that do not fit, or m is not an integer of at least 1.
    """
    x, y, m = _vectors(x, y, m)
    return _trigonometric(x, y, m, torch.ones_like(x[..., 0]))


def mse_hybrid(x: Any, y: Any, m: int, r: int) -> Tensor:
    r"""Mean squared error of :class:`HybridFeatures` with independent samples (theorem 4.1).

    With :math:`p = \theta/\pi` for the angle between x and y, and :math:`V_E`, :math:`V_T` of
    :func:`mse_positive` and :func:`mse_trigonometric`,

    .. math:: V_H = p^2\, V_E + (1-p)^2\, V_T + p(1-p) \left[ \frac{V_E + V_T}{r}
        - \frac 2m \left(1 - \frac 1r\right) \mathrm{SM}^2
        \left(1 - \cos(|x|^2 - |y|^2)\right) \right] .

    For vectors of the same length it is 0 at :math:`\theta = 0` and at :math:`\theta = \pi`.

    Args:
        x: (..., d), torch or numpy; computed in float64.
        y: (..., d), likewise; leading sizes broadcast.
        m: number of random vectors of the two softmax estimates.
        r: number of sign vectors.

    Returns:
        float64 (...); infinite where the error is beyond float64.

    Raises:
        ValueError: shapes that do not fit, or m or r is not an integer of at least 1.
    """
    x, y, m = _vectors(x, y, m)
    r = _checks.integer("r", r, 1)
    p = angle_fraction(x, y)
    mixed = p * (1 - p)
    squares = x.square().sum(-1) - y.square().sum(-1)
    # 1 - cos a = 2 sin² (a/2), which keeps its digits for vectors of nearly the same length.
    shared = 4 / m * (1 - 1 / r) * mixed * (squares / 2).sin().square()
    variances = _positive(x, y, m, p.square() + mixed / r) + _trigonometric(
        x, y, m, (1 - p).square() + mixed / r
    )
    covariance = _scaled(shared, 2 * (x * y).sum(-1))
    # The covariance is the smaller of the two; infinity less infinity would be NaN.
    return torch.where(variances.isinf(), variances, variances - covariance)


def _vectors(x: Any, y: Any, m: int) -> tuple[Tensor, Tensor, int]:
    m = _checks.integer("m", m, 1)
    x = torch.as_tensor(x, dtype=torch.float64)
    y = torch.as_tensor(y, dtype=torch.float64, device=x.device)
    if x.dim() == 0 or x.shape[-1] == 0:
        raise _checks.refuse("x", "shape (..., d)", tuple(x.shape))
    if y.shape[-1:] != x.shape[-1:]:
        raise _checks.refuse("y", f"shape (..., {x.shape[-1]})", tuple(y.shape))
    try:
        shape = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        wanted = f"a shape that broadcasts with that of x, {tuple(x.shape)}"
        raise _checks.refuse("y", wanted, tuple(y.shape)) from None
    return x.expand(shape), y.expand(shape), m


def _positive(x: Tensor, y: Tensor, m: int, weight: Tensor) -> Tensor:
    """Return weight · V_E."""
    sum_square = (x + y).square().sum(-1)
    return _scaled(-weight * torch.expm1(-sum_square) / m, sum_square + 2 * (x * y).sum(-1))


def _trigonometric(x: Tensor, y: Tensor, m: int, weight: Tensor) -> Tensor:
    """Return weight · V_T, where exp(|x+y|²) SM^(-2) = exp(|x|² + |y|²)."""
    spread = torch.expm1(-(x - y).square().sum(-1)).square()
    return _scaled(weight * spread / (2 * m), x.square().sum(-1) + y.square().sum(-1))


def _scaled(factor: Tensor, exponent: Tensor) -> Tensor:
    """Return factor · exp(exponent) for factor >= 0; 0 where it is 0, however large the other."""
    return (factor.log() + exponent).exp()
