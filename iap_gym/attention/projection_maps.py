"""Feature maps that apply one function to random projections: f(w · z) / sqrt(m).

Their kernels are homogeneous or depend on the angle alone; see ``feature_maps`` for the softmax
kernel and ``fourier_maps`` for Gaussian ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.attention.angles import angle_fraction, length
from iap_gym.attention.base import RandomFeatureMap, project, signs

_RELUS = (torch.relu, nn.functional.relu, Tensor.relu)


class UnknownKernelError(NotImplementedError, ValueError):
    """The exact kernel of a function is asked for, and only its estimate is known."""


class AngularFeatures(RandomFeatureMap):
    r"""Sign features of the angular kernel (IAP paper, section 4 and fig. 5).

    .. math:: \phi(z) = \frac{1}{\sqrt r}\left(\mathrm{sgn}(\xi_j \cdot z)\right)_{j=1}^r,
        \qquad K(x, y) = 1 - \frac{2\theta}{\pi}

    with :math:`\theta` the angle between x and y, and sgn(0) = 1. The estimate is exact for
    vectors of the same and of opposite direction. With a vector of zeros the kernel is 0; between
    two of them it is 1.

    Args:
        dim: size of an input vector.
        num_sign_samples: r, the number of xi, and of features.
        orthogonal: draw them with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: a size is not an integer of at least 1, or ``orthogonal`` is not a bool.
    """

    xi: Tensor

    def __init__(
        self,
        dim: int,
        num_sign_samples: int,
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, orthogonal)
        self.num_sign_samples = _checks.integer("num_sign_samples", num_sign_samples, 1)
        self.num_features = self.num_sign_samples
        self._register(generator)

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {"xi": self._gaussian(self.num_sign_samples, generator)}

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., r), each 1/sqrt(r) or -1/sqrt(r)."""
        self._check(x)
        return signs(x, self.xi) / math.sqrt(self.num_sign_samples)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Return 1 - 2 theta / pi, shape (...)."""
        self._check(x, y)
        return 1 - 2 * angle_fraction(x, y)


class GeneralizedRandomFeatures(RandomFeatureMap):
    r"""Features of a kernel that is defined by a function (Choromanski et al., 2021, eq. 5).

    .. math:: \phi(z) = \frac{1}{\sqrt m}\left(f(\omega_i \cdot z)\right)_{i=1}^m, \qquad
        K(x, y) = \mathbb E_{\omega \sim N(0, I)}\,[f(\omega \cdot x)\, f(\omega \cdot y)]

    For :math:`f = \mathrm{relu}` the kernel is the arc-cosine kernel of order 1 (Cho and Saul,
    2009), halved:

    .. math:: K(x, y) = \frac{|x|\,|y|}{2\pi}\left(\sin\theta + (\pi - \theta)\cos\theta\right) .

    Args:
        dim: size of an input vector.
        num_samples: m, the number of random vectors, and of features.
        kernel_fn: f, "relu" or a function of a tensor that acts on each element, such as
            ``torch.exp``.
        orthogonal: draw the vectors with :func:`orthogonal_gaussian`, else independently.
        generator: a CPU generator; None draws from a fresh one that the operating system seeds.

    Raises:
        ValueError: a size is not an integer of at least 1, ``orthogonal`` is not a bool, or
            ``kernel_fn`` is neither "relu" nor callable.
    """

    omega: Tensor

    def __init__(
        self,
        dim: int,
        num_samples: int,
        kernel_fn: str | Callable[[Tensor], Tensor],
        orthogonal: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(dim, orthogonal)
        self.num_samples = _checks.integer("num_samples", num_samples, 1)
        self.num_features = self.num_samples
        if kernel_fn != "relu" and not callable(kernel_fn):
            raise _checks.refuse("kernel_fn", "'relu' or a function of a tensor", kernel_fn)
        self.kernel_fn = torch.relu if isinstance(kernel_fn, str) else kernel_fn
        self._register(generator)

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        return {"omega": self._gaussian(self.num_samples, generator)}

    def query(self, x: Tensor) -> Tensor:
        """Map (..., dim) to features (..., m).

        Raises:
            ValueError: x has another size, or ``kernel_fn`` changes the shape of a tensor.
        """
        self._check(x)
        projected = project(x, self.omega)
        mapped = self.kernel_fn(projected)
        if mapped.shape != projected.shape:
            wanted = f"a function that keeps the shape {tuple(projected.shape)}"
            raise _checks.refuse("kernel_fn", wanted, tuple(mapped.shape))
        return mapped / math.sqrt(self.num_samples)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the exact kernel, shape (...); known for relu.

        Raises:
            UnknownKernelError: ``kernel_fn`` is another function.
        """
        self._check(x, y)
        if self.kernel_fn not in _RELUS and not isinstance(self.kernel_fn, nn.ReLU):
            name = getattr(self.kernel_fn, "__name__", repr(self.kernel_fn))
            raise UnknownKernelError(
                f"kernel_fn: the exact kernel is known for relu only, got {name}"
            )
        theta = math.pi * angle_fraction(x, y)
        lengths = length(x) * length(y)
        return lengths * (theta.sin() + (math.pi - theta) * theta.cos()) / (2 * math.pi)
