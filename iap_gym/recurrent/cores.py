"""GateL0RD and the standard cores behind the one interface, and the table of names."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.recurrent.clockwork import ClockworkCore
from iap_gym.recurrent.core import Core
from iap_gym.recurrent.gatel0rd import GateL0RD


class GateL0RDCore(Core):
    """``GateL0RD``; its extras hold ``gates``, and its state is the latent state.

    Args:
        input_size: I.
        hidden_size: H.
        num_layers: n_L.
        **options: of ``GateL0RD``.
    """

    name = "gatel0rd"

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, **options: Any
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers)
        self.gatel0rd = GateL0RD(input_size, hidden_size, num_layers=num_layers, **options)
        self.output_size = self.gatel0rd.output_size

    def run(
        self, x: Tensor, state: Tensor, reset_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Run over checked arguments."""
        h0 = state[0] if self.num_layers == 1 else state
        y, h, gates = self.gatel0rd.run(x, h0, reset_mask)
        return y, h.reshape(state.shape), {"gates": gates}


class _TorchCore(Core):
    """One of torch's recurrent networks, which know no reset inside a sequence."""

    network: nn.RNNBase

    def run(
        self, x: Tensor, state: Tensor, reset_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Run from one reset to the next with torch's fused loops."""
        if x.shape[0] == 0:
            return x.new_zeros(0, x.shape[1], self.output_size), state, {}
        if reset_mask is None:
            y, state = self.advance(x, state)
            return y, state, {}
        cuts = np.flatnonzero(reset_mask[1:].any(dim=1).numpy(force=True)) + 1
        outputs: list[Tensor] = []
        for begin, end in itertools.pairwise([0, *cuts.tolist(), x.shape[0]]):
            state = state.masked_fill(reset_mask[begin].unsqueeze(-1), 0.0)
            y, state = self.advance(x[begin:end], state)
            outputs.append(y)
        return (outputs[0] if len(outputs) == 1 else torch.cat(outputs)), state, {}

    def advance(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Run without resets."""
        return self.network(x, state)


class LSTMCore(_TorchCore):
    """``torch.nn.LSTM``; a layer's state is h, then c.

    Args:
        input_size: I.
        hidden_size: H.
        num_layers: n_L.
    """

    name = "lstm"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__(input_size, hidden_size, num_layers)
        self.network = nn.LSTM(self.input_size, self.hidden_size, self.num_layers)
        self.state_size = 2 * self.hidden_size

    def advance(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Run without resets."""
        h, c = state.chunk(2, dim=-1)
        y, last = self.network(x, (h.contiguous(), c.contiguous()))
        return y, torch.cat(last, dim=-1)


class GRUCore(_TorchCore):
    """``torch.nn.GRU``.

    Args:
        input_size: I.
        hidden_size: H.
        num_layers: n_L.
    """

    name = "gru"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__(input_size, hidden_size, num_layers)
        self.network = nn.GRU(self.input_size, self.hidden_size, self.num_layers)


class ElmanCore(_TorchCore):
    """``torch.nn.RNN`` with tanh, the simple recurrent network of Elman (1990).

    Args:
        input_size: I.
        hidden_size: H.
        num_layers: n_L.
    """

    name = "elman"

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1) -> None:
        super().__init__(input_size, hidden_size, num_layers)
        self.network = nn.RNN(self.input_size, self.hidden_size, self.num_layers)


CORES: dict[str, type[Core]] = {
    core.name: core for core in (GateL0RDCore, LSTMCore, GRUCore, ElmanCore, ClockworkCore)
}


def make_core(name: str, input_size: int, hidden_size: int, **options: Any) -> Core:
    """Build a core by its name.

    Args:
        name: "gatel0rd", "lstm", "gru", "elman" or "clockwork".
        input_size: I, numbers of an input.
        hidden_size: H, numbers of the latent state of one layer.
        **options: of that core: ``num_layers`` for all, for "gatel0rd" those of ``GateL0RD``, for
            "clockwork" ``periods``.

    Raises:
        ValueError: an unknown core, an option that it does not have, or a wrong value.
    """
    core = CORES[_checks.one_of("name", name, CORES)]
    known = _options(GateL0RD) | _options(core) if core is GateL0RDCore else _options(core)
    for option in options:
        if option not in known:
            wanted = f"options of {name!r} among {', '.join(sorted(known)) or 'none'}"
            raise _checks.refuse("options", wanted, option)
    return core(input_size, hidden_size, **options)


def _options(owner: type[nn.Module]) -> set[str]:
    parameters = inspect.signature(owner.__init__).parameters.values()
    named = {p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD}
    return named - {"self", "input_size", "hidden_size"}
