"""Finite feature maps of the kernels that ``PatchSelector`` attends with.

These are the plain definitions. ``importance`` sums the same kernels over all queries of an image
without forming the features of the hybrid one, and without overflow. Maps of other kernels are in
``projection_maps`` and ``fourier_maps``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.attention.base import FeatureMap, RandomFeatureMap, project, signs


class ReLUFeatures(FeatureMap):
    r"""The deterministic map :math:`\phi(z) = \mathrm{relu}(z)`, of ``dim`` features.

    Its kernel is :math:`K(x, y) = \mathrm{relu}(x) \cdot \mathrm{relu}(y)`. It is the "ReLU"
    variant of the IAP paper (Choromanski et al., 2021, section 5); no constant is added.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.num_features = self.dim

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., dim)."""
        self._check(x)
        return x.relu()

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Return relu(x) · relu(y), shape (...)."""
        self._check(x, y)
        return (x.relu() * y.relu()).sum(-1)


class _SoftmaxFeatures(RandomFeatureMap):
    """A map that draws ``omega`` (m, dim) and estimates the softmax kernel exp(x · y)."""

    omega: Tensor

    def __init__(self, dim: int, num_samples: int, orthogonal: bool) -> None:
        super().__init__(dim, orthogonal)
        self.num_samples = _checks.integer("num_samples", num_samples, 1)

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {"omega": self._gaussian(self.num_samples, generator)}

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the softmax kernel exp(x · y), shape (...)."""
        self._check(x, y)
        return (x * y).sum(-1).exp()

    def _project(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return omega · x, (..., m), and |x|²/2, (..., 1)."""
        self._check(x)
        return project(x, self.omega), x.square().sum(-1, keepdim=True) / 2


class PositiveFeatures(_SoftmaxFeatures):
    r"""Positive random features of the softmax kernel (FAVOR+; IAP paper, eq. 6).

    .. math:: \phi(z) = \frac{1}{\sqrt m}\left(\exp(\omega_i \cdot z - |z|^2/2)\right)_{i=1}^m

    With ``symmetric`` each sample enters with both signs, :math:`\exp(\pm\omega_i \cdot z -
    |z|^2/2) / \sqrt{2m}`, which makes 2m features.

    Args:
        dim: size of an input vector.
        num_samples: m, the number of random vectors.
        symmetric: use each vector with both signs.
        orthogonal: draw them with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: a size is not an integer of at least 1, or a flag is not a bool.
    """

    def __init__(
        self,
        dim: int,
        num_samples: int,
        symmetric: bool = False,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, num_samples, orthogonal)
        self.symmetric = _checks.boolean("symmetric", symmetric)
        self.num_features = self.num_samples * (2 if symmetric else 1)
        self._register(generator)

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., num_features), all positive."""
        projected, half_square = self._project(x)
        if self.symmetric:
            projected = torch.cat([projected, -projected], dim=-1)
        return (projected - half_square).exp() / math.sqrt(self.num_features)


class TrigonometricFeatures(_SoftmaxFeatures):
    r"""Trigonometric random features of the softmax kernel (IAP paper, section 4).

    .. math:: \phi(z) = \frac{\exp(|z|^2/2)}{\sqrt m}
        \left(\sin \omega_i \cdot z, \cos \omega_i \cdot z\right)_{i=1}^m

    The 2m features are ordered all sines, then all cosines.

    Args:
        dim: size of an input vector.
        num_samples: m, the number of random vectors.
        orthogonal: draw them with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: a size is not an integer of at least 1, or ``orthogonal`` is not a bool.
    """

    def __init__(
        self,
        dim: int,
        num_samples: int,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, num_samples, orthogonal)
        self.num_features = 2 * self.num_samples
        self._register(generator)

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., num_features)."""
        projected, half_square = self._project(x)
        waves = torch.cat([projected.sin(), projected.cos()], dim=-1)
        return waves * (half_square.exp() / math.sqrt(self.num_samples))


class HybridFeatures(_SoftmaxFeatures):
    r"""Hybrid random features of the softmax kernel (IAP paper, eqs. 7 to 9).

    With :math:`E` and :math:`T` the estimates of the positive and the trigonometric features of
    the same :math:`\omega`, and :math:`A = \frac1r\sum_j \mathrm{sgn}(\xi_j\cdot x)\,
    \mathrm{sgn}(\xi_j\cdot y)`, the features satisfy

    .. math:: \mathrm{query}(x)\cdot\mathrm{key}(y) = \tfrac12(1-A)\,E + \tfrac12(1+A)\,T .

    :math:`(1-A)/2` estimates :math:`\theta/\pi`, the angle between x and y. There are 3m(1+r)
    features: trigonometric, positive, and both times each sign. The minus before the last block
    is in :meth:`query` alone; on both sides it would cancel and bias the estimate. sgn(0) is +1.

    Args:
        dim: size of an input vector.
        num_samples: m, the number of omega.
        num_sign_samples: r, the number of xi.
        orthogonal: draw both ensembles with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: a size is not an integer of at least 1, or ``orthogonal`` is not a bool.
    """

    xi: Tensor

    def __init__(
        self,
        dim: int,
        num_samples: int,
        num_sign_samples: int,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, num_samples, orthogonal)
        self.num_sign_samples = _checks.integer("num_sign_samples", num_sign_samples, 1)
        self.num_features = 3 * self.num_samples * (1 + self.num_sign_samples)
        self._register(generator)

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        xi_rows = self.num_sign_samples
        return {**super()._draw(generator), "xi": self._gaussian(xi_rows, generator)}

    def query(self, x: Tensor) -> Tensor:
        """Map queries (..., dim) to features (..., num_features)."""
        return self._features(x, last_sign=-1.0)

    def key(self, x: Tensor) -> Tensor:
        """Map keys (..., dim) to features (..., num_features)."""
        return self._features(x, last_sign=1.0)

    def _features(self, x: Tensor, last_sign: float) -> Tensor:
        projected, half_square = self._project(x)
        m, r = self.num_samples, self.num_sign_samples
        waves = torch.cat([projected.sin(), projected.cos()], dim=-1)
        trigonometric = waves * (half_square.exp() / math.sqrt(m))
        positive = (projected - half_square).exp() / math.sqrt(m)
        agreement = signs(x, self.xi) / math.sqrt(r)
        blocks = [
            trigonometric,
            positive,
            (trigonometric[..., :, None] * agreement[..., None, :]).flatten(-2),
            last_sign * (positive[..., :, None] * agreement[..., None, :]).flatten(-2),
        ]
        return torch.cat(blocks, dim=-1) / math.sqrt(2)
