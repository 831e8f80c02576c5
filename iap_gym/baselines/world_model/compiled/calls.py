"""Calls of the kernel, which takes addresses and allocates nothing, with tensors.

Every tensor whose address the kernel is given is a local variable here, or belongs to the model,
and so outlives the call.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym.baselines.world_model.compiled import kernels
from iap_gym.baselines.world_model.compiled._loop import SUMS, Sizes
from iap_gym.baselines.world_model.compiled.program import Program, build

if TYPE_CHECKING:
    from iap_gym.baselines.world_model.model import WorldModel

WIDTH = 64  # sequences that are computed at a time, with all their steps
BLOCK = 4  # steps whose gradients of weights are computed at a time
ROUND = 16  # numbers of a row are a multiple of this

Strided = tuple[int, int, int, int]
_NOTHING: Strided = (0, 0, 0, 0)


class Outcome(NamedTuple):
    """What the kernel gives."""

    predictions: Tensor | None  # (T, B, O)
    state: Tensor | None  # (n_L, B, S), the last
    gates: Tensor | None  # (T, B, n_L·H)
    squares: float  # sum of squared errors, in training
    open_gates: float  # sum of gates


class Kernel:
    """The kernel of one model; keeps its program and its memory from call to call.

    Args:
        model: one that the kernel can compute, see ``backends``.
    """

    def __init__(self, model: WorldModel) -> None:
        self.program: Program = build(model)
        self._memory: Tensor | None = None
        self._table: tuple[tuple[list[int], list[int]], NDArray[np.int64]] | None = None
        self._parameters = [*model.parameters()]
        self._shapes = [parameter.shape for parameter in self._parameters]

    def fits(self, parameters: list[Tensor]) -> bool:
        """Say whether a model still has the parameters that the program was made of."""
        return (
            len(parameters) == len(self._parameters)
            and all(map(operator.is_, parameters, self._parameters))
            and [parameter.shape for parameter in parameters] == self._shapes
        )

    def run(
        self,
        model: WorldModel,
        observations: Tensor,
        actions: Tensor,
        real: Tensor | None = None,
        state: Tensor | None = None,
        noise: Tensor | None = None,
        *,
        wanted: bool = True,
        gradients: list[Tensor] | None = None,
        penalty: float = 0.0,
    ) -> Outcome:
        """Run over a batch; tensors as ``WorldModel.forward`` takes them, checked.

        Args:
            model: that this is the kernel of.
            observations: float (T', B, O); with gradients T' = T + 1.
            actions: float (T, B, A).
            real: bool (T, B); None for every step with an observation.
            state: float (n_L, B, S); None for what f_init chooses, or zeros.
            noise: float (T, B, n_L·H), of gates.
            wanted: whether predictions, the last state and gates are.
            gradients: set to those of the loss, in the order of the model's parameters; the mean
                squared error plus ``penalty`` times the mean of gates.
            penalty: λ.
        """
        program = self.program
        time, batch = actions.shape[:2]
        training = gradients is not None
        width = min(WIDTH, -(-batch // ROUND) * ROUND)
        size = Sizes(
            time,
            batch,
            width,
            min(BLOCK, time),
            model.action_size,
            model.obs_size,
            0 if model.f_init is None else model.f_init.num_inputs,
            min(time, observations.shape[0]),
            len(program.operations),
            len(program.prelude),
            len(program.states),
            program.rows,
            program.prelude_rows,
            program.first_output,
            program.first_prediction,
            program.first_real,
            program.first_noise,
            program.gates,
            int(training),
        )
        memory = self._room(size, observations)
        predictions = gates = last = begun = None
        if wanted:
            predictions = observations.new_empty(time, batch, model.obs_size)
            gates = observations.new_empty(time, batch, program.gates) if program.gates else None
            layers, each = model.core.num_layers, model.core.state_size
            last = observations.new_empty(batch, layers * each)
        if state is not None:
            begun = state.transpose(0, 1).reshape(batch, -1).contiguous()
        sums = np.zeros(2)
        count = time * batch * model.obs_size
        kernels.run(
            memory.numpy(),
            size,
            model.residual_scale,
            2.0 / count,
            penalty / (time * batch * program.gates) if program.gates else 0.0,
            program.operations,
            program.prelude,
            program.states,
            self._pieces(gradients),
            _strided(observations),
            _strided(actions),
            _strided(real),
            _strided(noise),
            _strided(begun),
            _strided(predictions),
            _strided(gates),
            _strided(last),
            program.packed,
            sums,
        )
        self._memory = memory
        if last is not None:
            last = last.unflatten(1, (model.core.num_layers, -1)).transpose(0, 1).contiguous()
        return Outcome(predictions, last, gates, float(sums[0]), float(sums[1]))

    def _room(self, size: Sizes, like: Tensor) -> Tensor:
        """Return memory that is large enough, where it can be the one of the call before."""
        program, steps = self.program, size.time if size.training else 1
        widest = max(size.rows, size.prelude_rows)
        rows = 1 + max(size.gates, 1) + size.prelude_rows + 2 * size.observations
        rows += (1 + (size.block if size.training else 0)) * widest + steps * size.rows
        needed = 2 * program.packed + 2 * SUMS + rows * size.width
        memory, self._memory = self._memory, None  # another thread makes its own
        if memory is None or memory.dtype != like.dtype or len(memory) < needed:
            memory = torch.empty(needed, dtype=like.dtype)
        return memory

    def _pieces(self, gradients: list[Tensor] | None) -> NDArray[np.int64]:
        """Return the table of pieces of parameters with their addresses of now."""
        places = [parameter.data_ptr() for parameter in self._parameters]
        others = places if gradients is None else [view.data_ptr() for view in gradients]
        if self._table is None or self._table[0] != (places, others):
            index = {id(parameter): i for i, parameter in enumerate(self._parameters)}
            rows: list[tuple[int, ...]] = []
            for parameter, first, *shape in self.program.pieces:
                i, at = index[id(parameter)], first * parameter.element_size()
                rows.append((places[i] + at, others[i] + at, *shape))
            self._table = (places, others), np.array(rows, np.int64)
        return self._table[1]


def _strided(tensor: Tensor | None) -> Strided:
    """Return address and strides, those of time, batch and feature; missing ones lead."""
    if tensor is None:
        return _NOTHING
    strides = tensor.stride() if tensor.dtype != torch.bool else (*tensor.stride(), 0)
    return (tensor.data_ptr(), *[0] * (3 - len(strides)), *strides)  # type: ignore[return-value]
