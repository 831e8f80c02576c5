"""GateL0RD over sequences, of one cell or of several stacked."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym._optional import require
from iap_gym.recurrent import backends
from iap_gym.recurrent._shapes import check_input, check_reset_mask, check_state
from iap_gym.recurrent.cell import GateL0RDCell


class GateL0RD(nn.Module):
    """GateL0RD over sequences; the output of a cell is the input of the next.

    ``GateL0RDCell`` gives the equations. On a CPU a compiled kernel computes a sequence and its
    gradients where numba is installed (extra ``fast``); torch computes all else, and is what the
    kernel is tested against.

    Args:
        input_size: I, numbers of an input.
        hidden_size: H, numbers of the latent state of one cell.
        output_size: O, numbers of the output; None means H.
        num_internal_layers: layers of g and r.
        gate: "retanh", "heaviside" or "sigmoid".
        gate_noise: standard deviation of the noise on the gates in training mode.
        multiplicative_output: whether the output has its second factor.
        num_layers: n_L, stacked cells.
        backend: "auto" takes the compiled kernel where it can, "torch" never, "numba" or an error
            says what stands against it.

    Raises:
        ValueError: an argument is wrong; the message names it.
        gymnasium.error.DependencyNotInstalled: "numba" is asked for and not installed.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        output_size: int | None = None,
        num_internal_layers: int = 1,
        gate: str = "retanh",
        gate_noise: float = 0.1,
        multiplicative_output: bool = True,
        num_layers: int = 1,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.num_layers = _checks.integer("num_layers", num_layers, 1)
        self.backend: str = _checks.one_of("backend", backend, backends.BACKENDS)
        if self.backend == "numba":
            require("numba", "fast")
        cells: list[GateL0RDCell] = []
        for _ in range(self.num_layers):
            size = cells[-1].output_size if cells else input_size
            cells.append(
                GateL0RDCell(
                    size,
                    hidden_size,
                    output_size,
                    num_internal_layers,
                    gate,
                    gate_noise,
                    multiplicative_output,
                )
            )
        self.cells = nn.ModuleList(cells)
        self.input_size = cells[0].input_size
        self.hidden_size = cells[0].hidden_size
        self.output_size = cells[0].output_size

    @property
    def gate_noise(self) -> float:
        """Standard deviation of the noise on the gates in training mode."""
        first = self.cells[0]
        assert isinstance(first, GateL0RDCell)
        return first.gate_noise

    def forward(
        self,
        x: Tensor,
        h0: Tensor | None = None,
        reset_mask: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Run over a batch of sequences.

        Args:
            x: float (T, B, I).
            h0: float (B, H), (n_L, B, H) if stacked: the latent state before the first step; None
                is 0.
            reset_mask: bool (T, B); True zeroes the state of a sequence before that step, so that
                a row with resets inside is the same as several sequences.
            generator: draws the gate noise; None is torch's own generator, as for dropout.

        Returns:
            y (T, B, O); h, the last state, of the shape of ``h0``; gates (T, B, n_L·H), those of
            the first cell first: 0 or 1 for "retanh" and "heaviside", Λ for "sigmoid".

        Raises:
            ValueError: an input, state or mask of another shape or dtype.
        """
        first = self.cells[0]
        assert isinstance(first, GateL0RDCell)
        check_input(x, "T, B, I", self.input_size, first.p.weight)
        time, batch = x.shape[:2]
        shape = (batch, self.hidden_size)
        if self.num_layers > 1:
            shape = (self.num_layers, *shape)
        if h0 is None:
            h0 = first.p.weight.new_zeros(shape)
        check_state("h0", h0, shape, first.p.weight)
        if reset_mask is not None:
            check_reset_mask(reset_mask, time, batch)
        return self.run(x, h0, reset_mask, generator)

    def run(
        self,
        x: Tensor,
        h0: Tensor,
        reset_mask: Tensor | None,
        generator: torch.Generator | None = None,
        noise: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Do what ``forward`` says, on arguments that were checked.

        ``noise`` is that of all gates, float (T, B, n_L·H), or None to draw it.
        """
        time, batch = x.shape[:2]
        states = h0.reshape(self.num_layers, batch, self.hidden_size)
        last: list[Tensor] = []
        gates: list[Tensor] = []
        given = [None] * self.num_layers if noise is None else noise.chunk(self.num_layers, dim=-1)
        for cell, state, drawn in zip(self.cells, states, given, strict=True):
            assert isinstance(cell, GateL0RDCell)
            if drawn is None:
                drawn = cell.draw_noise((time, batch), generator)
            x, h, theta = backends.run(cell, x, state, reset_mask, drawn, self.backend)
            last.append(h)
            gates.append(theta)
        if self.num_layers == 1:
            return x, last[0], gates[0]
        return x, torch.stack(last), torch.cat(gates, dim=-1)
