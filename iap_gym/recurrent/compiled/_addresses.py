"""Calls of the kernels, which take addresses and allocate nothing, with tensors.

Every tensor whose address a kernel is given is a local variable here, and so outlives the call.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iap_gym.recurrent.cell import GateL0RDCell
from iap_gym.recurrent.compiled import kernels
from iap_gym.recurrent.compiled._elementwise import HEAVISIDE, RETANH, SIGMOID
from iap_gym.recurrent.compiled._layers import COLUMNS

KINDS = {"retanh": RETANH, "heaviside": HEAVISIDE, "sigmoid": SIGMOID}
BLOCK_ROWS = 128  # of which products are computed at once: steps times sequences


class Arguments(NamedTuple):
    """A sequence and its cell; contiguous, and float32 but for the mask."""

    cell: GateL0RDCell
    x: Tensor  # (T, B, I), T and B not 0
    h: Tensor  # (B, H)
    reset_mask: Tensor | None  # bool (T, B)
    noise: Tensor | None  # (T, B, H)
    weights: Sequence[Tensor]  # weight and bias of each map of the cell: g, r, p, o


def _sizes(cell: GateL0RDCell, x: Tensor) -> kernels.Sizes:
    time, batch, _ = x.shape
    return kernels.Sizes(
        time,
        batch,
        cell.input_size,
        cell.hidden_size,
        cell.output_size,
        cell.num_internal_layers,
        KINDS[cell.gate],
        min(time, max(1, BLOCK_ROWS // batch)),
    )


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _table(
    weights: Sequence[Tensor], gradients: Sequence[Tensor | None]
) -> tuple[NDArray[np.int64], int, int]:
    """Return the table of maps, how many numbers their weights have, and the sum of fan-outs."""
    rows: list[int] = []
    numbers = widths = 0
    for index in range(0, len(weights), 2):
        width, fan_in = weights[index].shape
        pair = slice(index, index + 2)
        rows += width, fan_in, *map(_address, weights[pair]), *map(_address, gradients[pair])
        rows += numbers, widths
        numbers += width * fan_in
        widths += width
    return np.array(rows, np.int64), numbers, widths


def _parts(memory: Tensor, numbers: Sequence[int]) -> list[int]:
    """Return the addresses of parts of a memory that hold so many numbers."""
    starts = itertools.accumulate(numbers[:-1], initial=0)
    return [memory.data_ptr() + 4 * start for start in starts]


def _remembered(size: kernels.Sizes, widths: int, masked: bool, steps: int) -> list[int]:
    """Return how many numbers the values of maps, the states and the states after resets have."""
    state = size.batch * size.hidden
    return [steps * size.batch * widths, (steps + 1) * state, steps * state if masked else 0]


def forward(arguments: Arguments, kept: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return y, the last state, gates, and the memory of what ``backward`` needs, if ``kept``."""
    cell, x, h, reset_mask, noise, weights = arguments
    size = _sizes(cell, x)
    table, numbers, widths = _table(weights, [None] * len(weights))
    steps = size.time if kept else size.block
    parts = _remembered(size, widths, reset_mask is not None, steps)
    memory, turned = x.new_empty(sum(parts)), x.new_empty(numbers)
    y = x.new_empty(size.time, size.batch, size.outputs)
    last = torch.empty_like(h)
    gates = x.new_empty(size.time, size.batch, size.hidden)
    addresses = map(_address, (x, h, noise, reset_mask, y, last, gates, turned))
    kernels.forward(table, *size, kept, *addresses, *_parts(memory, parts))
    return y, last, gates, memory


def backward(
    arguments: Arguments, memory: Tensor, d_outputs: Sequence[Tensor | None], wanted: Sequence[bool]
) -> list[Tensor | None]:
    """Return gradients.

    Args:
        arguments: of ``forward``.
        memory: that it returned.
        d_outputs: contiguous gradients of y, the last state and gates; None is 0.
        wanted: whether those of x, h and each weight are wanted.

    Returns:
        Those of x, h and each weight; None where they are not wanted, or 0 for want of ``dy``.
    """
    cell, x, h, reset_mask, _, weights = arguments
    dy, d_last, d_gates = d_outputs
    size = _sizes(cell, x)
    dx = torch.empty_like(x) if wanted[0] else None
    dh = torch.zeros_like(h) if d_last is None else d_last.clone()
    reached = len(weights) if dy is not None else 4 * size.depth
    gradients = [
        torch.zeros_like(weight) if want and index < reached else None
        for index, (weight, want) in enumerate(zip(weights, wanted[2:], strict=True))
    ]
    table, _, widths = _table(weights, gradients)
    parts = _remembered(size, widths, reset_mask is not None, size.time)
    largest = max(weight.numel() for weight in weights)
    rooms = [size.block * size.batch * widths, size.block * h.numel(), largest]
    room = x.new_empty(sum(rooms))
    zeros, ones = x.new_zeros(max(size.inputs, int(table[::COLUMNS].max()))), x.new_ones(1)
    kernels.backward(
        table,
        *size,
        any(gradient is not None for gradient in gradients),
        *map(_address, (x, reset_mask)),
        *_parts(memory, parts),
        *map(_address, (dy, d_gates, dh, dx)),
        *_parts(room, rooms),
        *map(_address, (zeros, ones)),
    )
    return [dx, dh if wanted[1] else None, *gradients]
