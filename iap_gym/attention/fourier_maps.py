"""Fourier features of the Gaussian kernel, and of it plus a constant."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from iap_gym import _checks
from iap_gym.attention.base import RandomFeatureMap, project


class RandomFourierFeatures(RandomFeatureMap):
    r"""Fourier features of the Gaussian kernel (Rahimi and Recht, 2007).

    With n features and temperature t,

    .. math:: \phi(z) = \sqrt{\tfrac 2n} \left(\sin \sqrt t\,\omega_i \cdot z,
        \cos \sqrt t\,\omega_i \cdot z\right)_{i=1}^{\lfloor n/2 \rfloor}, \qquad
        K(x, y) = \exp(-t\,|x - y|^2/2)

    ordered all sines, then all cosines. For odd n one more sample, with a phase :math:`b` that is
    uniform in :math:`[0, 2\pi)`, makes the last feature :math:`\sqrt{2/n}\cos(\sqrt t\,\omega \cdot
    z + b)`, so that the estimate has no bias for any n. :math:`|\phi(z)|` is 1 for even n, and
    on average for odd n.

    Args:
        dim: size of an input vector.
        num_features: n.
        temperature: t, at least 0.
        orthogonal: draw the samples with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: a size is not an integer of at least 1, ``temperature`` is negative or not
            finite, or ``orthogonal`` is not a bool.
    """

    omega: Tensor
    phase: Tensor

    def __init__(
        self,
        dim: int,
        num_features: int,
        temperature: float = 1.0,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, orthogonal)
        self.num_features = _checks.integer("num_features", num_features, 1)
        self.temperature = _checks.real("temperature", temperature, 0)
        self._register(generator)

    @property
    def _num_waves(self) -> int:
        """Features that are not the constant of the smoothed map."""
        return self.num_features

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        odd = self._num_waves % 2
        return {
            "omega": self._gaussian(self._num_waves // 2 + odd, generator),
            "phase": 2 * math.pi * torch.rand(odd, generator=generator),
        }

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., num_features)."""
        self._check(x)
        angles = project(x, self.omega) * math.sqrt(self.temperature)
        pairs = angles[..., : self._num_waves // 2]
        last = angles[..., self._num_waves // 2 :] + self.phase.to(x.dtype)
        waves = torch.cat([pairs.sin(), pairs.cos(), last.cos()], dim=-1)
        return waves * math.sqrt(2 / self._num_waves)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Return exp(-temperature |x - y|² / 2), shape (...)."""
        self._check(x, y)
        return ((x - y).square().sum(-1) * (-self.temperature / 2)).exp()


class SmoothedRandomFourierFeatures(RandomFourierFeatures):
    r"""Fourier features of the Gaussian kernel plus a constant.

    .. math:: K(x, y) = \exp(-t\,|x - y|^2/2) + s

    The first n - 1 features are those of :class:`RandomFourierFeatures` at that size, the last is
    the constant :math:`\sqrt s`: the smoothing s is added to the kernel as it is, not squared.
    With s well above the error of the Fourier part, estimates stay positive.

    Args:
        dim: size of an input vector.
        num_features: n, at least 2.
        temperature: t, at least 0.
        smoothing: s, at least 0.
        orthogonal: draw the samples with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: as :class:`RandomFourierFeatures`; ``num_features`` is below 2, or
            ``smoothing`` is negative or not finite.
    """

    def __init__(
        self,
        dim: int,
        num_features: int,
        temperature: float = 1.0,
        smoothing: float = 1.0,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        _checks.integer("num_features", num_features, 2)
        super().__init__(dim, num_features, temperature, orthogonal, generator)
        self.smoothing = _checks.real("smoothing", smoothing, 0)

    @property
    def _num_waves(self) -> int:
        return self.num_features - 1

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., num_features)."""
        waves = super().query(x)
        constant = torch.full_like(waves[..., :1], math.sqrt(self.smoothing))
        return torch.cat([waves, constant], dim=-1)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Return exp(-temperature |x - y|² / 2) + smoothing, shape (...)."""
        return super().kernel(x, y) + self.smoothing
