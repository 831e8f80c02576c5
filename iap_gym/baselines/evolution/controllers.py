"""Small networks from features to action logits, in numpy, with their weights in one vector.

Letters: B batch, I inputs, O outputs, H hidden size. Everything is float32. Matrices are (out, in)
and row by row in the vector, each followed by its bias.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
State = tuple[Array, ...]


class Controller(ABC):
    """Layers of numbers that are set from one vector; see ``affine`` for a layer.

    Args:
        layers: (outputs, inputs) of every layer, in the order of the vector.
    """

    def __init__(self, layers: Sequence[tuple[int, int]]) -> None:
        self._shapes = list(layers)
        self.num_parameters = sum(rows * (columns + 1) for rows, columns in layers)
        self.layers: list[tuple[Array, Array]] = []
        self.set_vector(np.zeros(self.num_parameters, np.float32))

    def set_vector(self, vector: Array) -> None:
        """Take all weights from ``vector``, (num_parameters,)."""
        vector = vector.astype(np.float32)  # a copy: the layers are views of it
        self.layers = []
        start = 0
        for rows, columns in self._shapes:
            middle = start + rows * columns
            self.layers.append(
                (vector[start:middle].reshape(rows, columns), vector[middle : middle + rows])
            )
            start = middle + rows

    def parameter_scale(self) -> Array:
        """Return 1/sqrt(inputs of its layer) for every number, (num_parameters,)."""
        parts = [
            np.full(rows * (columns + 1), 1 / math.sqrt(columns)) for rows, columns in self._shapes
        ]
        return np.concatenate(parts).astype(np.float32)

    def initial_state(self, batch: int) -> State:
        """Return the state at the start of an episode, zeros, for ``batch`` rows."""
        del batch
        return ()

    @abstractmethod
    def step(self, features: Array, state: State) -> tuple[Array, State]:
        """Map features (B, I) and a state to logits (B, O) and the next state."""


class FeedForward(Controller):
    r"""Affine layers with tanh between them; without hidden layers a linear map.

    .. math::
        h_0 = x, \qquad h_k = \tanh(W_k h_{k-1} + b_k), \qquad y = W_K h_{K-1} + b_K

    Args:
        inputs: I.
        outputs: O.
        hidden_sizes: units of each hidden layer.
    """

    def __init__(self, inputs: int, outputs: int, hidden_sizes: Sequence[int] = ()) -> None:
        sizes = [inputs, *hidden_sizes, outputs]
        super().__init__(list(zip(sizes[1:], sizes[:-1], strict=True)))

    def step(self, features: Array, state: State) -> tuple[Array, State]:
        """Map features (B, I) to logits (B, O); there is no state."""
        for weight, bias in self.layers[:-1]:
            features = np.tanh(affine(features, weight, bias))
        return affine(features, *self.layers[-1]), state


class Lstm(Controller):
    r"""One LSTM layer and an affine map of its output.

    .. math::
        (i, f, g, o) = W [x; h] + b \\
        c' = \sigma(f) \odot c + \sigma(i) \odot \tanh(g), \qquad
        h' = \sigma(o) \odot \tanh(c'), \qquad y = W_y h' + b_y

    The gates are in torch's order. State: (h, c), each (B, H). The form of Tang, Nguyen and Ha
    2020, "Neuroevolution of Self-Interpretable Agents".

    With ``two_biases`` there are two layers, :math:`W_x x + b_x` and :math:`W_h h + b_h`, where
    there was :math:`W [x; h] + b`: the same functions with the parameters of torch.

    Args:
        inputs: I.
        outputs: O.
        hidden_size: H.
        two_biases: as above; 4H parameters more.
    """

    def __init__(
        self, inputs: int, outputs: int, hidden_size: int, two_biases: bool = False
    ) -> None:
        self.hidden_size = hidden_size
        columns = [inputs, hidden_size] if two_biases else [inputs + hidden_size]
        gates = [(4 * hidden_size, size) for size in columns]
        super().__init__([*gates, (outputs, hidden_size)])

    def initial_state(self, batch: int) -> State:
        """Return h and c, zeros (batch, H)."""
        shape = (batch, self.hidden_size)
        return np.zeros(shape, np.float32), np.zeros(shape, np.float32)

    def step(self, features: Array, state: State) -> tuple[Array, State]:
        """Map features (B, I) and (h, c) to logits (B, O) and the next (h, c)."""
        hidden, cell = state
        *layers, output = self.layers
        inputs = [features, hidden]
        if len(layers) == 1:
            inputs = [np.concatenate(inputs, axis=1)]
        gates = sum(affine(x, *layer) for x, layer in zip(inputs, layers, strict=True))
        write, keep, value, read = np.split(gates, 4, axis=1)
        cell = sigmoid(keep) * cell + sigmoid(write) * np.tanh(value)
        hidden = sigmoid(read) * np.tanh(cell)
        return affine(hidden, *output), (hidden, cell)


def affine(x: Array, weight: Array, bias: Array) -> Array:
    """Return ``x @ weight.T + bias``, (B, O), each row exactly as it would come out alone.

    One product of the whole batch may round rows differently for different B.
    """
    return np.matmul(x[:, None, :], weight.T)[:, 0] + bias


def sigmoid(z: Array) -> Array:
    """Return 1 / (1 + exp(-z)) without overflow."""
    return np.float32(0.5) + np.float32(0.5) * np.tanh(np.float32(0.5) * z)
