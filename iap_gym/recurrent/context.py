"""A network that chooses the first latent state from the first inputs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from iap_gym import _checks
from iap_gym.recurrent._shapes import check_input
from iap_gym.recurrent.cell import tanh_layers
from iap_gym.recurrent.core import Core


class ContextNetwork(nn.Module):
    """f_init of the GateL0RD paper: the first latent state from the first k inputs.

    A network of affine maps with a tanh after each, the last one too, so that h_0 lies in (-1, 1);
    one network for each stacked layer. An LSTM's c starts from it as its h does.

    Args:
        input_size: I, numbers of an input, which need not be that of the core.
        core: whose state is chosen.
        num_inputs: k, first inputs that are seen, joined to one vector.
        widths: of the layers before the last; None is (4H, 2H), as in the published code.

    Raises:
        ValueError: an argument is wrong; the message names it.
    """

    def __init__(
        self,
        input_size: int,
        core: Core,
        num_inputs: int = 1,
        widths: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        self.input_size = _checks.integer("input_size", input_size, 1)
        self.num_inputs = _checks.integer("num_inputs", num_inputs, 1)
        _checks.instance("core", core, Core, "a Core, such as make_core gives")
        if widths is None:
            widths = (4 * core.hidden_size, 2 * core.hidden_size)
        inner = _checks.integers("widths", widths, 1)
        sizes = [self.num_inputs * self.input_size, *inner, core.context_size]
        self.layers = nn.ModuleList(tanh_layers(sizes) for _ in range(core.num_layers))

    def forward(self, x: Tensor) -> Tensor:
        """Choose the numbers that a state begins with; ``core.state_from`` makes it a state.

        Args:
            x: float (T, B, I) with T >= k; only the first k steps are looked at.

        Returns:
            float (n_L, B, context_size of the core) in (-1, 1).

        Raises:
            ValueError: an input of another shape, or too few steps.
        """
        check_input(x, "T, B, I", self.input_size, next(self.parameters()))
        if x.shape[0] < self.num_inputs:
            wanted = f"at least the {self.num_inputs} steps that the network sees"
            raise _checks.refuse("x", wanted, tuple(x.shape))
        joined = x[: self.num_inputs].transpose(0, 1).flatten(1)
        return torch.stack([torch.tanh(layer(joined)) for layer in self.layers])
