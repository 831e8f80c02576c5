"""The one interface that recurrent cores have."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.recurrent._shapes import check_input, check_reset_mask, check_state


class Core(nn.Module, ABC):
    """A recurrent network over sequences with its whole state in one tensor.

    ``state[:, i]`` is all that is remembered of sequence i, whatever the core: a batch of states
    can be stored, sliced, repeated and mixed without knowing which core it belongs to.

    Inputs and states have the dtype and the device of the core's first parameter; of a core that
    has none, of its first float buffer, else torch's default.

    Args:
        input_size: I, numbers of an input.
        hidden_size: H, numbers of the latent state of one layer.
        num_layers: n_L, stacked layers.

    Attributes:
        output_size: O, numbers of an output.
        state_size: S, numbers of the state of one layer: H, for an LSTM 2H (h, then c), for a
            Clockwork RNN H + 1 (the clock last).
        context_size: numbers of a layer's state that a network may choose; the state but a clock.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    name: str

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__()
        self.input_size = _checks.integer("input_size", input_size, 1)
        self.hidden_size = _checks.integer("hidden_size", hidden_size, 1)
        self.num_layers = _checks.integer("num_layers", num_layers, 1)
        self.output_size = self.hidden_size
        self.state_size = self.hidden_size

    @property
    def context_size(self) -> int:
        """Numbers of a layer's state that a network may choose."""
        return self.state_size

    def initial_state(self, batch_size: int) -> Tensor:
        """Return the state before a first step, zeros (n_L, batch_size, S).

        Raises:
            ValueError: the batch size is no integer >= 1.
        """
        _checks.integer("batch_size", batch_size, 1)
        return self._like().new_zeros(self.num_layers, batch_size, self.state_size)

    def state_from(self, context: Tensor) -> Tensor:
        """Return the state that begins with chosen numbers.

        Args:
            context: float (n_L, B, context_size), such as a ``ContextNetwork`` gives.

        Raises:
            ValueError: a context of another shape or dtype.
        """
        batch = context.shape[1] if context.ndim == 3 else 1
        shape = (self.num_layers, batch, self.context_size)
        check_state("context", context, shape, self._like())
        missing = self.state_size - self.context_size
        return torch.nn.functional.pad(context, (0, missing)) if missing else context

    def forward(
        self, x: Tensor, state: Tensor | None = None, reset_mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Run over a batch of sequences.

        Args:
            x: float (T, B, I).
            state: float (n_L, B, S), what an earlier call returned; None is ``initial_state``.
            reset_mask: bool (T, B); True zeroes the state of a sequence before that step.

        Returns:
            y (T, B, O); the state after the last step, (n_L, B, S); extras by name, for GateL0RD
            ``gates`` (T, B, n_L·H).

        Raises:
            ValueError: an input, state or mask of another shape or dtype.
        """
        like = self._like()
        check_input(x, "T, B, I", self.input_size, like)
        time, batch = x.shape[:2]
        if state is None:
            state = like.new_zeros(self.num_layers, batch, self.state_size)
        check_state("state", state, (self.num_layers, batch, self.state_size), like)
        if reset_mask is not None:
            check_reset_mask(reset_mask, time, batch)
        return self.run(x, state, reset_mask)

    def _like(self) -> Tensor:
        """Return a tensor whose dtype and device inputs and states have."""
        for weight in self.parameters():
            return weight
        for numbers in self.buffers():
            if numbers.is_floating_point():
                return numbers
        return torch.empty(0)

    @abstractmethod
    def run(
        self, x: Tensor, state: Tensor, reset_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Do what ``forward`` says, on arguments that were checked."""
