r"""Speed of training a world model on a CPU, compiled against torch step by step.

One training batch of each published scenario, of GateL0RD and of the baselines: draw which inputs
are real and the noise, predict all steps from the model's own predictions, loss, gradients, their
clipping, Adam. In torch the model runs a step at a time, as it must when a step's input is the
prediction before, and as the published code did: a GateL0RD cell, or nn.LSTM, nn.GRU and nn.RNN
over sequences of one step. Also one population of plans of a planner without gradients. Both ways
run in this one process, on one thread, in turn, round after round; each counts with the shortest of
its runs. That their gradients agree is checked first.

    python benchmarks/world_model.py --out benchmarks/results/world_model.json
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from _common import circumstances, keep_freed_memory, shortest

from iap_gym import _files
from iap_gym.baselines.world_model import TrainingStep, WorldModel, draw_real
from iap_gym.baselines.world_model.scenarios import BATCH_SIZE, SCENARIOS, Scenario

CORES = ("gatel0rd", "lstm", "gru", "elman")
ASKED = {"billiard": 3.0, "rrc": 5.0, "shepherd": 4.0, "fetch": 3.0}  # of GateL0RD
STEPS = {"billiard": 50, "rrc": 49, "shepherd": 100, "fetch": 25, "fetch-diverse": 50}
PLANS = 256
COMPILED, PLAIN = "compiled", "torch, step by step"


def models(scenario: Scenario, core: str) -> dict[str, WorldModel]:
    """Return both ways, with the same weights."""
    settings = scenario.model_settings(core)
    torch.manual_seed(0)
    compiled = WorldModel(**settings, backend="numba")
    plain = WorldModel(**settings, backend="torch")
    plain.load_state_dict(compiled.state_dict())
    return {PLAIN: plain, COMPILED: compiled}


def training(scenario: Scenario, core: str) -> dict[str, Callable[[], object]]:
    """Return ways to train on a batch, once they were found to agree."""
    time, generator = STEPS[scenario.name], torch.Generator().manual_seed(0)
    observations = torch.rand(time + 1, BATCH_SIZE, scenario.obs_size) * 2 - 1
    actions = torch.rand(time, BATCH_SIZE, scenario.action_size) * 2 - 1
    both = models(scenario, core)
    steps = {
        name: TrainingStep(model, scenario.learning_rate, scenario.penalty)
        for name, model in both.items()
    }

    def real() -> torch.Tensor:
        probability, start = scenario.min_probability, scenario.start_steps
        return draw_real(time, BATCH_SIZE, probability, start, generator)

    mask, noise = real(), both[PLAIN].draw_noise(time, BATCH_SIZE)
    for step in steps.values():
        step.gradients(observations, actions, mask, noise)
    wanted, found = (steps[name].gradients.flat for name in (PLAIN, COMPILED))
    if float((wanted - found).abs().max()) > 1e-4 * float(wanted.abs().max()):
        raise RuntimeError(f"gradients of {scenario.name}, {core}, do not agree")

    def way(step: TrainingStep) -> Callable[[], object]:
        return lambda: step(observations, actions, real(), generator=generator)

    return {name: way(step) for name, step in steps.items()}


def planning(scenario: Scenario, core: str) -> dict[str, Callable[[], object]]:
    """Return ways to predict what plans lead to."""
    time = STEPS[scenario.name]
    observations = torch.rand(max(1, scenario.context_inputs), 1, scenario.obs_size)
    actions = torch.rand(time, PLANS, scenario.action_size) * 2 - 1

    def way(model: WorldModel) -> Callable[[], object]:
        return lambda: model.eval().rollout(observations, actions)

    return {name: way(model) for name, model in models(scenario, core).items()}


def main() -> None:
    """Measure, print the ratios, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each way in each round")
    parser.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS))
    parser.add_argument("--cores", nargs="+", choices=CORES, default=list(CORES))
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    keep_freed_memory()
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    results: dict[str, Any] = {}
    for title, ways_of in (("training batch", training), ("256 plans", planning)):
        for name in options.scenarios:
            for core in options.cores:
                times, runs = shortest(
                    ways_of(SCENARIOS[name], core), options.rounds, options.seconds
                )
                ratio = times[PLAIN] / times[COMPILED]
                asked = ASKED.get(name) if ways_of is training and core == CORES[0] else None
                text = f" (asked: {asked:g})" if asked else ""
                print(
                    f"{title:14s} {name:8s} {core:8s} {1e3 * times[PLAIN]:7.2f} ms, compiled "
                    f"{1e3 * times[COMPILED]:6.2f} ms, {ratio:5.1f} times as fast{text}",
                    flush=True,
                )
                results[f"{title}, {name}, {core}"] = {
                    "asked": asked,
                    "times_as_fast": round(ratio, 2),
                    "milliseconds": {way: round(1e3 * value, 3) for way, value in times.items()},
                    "runs": runs,
                }
    if options.out:
        found = circumstances(("torch", "numba", "llvmlite"), load)
        _files.write_text(options.out, json.dumps(found | {"results": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
