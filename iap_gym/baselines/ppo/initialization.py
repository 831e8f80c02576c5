"""Initialisation of the linear layers of a policy."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

Module = TypeVar("Module", bound=nn.Module)


def row_normalized_(module: Module) -> Module:
    """Draw the weights of every ``nn.Linear`` inside from N(0, 1), make each row's norm 1, bias 0.

    This is the initialisation of torch-ac's example models, which the GateL0RD paper trained its
    MiniGrid agents with. Other layers (convolutions, LSTM, GRU) stay as they are.

    Args:
        module: changed in place.

    Returns:
        The module.
    """
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight)
                layer.weight /= layer.weight.norm(dim=1, keepdim=True)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    return module
