"""Convolutions over an image, in numpy, with their weights in one vector.

Letters: B batch, H, W image, C channels, K side of a kernel, M features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.baselines.evolution.controllers import affine
from iap_gym.baselines.evolution.features import Array, Features, ImageReader, State
from iap_gym.baselines.evolution.policy import Arrays


class _Layer(NamedTuple):
    """Where an affine map of (outputs, inputs) lies in the vector."""

    name: str
    outputs: int
    inputs: int


def convolve(x: Array, weight: Array, bias: Array, size: int, stride: int) -> Array:
    r"""Apply a convolution without padding.

    .. math::
        y_{b,i,j,c} = \beta_c + \sum_{u,v < K} \sum_{d < C}
            W_{c,\,(uK + v)C + d}\; x_{b,\, is + u,\, js + v,\, d}

    Every image of a batch is computed exactly as it would be alone.

    Args:
        x: (B, H, W, C) float32.
        weight: (outputs, K K C); a row is a kernel by row, column and channel.
        bias: (outputs,).
        size: K.
        stride: s.

    Returns:
        (B, (H - K) // s + 1, (W - K) // s + 1, outputs).
    """
    windows = sliding_window_view(x, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    batch, height, width = windows.shape[:3]
    columns = windows.transpose(0, 1, 2, 4, 5, 3).reshape(batch, height * width, -1)
    # A product a row of the batch: one of all rows may round differently for different B.
    products = np.matmul(columns, weight.T) + bias
    return products.reshape(batch, height, width, -1)


def pool(x: Array, size: int, stride: int) -> Array:
    r"""Take the largest of each window, :math:`y_{b,i,j,c} = \max_{u,v<K} x_{b,is+u,js+v,c}`."""
    windows = sliding_window_view(x, (size, size), axis=(1, 2))[:, ::stride, ::stride]
    return windows.max(axis=(-2, -1))


class ConvolutionFeatures(Features):
    r"""Convolutions with ReLU, a pooling layer, and a layer with tanh: M small numbers.

    .. math::
        h_0 = x - \tfrac12, \quad h_k = \max(0, W_k * h_{k-1} + \beta_k), \quad
        y = \tanh(W\, \mathrm{flat}(\mathrm{pool}(h_K)) + \beta)

    The form of the CNN that the IAP paper compares with (Choromanski et al. 2021, section 5.3:
    three convolutions, one pooling layer, a fully connected layer with tanh), whose sizes are lost;
    the nonlinearity of the convolutions and the kind of pooling are not said there. The other
    entries of a Dict follow, in key order.

    Args:
        space: see ``ImageReader``.
        image_key: see there.
        channels: outputs of each convolution.
        kernel_sizes: K of each convolution, or one for all.
        strides: of each convolution, or one for all.
        pool_size: K of the pooling layer.
        pool_stride: its stride.
        feature_size: outputs of the layer with tanh.
        vector_scale: see ``ImageReader``.

    Raises:
        ValueError: an argument out of range, layers that leave nothing of the image, or what
            ``ImageReader`` refuses.
    """

    def __init__(
        self,
        space: spaces.Space[Any],
        image_key: str | None,
        channels: Sequence[int],
        kernel_sizes: int | Sequence[int],
        strides: int | Sequence[int],
        pool_size: int,
        pool_stride: int,
        feature_size: int,
        vector_scale: float | Sequence[float] | None = None,
    ) -> None:
        self._reader = ImageReader(space, image_key, vector_scale)
        outputs = _checks.integers("channels", channels, 1)
        count = len(outputs)
        if not count:
            raise _checks.refuse("channels", "at least one convolution", channels)
        self._sizes = _each("kernel_sizes", kernel_sizes, count)
        self._strides = _each("strides", strides, count)
        self._pool = (
            _checks.integer("pool_size", pool_size, 1),
            _checks.integer("pool_stride", pool_stride, 1),
        )
        self._feature_size = _checks.integer("feature_size", feature_size, 1)
        *sides, depth = self._reader.shape
        self._layers: list[_Layer] = []
        for i, (out, size, stride) in enumerate(
            zip(outputs, self._sizes, self._strides, strict=True)
        ):
            self._layers.append(_Layer(f"convolution.{i}", out, size * size * depth))
            sides, depth = _shrink(sides, size, stride, self._reader.shape), out
        height, width = _shrink(sides, *self._pool, self._reader.shape)
        self._layers.append(_Layer("features", self._feature_size, height * width * depth))
        self.num_parameters = sum(layer.outputs * (layer.inputs + 1) for layer in self._layers)
        self.size = self._feature_size + self._reader.num_beside
        self._weights: list[tuple[Array, Array]] = []
        self.set_vector(np.zeros(self.num_parameters, np.float32))

    @property
    def settings(self) -> dict[str, Any]:
        """What the reader looks at, and the windows of the layers."""
        return {
            **self._reader.settings,
            "kernel_sizes": self._sizes,
            "strides": self._strides,
            "pool_size": self._pool[0],
            "pool_stride": self._pool[1],
        }

    def images(self, observations: Any) -> NDArray[Any]:
        """Return the images of a batch, (B, H, W, C)."""
        return self._reader.images(observations)

    def read(self, observations: Any, state: State) -> tuple[Array, State]:
        """Return the features (B, M); there is no state."""
        images = self.images(observations)
        x = images.astype(np.float32)
        if images.dtype == np.uint8:
            x *= np.float32(1 / 255)
        x -= np.float32(0.5)
        *convolutions, last = self._weights
        for (weight, bias), size, stride in zip(
            convolutions, self._sizes, self._strides, strict=True
        ):
            x = np.maximum(convolve(x, weight, bias, size, stride), 0)
        x = pool(x, *self._pool).reshape(len(x), -1)
        return self._reader.join([np.tanh(affine(x, *last))], observations), state

    def get_vector(self) -> Array:
        """Return all weights, layer by layer: the matrix row by row, the bias."""
        return np.concatenate([part.ravel() for layer in self._weights for part in layer])

    def set_vector(self, vector: Array) -> None:
        """Take all weights."""
        self._weights = []
        start = 0
        for layer in self._layers:
            middle = start + layer.outputs * layer.inputs
            weight = vector[start:middle].reshape(layer.outputs, layer.inputs)
            start = middle + layer.outputs
            self._weights.append((weight, vector[middle:start]))

    def parameter_scale(self) -> Array:
        """Return 1/sqrt(inputs of its unit) for every number."""
        return np.concatenate(
            [
                np.full(layer.outputs * (layer.inputs + 1), 1 / math.sqrt(layer.inputs))
                for layer in self._layers
            ]
        ).astype(np.float32)

    def initial_vector(self, rng: np.random.Generator) -> Array:
        """Draw weights of variance 2/inputs (He et al. 2015), and no biases."""
        parts: list[NDArray[np.float64]] = []
        for layer in self._layers:
            weight = rng.normal(size=layer.outputs * layer.inputs) * math.sqrt(2 / layer.inputs)
            parts += [weight, np.zeros(layer.outputs)]
        return np.concatenate(parts).astype(np.float32)

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return every layer's ``weight`` and ``bias``."""
        arrays: dict[str, NDArray[Any]] = {}
        for layer, (weight, bias) in zip(self._layers, self._weights, strict=True):
            arrays[f"{layer.name}.weight"] = weight.copy()
            arrays[f"{layer.name}.bias"] = bias.copy()
        return arrays

    def load_state_dict(self, arrays: Arrays) -> None:
        """Take what ``state_dict`` gave."""
        self.set_vector(
            np.concatenate([arrays[name].ravel() for name in self.state_dict()], dtype=np.float32)
        )


def _each(name: str, value: int | Sequence[int], count: int) -> tuple[int, ...]:
    if not isinstance(value, Sequence):
        return (_checks.integer(name, value, 1),) * count
    found = _checks.integers(name, value, 1)
    if len(found) != count:
        raise _checks.refuse(name, f"one integer, or one for each of {count} convolutions", value)
    return found


def _shrink(sides: Sequence[int], size: int, stride: int, image: tuple[int, ...]) -> list[int]:
    if min(sides) < size:
        wanted = f"layers that leave something of an image of {image[0]}x{image[1]}"
        raise _checks.refuse("kernel_sizes", wanted, f"a window of {size} on {tuple(sides)}")
    return [(side - size) // stride + 1 for side in sides]
