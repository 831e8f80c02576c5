"""The patches of an image that receive the most attention."""

from __future__ import annotations

import math
from types import ModuleType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym._optional import require
from iap_gym.attention import importance
from iap_gym.attention.backends import BACKENDS, compiled_calls
from iap_gym.attention.feature_maps import HybridFeatures, PositiveFeatures, TrigonometricFeatures
from iap_gym.attention.patches import PatchGrid, as_images
from iap_gym.attention.projection import (
    INPUT_SCALINGS,
    LARGEST_CANCELLATION,
    Scaling,
    queries_and_keys,
    working_dtype,
)
from iap_gym.attention.ranking import best_indices
from iap_gym.attention.threads import one_thread_after_fork

COMPILED_KERNELS = ("relu", "hybrid", "positive", "trigonometric")
KERNELS = (*COMPILED_KERNELS, "softmax", "softmax_normalized")

# Patches whose features exist at a time, of as many whole images as fit.
GROUP_PATCHES = 2**16


class PatchSelector(nn.Module):
    r"""Scores every patch of an image by the attention it receives and selects the best.

    Patches :math:`X \in \mathbb R^{N\times D}` become queries :math:`X W_Q` and keys
    :math:`X W_K`; patch j has the score

    .. math:: s_j = \sum_i r_i\, K(q_i, k_j)

    (IAP, "Unlocking Pixels for Reinforcement Learning via Implicit Attention", 2021, eqs. 1 to 3,
    with r = 1 unless learnt and no normalisation of rows). Kernels with a finite feature map are
    summed in time and memory linear in N. "hybrid", "positive" and "trigonometric" are random
    estimates of "softmax"; their samples are drawn once, from ``seed``, and are part of the
    policy: they are in ``state_dict`` but are no parameters.

    =======================  ====================================================================
    kernel                   K(q, k), with x and y the scaled q and k
    =======================  ====================================================================
    ``relu``                 relu(x) · relu(y)
    ``hybrid``               :class:`HybridFeatures`, expectation exp(x · y)
    ``positive``             :class:`PositiveFeatures`, expectation exp(x · y)
    ``trigonometric``        :class:`TrigonometricFeatures`, expectation exp(x · y)
    ``softmax``              exp(x · y)
    ``softmax_normalized``   exp(x · y) / sum over keys of the same (Tang et al., 2020)
    =======================  ====================================================================

    ==============  =============================================================================
    input_scaling   x for a query u (and y for a key likewise)
    ==============  =============================================================================
    ``quarter``     d^(-1/4) u (IAP, eq. 4)
    ``unit``        d^(1/4) u / abs(u), and 0 for u = 0 (IAP, eq. 5)
    ``patch``       D^(-1/4) u, which divides q · k by sqrt(D) (Tang et al., 2020)
    ==============  =============================================================================

    Args:
        image_shape: (H, W, C), any number of channels.
        patch_size: pixels of a patch, one integer or (rows, columns).
        stride: pixels from one patch to the next, likewise; None is the patch size.
        num_selected: l, the number of patches to select, at most N.
        d_qk: d, the size of queries and keys.
        kernel: see the table.
        num_samples: m, the random vectors of the three estimated kernels.
        num_sign_samples: r, the sign vectors of the hybrid kernel.
        input_scaling: see the table; applied for every kernel.
        bias: add learnt biases to queries and keys.
        learn_r: learn r, one number per query patch, starting from 1.
        seed: of the weights, drawn from N(0, 1/D), and of the random samples.
        pixel_offset: subtracted from pixels in [0, 1] before they are projected.
        backend: "torch", or the faster "numba" for uint8 images on a CPU where no gradient is
            wanted, the kernel has a finite feature map and its numbers fit float32; all else is
            left to torch. "auto" is "numba" where that is installed (extra ``fast``). The two
            round differently: scores agree to about 1e-5 of the largest.

    Attributes:
        W_q: (D, d) parameter. W_k likewise.
        b_q: (d,) parameter, or None without ``bias``. b_k likewise.
        r: (N,) parameter, or None without ``learn_r``.

    Raises:
        ValueError: an argument is of the wrong kind or out of its range.
        gymnasium.error.DependencyNotInstalled: ``backend`` is "numba", which is not installed.
    """

    def __init__(
        self,
        image_shape: Any,
        patch_size: Any,
        stride: Any = None,
        num_selected: int = 10,
        d_qk: int = 4,
        kernel: str = "relu",
        num_samples: int = 10,
        num_sign_samples: int = 5,
        input_scaling: str = "quarter",
        bias: bool = False,
        learn_r: bool = False,
        seed: int = 0,
        pixel_offset: float = 0.0,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        one_thread_after_fork()
        self.grid = PatchGrid.checked(image_shape, patch_size, stride)
        self.num_selected = _checks.integer(
            "num_selected", num_selected, 1, maximum=self.num_patches
        )
        self.d_qk = _checks.integer("d_qk", d_qk, 1)
        self.kernel: str = _checks.one_of("kernel", kernel, KERNELS)
        self.num_samples = _checks.integer("num_samples", num_samples, 1)
        self.num_sign_samples = _checks.integer("num_sign_samples", num_sign_samples, 1)
        self.input_scaling: str = _checks.one_of("input_scaling", input_scaling, INPUT_SCALINGS)
        self.pixel_offset = _checks.real("pixel_offset", pixel_offset)
        self.seed = _checks.integer("seed", seed)
        self.backend: str = _checks.one_of("backend", backend, BACKENDS)
        if backend == "numba":
            require("numba", "fast")
        bias = _checks.boolean("bias", bias)
        learn_r = _checks.boolean("learn_r", learn_r)

        generator = torch.Generator().manual_seed(self.seed)
        shape = (self.patch_dim, self.d_qk)
        scale = 1 / math.sqrt(self.patch_dim)
        self.W_q = nn.Parameter(torch.randn(shape, generator=generator) * scale)
        self.W_k = nn.Parameter(torch.randn(shape, generator=generator) * scale)
        self.b_q = nn.Parameter(torch.zeros(self.d_qk)) if bias else None
        self.b_k = nn.Parameter(torch.zeros(self.d_qk)) if bias else None
        self.r = nn.Parameter(torch.ones(self.num_patches)) if learn_r else None
        self.features = self._feature_map(generator)

    def _feature_map(
        self, generator: torch.Generator
    ) -> HybridFeatures | PositiveFeatures | TrigonometricFeatures | None:
        if self.kernel == "hybrid":
            return HybridFeatures(
                self.d_qk, self.num_samples, self.num_sign_samples, generator=generator
            )
        if self.kernel == "positive":
            return PositiveFeatures(self.d_qk, self.num_samples, generator=generator)
        if self.kernel == "trigonometric":
            return TrigonometricFeatures(self.d_qk, self.num_samples, generator=generator)
        return None

    @property
    def config(self) -> dict[str, Any]:
        """The arguments that build an equal selector, of JSON types; weights are not among them."""
        return {
            "image_shape": list(self.image_shape),
            "patch_size": list(self.grid.patch),
            "stride": list(self.grid.stride),
            "num_selected": self.num_selected,
            "d_qk": self.d_qk,
            "kernel": self.kernel,
            "num_samples": self.num_samples,
            "num_sign_samples": self.num_sign_samples,
            "input_scaling": self.input_scaling,
            "bias": self.b_q is not None,
            "learn_r": self.r is not None,
            "seed": self.seed,
            "pixel_offset": self.pixel_offset,
            "backend": self.backend,
        }

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(H, W, C) of the images it takes."""
        return self.grid.image_shape

    @property
    def patch_size(self) -> tuple[int, int]:
        """Rows and columns of pixels in a patch."""
        return self.grid.patch

    @property
    def stride(self) -> tuple[int, int]:
        """Pixels from one patch to the next, by row and by column."""
        return self.grid.stride

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Rows and columns of patches in an image."""
        return self.grid.shape

    @property
    def num_patches(self) -> int:
        """N, the number of patches in an image."""
        return self.grid.num_patches

    @property
    def patch_dim(self) -> int:
        """D, the number of values in a patch."""
        return self.grid.patch_dim

    @property
    def num_parameters(self) -> int:
        """The number of trained numbers."""
        return sum(parameter.numel() for parameter in self._trained())

    def _trained(self) -> list[nn.Parameter]:
        candidates = (self.W_q, self.W_k, self.b_q, self.b_k, self.r)
        return [parameter for parameter in candidates if parameter is not None]

    def get_vector(self) -> NDArray[np.float32]:
        """Return a copy of the trained numbers: W_q, W_k, b_q, b_k, r, each flattened by rows.

        Returns:
            float32 (num_parameters,).
        """
        flat = [parameter.detach().reshape(-1) for parameter in self._trained()]
        return torch.cat(flat).to("cpu", torch.float32, copy=True).numpy()

    def set_vector(self, v: Any) -> None:
        """Set the trained numbers, in the order of :meth:`get_vector`.

        Args:
            v: (num_parameters,) finite numbers.

        Raises:
            ValueError: another shape, or numbers that are not finite in float32.
        """
        # A copy: torch must not share the caller's memory, which may be read-only as well.
        vector = _checks.array("v", v, (self.num_parameters,), np.float32, copy=True)
        parameters = self._trained()
        sizes = [parameter.numel() for parameter in parameters]
        with torch.no_grad():
            parts = torch.split(torch.as_tensor(vector), sizes)
            for parameter, part in zip(parameters, parts, strict=True):
                parameter.copy_(part.view_as(parameter))

    def forward(self, images: Any) -> Tensor:
        """Return :meth:`select` of the images, so that a module can call it as a layer."""
        return self.select(images)

    def scores(self, images: Any) -> Tensor:
        """Return the importance of every patch.

        Scores are finite for all finite weights. Where they would leave the range of float32
        those of an image share one positive factor; they are true values otherwise. Queries and
        keys are computed in float64 when weights are so large that float32 could not tell scores
        apart. Gradients reach the trained numbers; with the two brute-force kernels they keep the
        whole attention matrix in memory.

        Args:
            images: (B, H, W, C), numpy or torch, uint8 or float in [0, 1].

        Returns:
            float32 (B, N).

        Raises:
            ValueError: images of another shape or type, out of range or not finite; or weights
                that are not finite.
        """
        images = as_images(images, self.image_shape, self.W_q.device)
        wanted = (parameter.requires_grad for parameter in self._trained())
        if not (torch.is_grad_enabled() and any(wanted)):
            compiled = self._compiled_scores(images)
            if compiled is not None:
                return torch.as_tensor(compiled[1])
        return self._torch_scores(images)

    def select(self, images: Any) -> Tensor:
        """Return the indices of the ``num_selected`` patches with the highest scores.

        Args:
            images: (B, H, W, C), numpy or torch, uint8 or float in [0, 1].

        Returns:
            int64 (B, l), best first; of equal scores the lowest index comes first.

        Raises:
            ValueError: as :meth:`scores`.
        """
        images = as_images(images, self.image_shape, self.W_q.device)
        compiled = self._compiled_scores(images)
        if compiled is not None:
            calls, scores = compiled
            return calls.best(scores, self.num_selected)
        with torch.no_grad():
            return best_indices(self._torch_scores(images), self.num_selected)

    def corners(self, indices: Any) -> Tensor:
        """Return the first pixel of patches.

        Args:
            indices: (..., l) integers in [0, N), numpy or torch.

        Returns:
            int64 (..., l, 2): row and column.

        Raises:
            ValueError: other numbers.
        """
        return self.grid.corners(self._indices(indices))

    def centers(self, indices: Any) -> Tensor:
        """Return the centres of patches as fractions of the image.

        Args:
            indices: (..., l) integers in [0, N), numpy or torch.

        Returns:
            float32 (..., l, 2): (row · stride + patch/2) / H and (column · stride + patch/2) / W.

        Raises:
            ValueError: other numbers.
        """
        corners = self.corners(indices)
        middle = corners.new_tensor(self.patch_size, dtype=torch.float32) / 2
        return (corners + middle) / corners.new_tensor(self.image_shape[:2])

    def patches(self, images: Any, indices: Any) -> Tensor:
        """Return the pixels of patches.

        Args:
            images: (B, H, W, C), numpy or torch, uint8 or float in [0, 1].
            indices: (B, l) integers in [0, N), numpy or torch.

        Returns:
            float32 (B, l, D) in [0, 1], each patch flattened row, column, channel.

        Raises:
            ValueError: images as in :meth:`scores`, or other indices.
        """
        images = as_images(images, self.image_shape, self.W_q.device)
        indices = self._indices(indices)
        if indices.dim() != 2 or len(indices) != len(images):
            raise _checks.refuse("indices", f"shape ({len(images)}, l)", tuple(indices.shape))
        batch = torch.arange(len(images), device=images.device)[:, None]
        rows, columns = self.grid.places(indices)
        chosen = self.grid.view(images)[batch, rows, columns].flatten(2)
        return chosen.float() / 255 if images.dtype == torch.uint8 else chosen.float()

    def _indices(self, indices: Any) -> Tensor:
        indices = torch.as_tensor(indices, device=self.W_q.device)
        if indices.is_floating_point() or indices.dtype == torch.bool:
            raise _checks.refuse("indices", "integers", indices.dtype)
        if indices.numel():
            low, high = (int(bound) for bound in indices.aminmax())
            if low < 0 or high >= self.num_patches:
                wanted = f"integers in [0, {self.num_patches})"
                raise _checks.refuse("indices", wanted, f"values from {low} to {high}")
        return indices.long()

    def _compiled_scores(self, images: Tensor) -> tuple[ModuleType, NDArray[np.float32]] | None:
        """Return the compiled functions and their scores (B, N); None to leave them to torch."""
        if (
            self.backend == "torch"
            or self.kernel not in COMPILED_KERNELS
            or images.dtype != torch.uint8
            or self.W_q.device.type != "cpu"
            or any(parameter.dtype != torch.float32 for parameter in self._trained())
        ):
            return None
        calls = compiled_calls()
        if calls is None:
            return None

        def array(numbers: Tensor | None) -> NDArray[np.float32]:
            return calls.NONE if numbers is None else numbers.detach().contiguous().numpy()

        omega, xi = (getattr(self.features, name, None) for name in ("omega", "xi"))
        trained = (array(z) for z in (self.W_q, self.W_k, self.b_q, self.b_k, self.r))
        parameters = calls.Parameters(*trained, self.pixel_offset, array(omega), array(xi))
        found = calls.scores(
            images.contiguous().numpy(), self.grid, parameters, self._scaling, self.kernel
        )
        if found is None or not found[1].any():
            return None
        scores, fits = found
        # Image by image, so that no score depends on what else is in the batch.
        if not fits.all():
            with torch.no_grad():
                scores[~fits] = self._torch_scores(images[torch.as_tensor(~fits)]).numpy()
        return calls, scores

    def _torch_scores(self, images: Tensor) -> Tensor:
        group = max(1, GROUP_PATCHES // self.num_patches)
        # Half precision would not tell scores apart.
        with torch.autocast(images.device.type, enabled=False):
            return torch.cat([self._scores(part) for part in torch.split(images, group)])

    @property
    def _scaling(self) -> Scaling:
        return Scaling(self.input_scaling, self.d_qk, self.patch_dim)

    def _scores(self, images: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        weight, bias = torch.stack([self.W_q, self.W_k]), None
        if self.b_q is not None and self.b_k is not None:
            bias = torch.stack([self.b_q, self.b_k])
        scaling = self._scaling
        dtype = dtype or working_dtype(
            weight, bias, self.r, self.pixel_offset, scaling, exponential=self.kernel != "relu"
        )
        weight, bias = weight.to(dtype), None if bias is None else bias.to(dtype)
        queries, keys = queries_and_keys(
            self.grid, images, weight, bias, self.pixel_offset, scaling
        )
        r = None if self.r is None else self.r.to(dtype)
        cancels: Tensor | None = None  # (B,), images whose terms do
        if self.kernel == "relu":
            values = importance.relu_scores(queries, keys, r)
            # Within the bounds of float32 they are true values as they are.
            log_scale = torch.zeros_like(values[:, 0]) if dtype == torch.float64 else None
        elif self.kernel == "softmax":
            values, log_scale = importance.softmax_scores(queries, keys, r)
        elif self.kernel == "softmax_normalized":
            values, log_scale = importance.normalized_softmax_scores(queries, keys, r)
        elif isinstance(self.features, HybridFeatures):
            omega, xi = self.features.omega.to(dtype), self.features.xi.to(dtype)
            values, log_scale, terms = importance.hybrid_scores(queries, keys, r, omega, xi)
            largest = values.detach()[:, : self.num_patches].abs().amax(dim=1)
            if dtype == torch.float32:
                cancels = terms > LARGEST_CANCELLATION * largest
        else:
            values, log_scale = self._estimated_scores(queries, keys, r)
        if log_scale is not None:
            values = importance.to_float32(values, log_scale)
        values = values[:, : self.num_patches]
        # Image by image, so that no score depends on what else is in the batch.
        if cancels is not None and bool(cancels.any()):
            values = values.index_put((cancels,), self._scores(images[cancels], torch.float64))
        return values

    def _estimated_scores(
        self, queries: Tensor, keys: Tensor, r: Tensor | None
    ) -> importance.Scores:
        assert self.features is not None
        omega = self.features.omega.to(queries.dtype)
        if isinstance(self.features, PositiveFeatures):
            return importance.positive_scores(queries, keys, r, omega)
        return importance.trigonometric_scores(queries, keys, r, omega)
