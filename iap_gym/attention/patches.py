"""Images to patches: the grid, the checks of an image, and the two affine maps of every patch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym import _checks
from iap_gym.attention.threads import one_thread_after_fork

# Matrix products give equal columns equal results only if none lies in a cut block of the BLAS,
# which sums in another order. Patches that look the same must score the same, or ties would be
# broken by rounding, so that the number of columns is kept a multiple of every block width.
COLUMNS = 64

PIXEL_TYPES = [np.dtype(name) for name in ("uint8", "float16", "float32", "float64")]

# Pixels copied to patches at a time, in whole rows of a patch.
BLOCK_NUMBERS = 2**23


@dataclass(frozen=True)
class PatchGrid:
    """Where the patches of an image lie; numbered row by row, each flattened row, column, channel.

    Pixels that no patch reaches, at the right and the lower edge or between the patches of a
    stride that is wider than a patch, are ignored.
    """

    image_shape: tuple[int, int, int]  # (H, W, C)
    patch: tuple[int, int]  # rows and columns of a patch
    stride: tuple[int, int]

    @classmethod
    def checked(cls, image_shape: Any, patch_size: Any, stride: Any) -> PatchGrid:
        """Build a grid from a user's arguments; stride None is the patch size.

        Raises:
            ValueError: not integers of at least 1, or a patch larger than the image.
        """
        if not isinstance(image_shape, Sequence) or isinstance(image_shape, str):
            raise _checks.refuse("image_shape", "three integers (H, W, C)", image_shape)
        sizes = list(cast("Sequence[Any]", image_shape))
        if len(sizes) != 3:
            raise _checks.refuse("image_shape", "three integers (H, W, C)", sizes)
        height, width, channels = (
            _checks.integer(f"image_shape[{axis}]", size, 1) for axis, size in enumerate(sizes)
        )
        patch = _checks.pair("patch_size", patch_size)
        if patch[0] > height or patch[1] > width:
            raise _checks.refuse("patch_size", f"at most the image, {(height, width)}", patch_size)
        return cls(
            (height, width, channels),
            patch,
            patch if stride is None else _checks.pair("stride", stride),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        height, width, _ = self.image_shape
        return (
            (height - self.patch[0]) // self.stride[0] + 1,
            (width - self.patch[1]) // self.stride[1] + 1,
        )

    @property
    def num_patches(self) -> int:
        """N."""
        return self.shape[0] * self.shape[1]

    @property
    def patch_dim(self) -> int:
        """D, the numbers in a patch."""
        return self.patch[0] * self.patch[1] * self.image_shape[2]

    def places(self, indices: Tensor) -> tuple[Tensor, Tensor]:
        """Return the row and the column of patches in the grid, each of indices' shape."""
        columns = self.shape[1]
        return torch.div(indices, columns, rounding_mode="floor"), indices % columns

    def corners(self, indices: Tensor) -> Tensor:
        """Return the first pixel row and column of patches, (..., 2)."""
        rows, columns = self.places(indices)
        return torch.stack([rows * self.stride[0], columns * self.stride[1]], dim=-1)

    def view(self, images: Tensor) -> Tensor:
        """Return images (B, H, W, C) as a view (B, rows, columns, patch, patch, C), no copy."""
        rows = images.unfold(1, self.patch[0], self.stride[0])
        return rows.unfold(2, self.patch[1], self.stride[1]).permute(0, 1, 2, 4, 5, 3)

    def affine(self, images: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Return ``weight.T @ patch + bias`` of every patch.

        The last patch is repeated until there are N', a multiple of ``COLUMNS``.

        Args:
            images: (B, H, W, C), any number type.
            weight: (D, J), its floating type is used throughout.
            bias: (J,).

        Returns:
            (B, J, N').
        """
        batch, count = len(images), self.num_patches
        padded = -(-count // COLUMNS) * COLUMNS
        pixels = self.view(images).permute(3, 4, 5, 0, 1, 2)  # (patch, patch, C, B, rows, columns)
        weights = weight.view(self.patch[0], -1, len(bias))
        together = max(1, BLOCK_NUMBERS // (weights.shape[1] * batch * padded))
        product = bias[:, None]
        parts = zip(torch.split(pixels, together), torch.split(weights, together), strict=True)
        for part, part_weight in parts:
            planes = torch.empty(
                (*part.shape[:4], padded), dtype=weight.dtype, device=weight.device
            )
            real = planes[..., :count].view(*part.shape)
            real.copy_(part)
            planes[..., count:] = planes[..., count - 1 : count]
            product = torch.addmm(
                product, part_weight.flatten(0, 1).T, planes.flatten(3).flatten(0, 2)
            )
        return product.view(-1, batch, padded).transpose(0, 1)


def as_images(images: Any, shape: tuple[int, int, int], device: torch.device) -> Tensor:
    """Check images and return them as a tensor, uint8 or floating.

    Everything that touches pixels comes through here, and so works in forked processes.

    Raises:
        ValueError: not an array or tensor (B, H, W, C) of uint8 or of finite floats in [0, 1].
    """
    one_thread_after_fork()
    if isinstance(images, np.ndarray):
        images = _as_tensor(cast("NDArray[Any]", images))
    elif not isinstance(images, Tensor):
        raise _checks.refuse("images", "a numpy array or a torch tensor", type(images).__name__)
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise _refuse_type(images.dtype)
    if images.dim() != 4 or tuple(images.shape[1:]) != shape or not len(images):
        height, width, channels = shape
        wanted = f"shape (B, {height}, {width}, {channels}) with B >= 1"
        raise _checks.refuse("images", wanted, tuple(images.shape))
    if images.dtype != torch.uint8:
        low, high = (float(bound) for bound in images.detach().aminmax())
        if not _checks.within_unit(low, high):
            wanted = "finite floats in [0, 1] (or uint8)"
            raise _checks.refuse("images", wanted, f"values from {low} to {high}")
    return images.to(device)


def _as_tensor(array: NDArray[Any]) -> Tensor:
    if array.dtype not in PIXEL_TYPES:
        raise _refuse_type(array.dtype)
    # torch takes neither negative strides nor, without a warning, memory that is read-only.
    if not (array.flags.c_contiguous and array.flags.writeable):
        array = np.array(array, order="C")
    return torch.as_tensor(array)


def _refuse_type(dtype: object) -> ValueError:
    return _checks.refuse("images", "uint8, or floats in [0, 1]", dtype)
