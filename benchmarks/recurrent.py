r"""Speed of GateL0RD on a CPU against nn.LSTM of the same input and hidden size.

Forward and backward of a sequence with a loss on all outputs (and the gate penalty, and gate noise,
for GateL0RD), and one step without gradients as in acting. All ways run in this one process, on one
thread, in turn, round after round; each counts with the shortest of its runs. The cell loop, one
call of a cell for each step, is how the paper's published code runs. That the gradients of every
way are right is checked first, against float64.

    python benchmarks/recurrent.py --out benchmarks/results/recurrent.json
"""

from __future__ import annotations

import argparse
import copy
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _common import circumstances, keep_freed_memory, shortest
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from torch import Tensor, nn

from iap_gym import _files
from iap_gym.recurrent import GateL0RD, GateL0RDCell, gate_penalty

# T, B, I, H: ratio to nn.LSTM asked of the kernel.
SEQUENCES = {(50, 128, 16, 8): 1.0, (32, 256, 64, 64): 1.7, (32, 8, 64, 64): 2.2}
STEPS = {(1, 1, 64, 64): 1.0, (1, 16, 64, 64): 1.0}
KERNEL, LSTM = "GateL0RD, compiled", "nn.LSTM"


class CellLoop(nn.Module):
    """GateL0RD as a loop over its cell."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.cell = GateL0RDCell(inputs, hidden)

    def forward(self, x: Tensor, h: Tensor | None = None) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return y (T, B, H), the last state, and gates."""
        outputs: list[Tensor] = []
        gates: list[Tensor] = []
        for step in x:
            y, h, theta = self.cell(step, h)
            outputs.append(y)
            gates.append(theta)
        return torch.stack(outputs), h, torch.stack(gates)


def networks(inputs: int, hidden: int) -> dict[str, nn.Module]:
    """Return what is compared; those of GateL0RD have the same weights."""
    torch.manual_seed(0)
    kernel = GateL0RD(inputs, hidden, backend="numba")
    plain = GateL0RD(inputs, hidden, backend="torch")
    plain.load_state_dict(kernel.state_dict())
    loop = CellLoop(inputs, hidden)
    loop.cell.load_state_dict(kernel.cells[0].state_dict())
    return {
        LSTM: nn.LSTM(inputs, hidden),
        "nn.GRU": nn.GRU(inputs, hidden),
        "GateL0RD, loop over the cell": loop,
        "GateL0RD, our torch": plain,
        KERNEL: kernel,
    }


def learn(network: nn.Module, x: Tensor) -> list[Tensor]:
    """Return the gradients of the weights."""
    outputs = network(x)
    loss = outputs[0].square().mean()
    if len(outputs) == 3:
        loss = loss + 0.01 * gate_penalty(outputs[2])
    return list(torch.autograd.grad(loss, list(network.parameters())))


def verify(ways: dict[str, nn.Module], x: Tensor) -> None:
    """Fail if gradients are not those of float64, of GateL0RD those of the loop over the cell."""
    silent = {name: copy.deepcopy(network) for name, network in ways.items()}
    for network in silent.values():
        for module in network.modules():
            if isinstance(module, GateL0RDCell):
                module.gate_noise = 0.0
    for name, network in silent.items():
        reference = silent["GateL0RD, loop over the cell"] if "GateL0RD" in name else network
        exact = learn(copy.deepcopy(reference).double(), x.double())
        for found, wanted in zip(learn(network, x), exact, strict=True):
            error = float((found - wanted).abs().max() / wanted.abs().max())
            if error > 1e-4:
                raise RuntimeError(f"a gradient of {name} is wrong by {error:.1e}")


def training(time: int, batch: int, inputs: int, hidden: int) -> dict[str, Callable[[], object]]:
    """Return ways to run a sequence forward and back."""
    x = torch.randn(time, batch, inputs)
    ways = networks(inputs, hidden)
    verify(ways, x)
    return {name: functools.partial(learn, network, x) for name, network in ways.items()}


def acting(time: int, batch: int, inputs: int, hidden: int) -> dict[str, Callable[[], object]]:
    """Return ways to take a step."""
    x, h = torch.randn(time, batch, inputs), torch.zeros(batch, hidden)
    pair = (h.unsqueeze(0), h.unsqueeze(0))
    ways = networks(inputs, hidden)
    verify(ways, x)
    states: dict[str, Any] = {LSTM: pair, "nn.GRU": h.unsqueeze(0)}
    calls: dict[str, Callable[[], object]] = {
        name: functools.partial(network.eval(), x, states.get(name, h))
        for name, network in ways.items()
    }
    lstm, going_on = ways[LSTM], torch.zeros(batch)
    assert isinstance(lstm, nn.LSTM)
    process = RecurrentActorCriticPolicy._process_sequence
    calls["nn.LSTM, as sb3-contrib calls it"] = lambda: process(x[0], pair, going_on, lstm)
    return {name: torch.no_grad()(call) for name, call in calls.items()}


def main() -> None:
    """Measure, print the ratios, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each way in each round")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    keep_freed_memory()
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    results: dict[str, Any] = {}
    for shapes, title, ways_of in (
        (SEQUENCES, "forward and backward", training),
        (STEPS, "one step", acting),
    ):
        for shape, asked in shapes.items():
            times, runs = shortest(ways_of(*shape), options.rounds, options.seconds)
            name = f"{title}, T{shape[0]} B{shape[1]} I{shape[2]} H{shape[3]}"
            ratios = {way: seconds / times[LSTM] for way, seconds in times.items()}
            print(f"{name} (asked of the kernel: {asked:g} of {LSTM})")
            for way, seconds in times.items():
                print(f"  {way:34s} {1e3 * seconds:8.3f} ms {ratios[way]:6.2f}, of {runs[way]}")
            results[name] = {
                "asked": asked,
                "ratio_to_LSTM": {way: round(ratio, 3) for way, ratio in ratios.items()},
                "milliseconds": {way: round(1e3 * value, 4) for way, value in times.items()},
                "runs": runs,
            }
    if options.out:
        found = circumstances(("torch", "numba", "llvmlite", "sb3-contrib"), load)
        _files.write_text(options.out, json.dumps(found | {"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
