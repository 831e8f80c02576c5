"""What a feature map is, and one whose Gaussian vectors can be drawn anew."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.attention.orthogonal import orthogonal_gaussian, own_generator


class FeatureMap(nn.Module):
    """A pair of maps of vectors (..., dim) to features (..., num_features), and their kernel.

    Over the draws of its random vectors, ``query(x) · key(y)`` has the mean ``kernel(x, y)``.

    Attributes:
        dim: size of an input vector.
        num_features: size of a feature vector.
    """

    num_features: int

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = _checks.integer("dim", dim, 1)

    def query(self, x: Tensor) -> Tensor:
        """Map queries (..., dim) to features (..., num_features)."""
        raise NotImplementedError

    def key(self, x: Tensor) -> Tensor:
        """Map keys (..., dim) to features (..., num_features)."""
        return self.query(x)

    def kernel(self, x: Tensor, y: Tensor) -> Tensor:
        """Evaluate the exact kernel of x (..., dim) and y (..., dim); leading sizes broadcast."""
        raise NotImplementedError

    def _check(self, *vectors: Tensor) -> None:
        for name, vector in zip("xy", vectors, strict=False):
            if vector.shape[-1:] != (self.dim,):
                wanted = f"a tensor of shape (..., {self.dim})"
                raise _checks.refuse(name, wanted, tuple(vector.shape))
            if not vector.is_floating_point():  # random vectors would be cut to its integers
                raise _checks.refuse(name, "a tensor of floats", vector.dtype)


class RandomFeatureMap(FeatureMap):
    """A feature map with random vectors: buffers, so that they travel in ``state_dict``."""

    def __init__(self, dim: int, orthogonal: bool) -> None:
        super().__init__(dim)
        self.orthogonal = _checks.boolean("orthogonal", orthogonal)

    def redraw(self, generator: torch.Generator | None = None) -> None:
        """Draw all random vectors anew, in place; ``generator`` as in the constructor."""
        generator = own_generator() if generator is None else generator
        for name, samples in self._draw(generator).items():
            self.get_buffer(name).copy_(samples)

    def _draw(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Draw every buffer, by name."""
        raise NotImplementedError

    def _register(self, generator: torch.Generator | None) -> None:
        generator = own_generator() if generator is None else generator
        for name, samples in self._draw(generator).items():
            self.register_buffer(name, samples)

    def _gaussian(self, rows: int, generator: torch.Generator) -> Tensor:
        if self.orthogonal:
            return orthogonal_gaussian(rows, self.dim, generator)
        return torch.randn(rows, self.dim, generator=generator)


def project(x: Tensor, vectors: Tensor) -> Tensor:
    """Return the products of x (..., d) with the rows of ``vectors`` (m, d): (..., m)."""
    return x @ vectors.to(x.dtype).T


def signs(x: Tensor, vectors: Tensor) -> Tensor:
    """Return sgn of :func:`project`, with sgn(0) = 1."""
    return torch.where(project(x, vectors) >= 0, 1.0, -1.0).to(x.dtype)
