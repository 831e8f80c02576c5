"""One time step of GateL0RD."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.recurrent._shapes import check_input, check_state
from iap_gym.recurrent.gates import GATES, openness


def tanh_layers(sizes: list[int]) -> nn.Sequential:
    """Affine maps of the given widths with tanh between, none after the last."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class GateL0RDCell(nn.Module):
    """Gated L0 regularized recurrent cell (Gumbsch, Butz and Martius, NeurIPS 2021).

    With z_t = [x_t; h_{t-1}], e_t ~ N(0, gate_noise²) in training mode and e_t = 0 otherwise:

    - s_t = g(z_t) + e_t (Equation 10 of the appendix)
    - Λ_t = max(0, tanh(s_t)) for "retanh"; Θ(s_t) for "heaviside"; 1 / (1 + exp(-s_t)) for
      "sigmoid"
    - h_t = h_{t-1} + Λ_t ⊙ (r(z_t) - h_{t-1}) (Equation 8): a closed gate, Λ = 0, leaves its
      number of the state as it is, to the bit (but for the sign of -0.0)
    - y_t = tanh(p([x_t; h_t])) ⊙ 1 / (1 + exp(-o([x_t; h_t]))) (Equation 9)

    g, r, p and o are affine maps with the initialisation of ``nn.Linear``. With n internal layers
    g and r are networks of widths 2^(n-1)H, ..., 2H, H with tanh between; r ends in a tanh.

    Args:
        input_size: I, numbers of an input.
        hidden_size: H, numbers of the latent state.
        output_size: O, numbers of the output; None means H.
        num_internal_layers: n, layers of g and r.
        gate: "retanh", or "heaviside" or "sigmoid" for the ablations of Appendix D.1.
        gate_noise: standard deviation of the noise on s in training mode.
        multiplicative_output: whether y has its second factor; without it y = tanh(p) and there
            is no o.

    Raises:
        ValueError: an argument is wrong; the message names it.
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
    ) -> None:
        super().__init__()
        self.input_size = _checks.integer("input_size", input_size, 1)
        self.hidden_size = _checks.integer("hidden_size", hidden_size, 1)
        if output_size is None:
            output_size = self.hidden_size
        self.output_size = _checks.integer("output_size", output_size, 1)
        self.num_internal_layers = _checks.integer("num_internal_layers", num_internal_layers, 1)
        self.gate: str = _checks.one_of("gate", gate, GATES)
        self.gate_noise = _checks.real("gate_noise", gate_noise, 0.0)
        self.multiplicative_output = _checks.boolean("multiplicative_output", multiplicative_output)
        joined = self.input_size + self.hidden_size
        widths = [2**i * self.hidden_size for i in reversed(range(self.num_internal_layers))]
        self.g = tanh_layers([joined, *widths])
        self.r = tanh_layers([joined, *widths])
        self.p = nn.Linear(joined, self.output_size)
        self.o = nn.Linear(joined, self.output_size) if self.multiplicative_output else None

    def forward(
        self, x: Tensor, h: Tensor | None = None, generator: torch.Generator | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Take one step.

        Args:
            x: float (B, I).
            h: float (B, H), the latent state; None is 0.
            generator: draws the gate noise; None is torch's own generator, as for dropout.

        Returns:
            y (B, O) in (-1, 1); h (B, H); gates (B, H): Θ(Λ), 0 or 1, for "retanh" and
            "heaviside", Λ for "sigmoid".

        Raises:
            ValueError: an input or state of another shape or dtype.
        """
        check_input(x, "B, I", self.input_size, self.p.weight)
        if h is None:
            h = self.p.weight.new_zeros(x.shape[0], self.hidden_size)
        check_state("h", h, (x.shape[0], self.hidden_size), self.p.weight)
        noise = self.draw_noise((x.shape[0],), generator)
        return self.step(x, h, noise)

    def draw_noise(
        self, leading: tuple[int, ...], generator: torch.Generator | None
    ) -> Tensor | None:
        """Draw e for inputs of the given leading dimensions; None where there is no noise."""
        if not self.training or self.gate_noise == 0.0:
            return None
        weight = self.p.weight
        shape = (*leading, self.hidden_size)
        normal = torch.randn(shape, generator=generator, dtype=weight.dtype, device=weight.device)
        return self.gate_noise * normal

    def step(self, x: Tensor, h: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the equations of the class for given noise, without checks."""
        z = torch.cat((x, h), dim=-1)
        h, update = self.move(h, self.g(z), self.r(z), noise)
        return self.output(torch.cat((x, h), dim=-1)), h, openness(self.gate, update)

    def move(self, h: Tensor, s: Tensor, r: Tensor, noise: Tensor | None) -> tuple[Tensor, Tensor]:
        """Move the state by Equation 8, given g(z) and r(z) before its last tanh; also return Λ."""
        if noise is not None:
            s = s + noise
        update = GATES[self.gate](s)
        # h + Λ (r - h) in one operation, exact at Λ = 0 and 1. Within autocast h keeps its dtype.
        return torch.lerp(h, torch.tanh(r).to(h.dtype), update.to(h.dtype)), update

    def output(self, z: Tensor) -> Tensor:
        """Compute y from [x; new state], (..., I + H) -> (..., O)."""
        y = torch.tanh(self.p(z))
        return y if self.o is None else y * torch.sigmoid(self.o(z))

    def extra_repr(self) -> str:
        """Name what the submodules do not show."""
        return f"gate={self.gate}, gate_noise={self.gate_noise:g}"
