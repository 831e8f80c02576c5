"""The Clockwork RNN, a baseline of the GateL0RD paper (Table 3 of the appendix)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.recurrent.core import Core


class ClockworkCore(Core):
    """Clockwork RNN (Koutník, Greff, Gomez and Schmidhuber, ICML 2014).

    The latent state is cut into one module a period T_i, of equal sizes but for the last ones,
    which are one smaller where H is no multiple. At clock time t = 0, 1, 2, ... the modules with
    t mod T_i = 0 are updated, h_i = tanh(W_i [x_t; h_{t-1}] + b_i), and the others stay as they
    are, to the bit. A module sees itself and the slower modules, T_j >= T_i: the blocks of W_i of
    faster ones are 0. The output is the latent state. The clock is the last number of a layer's
    state, counts modulo the least common multiple of the periods, and restarts with the state. That
    multiple is at most 2^24 in float32, 2048 in float16 and 256 in bfloat16: beyond, a dtype lacks
    integers.

    Args:
        input_size: I.
        hidden_size: H, at least the number of periods.
        num_layers: n_L; each layer has the same periods.
        periods: T_i in steps, rising; (1, 4, 8) as in the GateL0RD paper.

    Raises:
        ValueError: an argument is wrong; the message names it. In a run, periods whose least common
            multiple the dtype does not count to.
    """

    name = "clockwork"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        periods: Sequence[int] = (1, 4, 8),
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers)
        self.periods = _checks.integers("periods", periods, 1)
        if not self.periods or list(self.periods) != sorted(set(self.periods)):
            raise _checks.refuse("periods", "rising integers >= 1", periods)
        if self.hidden_size < len(self.periods):
            wanted = f"at least one number for each of the {len(self.periods)} periods"
            raise _checks.refuse("hidden_size", wanted, hidden_size)
        self.state_size = self.hidden_size + 1
        # The clock counts modulo this, so that no float type runs out of integers.
        self.cycle = math.lcm(*self.periods)
        sizes = [self.input_size] + [self.hidden_size] * (self.num_layers - 1)
        self.from_input = nn.ModuleList(nn.Linear(size, self.hidden_size) for size in sizes)
        self.from_state = nn.ModuleList(
            nn.Linear(self.hidden_size, self.hidden_size, bias=False) for _ in sizes
        )
        each, more = divmod(self.hidden_size, len(self.periods))
        counts = [each + (i < more) for i in range(len(self.periods))]
        unit_periods = torch.tensor(self.periods).repeat_interleave(torch.tensor(counts))
        self.unit_periods: Tensor
        self.connected: Tensor
        self.register_buffer("unit_periods", unit_periods, persistent=False)
        seen = unit_periods[None, :] >= unit_periods[:, None]
        self.register_buffer("connected", seen, persistent=False)

    @property
    def context_size(self) -> int:
        """Numbers of a layer's state that a network may choose: all but the clock."""
        return self.hidden_size

    def run(
        self, x: Tensor, state: Tensor, reset_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Run over checked arguments.

        Raises:
            ValueError: the clock would count further than the state's dtype has every integer.
        """
        counted = round(2 / torch.finfo(state.dtype).eps)
        if self.cycle > counted:
            name = str(state.dtype).removeprefix("torch.")
            wanted = f"a least common multiple of at most {counted}, to which {name} counts"
            came = _checks.Words(f"{self.periods}, whose multiple is {self.cycle}")
            raise _checks.refuse("periods", wanted, came)
        last: list[Tensor] = []
        layers = zip(state.unbind(0), self.from_input, self.from_state, strict=True)
        for own, from_input, from_state in layers:
            assert isinstance(from_state, nn.Linear)
            weight = torch.where(self.connected, from_state.weight, 0.0).T
            h, clock = own[:, : self.hidden_size], own[:, self.hidden_size :]
            outputs: list[Tensor] = []
            for t, drive in enumerate(from_input(x).unbind(0)):
                if reset_mask is not None:
                    reset = reset_mask[t].unsqueeze(-1)
                    h, clock = h.masked_fill(reset, 0.0), clock.masked_fill(reset, 0.0)
                due = torch.remainder(clock, self.unit_periods) == 0
                h = torch.where(due, torch.tanh(torch.addmm(drive, h, weight)), h)
                clock = torch.remainder(clock + 1, self.cycle)
                outputs.append(h)
            last.append(torch.cat((h, clock), dim=-1))
            x = torch.stack(outputs) if outputs else x.new_zeros(0, x.shape[1], self.hidden_size)
        return x, torch.stack(last), {}
