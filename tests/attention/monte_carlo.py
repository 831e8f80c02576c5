"""Many draws of a feature map at once, and means with their standard errors."""

import contextlib
import math

import torch
from torch import nn
from torch.func import functional_call


class _Estimate(nn.Module):
    """query(x) · key(y) as a forward pass, which ``functional_call`` asks for."""

    def __init__(self, features):
        super().__init__()
        self.features = features

    def forward(self, x, y):
        return (self.features.query(x) * self.features.key(y)).sum(-1)


@contextlib.contextmanager
def one_thread():
    """Thousands of tiny operations: threads would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def estimates(features, x, y, draws, seed=0, chunk=250):
    """Return the estimates of ``draws`` calls of ``redraw``, (draws, P) for pairs (P, d)."""
    generator = torch.Generator().manual_seed(seed)
    estimate = _Estimate(features)
    found = []
    for start in range(0, draws, chunk):
        drawn = []
        for _ in range(min(chunk, draws - start)):
            features.redraw(generator)
            drawn.append({name: buffer.clone() for name, buffer in estimate.named_buffers()})
        stacked = {name: torch.stack([buffers[name] for buffers in drawn]) for name in drawn[0]}
        call = torch.vmap(lambda buffers: functional_call(estimate, buffers, (x, y)))
        found.append(call(stacked))
    return torch.cat(found)


def standard_errors_off(samples, expected):
    """Return by how many standard errors the means over the first axis miss ``expected``.

    A deterministic sample may miss by the rounding of float32 samples.
    """
    error = samples.std(0) / math.sqrt(len(samples))
    return (samples.mean(0) - expected).abs() / (error + 1e-6)
