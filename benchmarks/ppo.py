r"""Speed of RecurrentPPO against sb3-contrib's, in environment steps of a whole ``learn``.

MiniGrid-DoorKey-6x6 as images, 16 environments in this process, rollouts of 128 steps,
minibatches of 256, 4 epochs, hidden size 64, the network of the GateL0RD paper (appendix B.6) for
all; once with the episodes as they are (up to 360 steps) and once ended after 16 steps. All learn
in this one process, on one thread, in turn, round after round; each counts with the shortest of
its runs, by the CPU time of the process and by the clock.

    python benchmarks/ppo.py --out benchmarks/results/ppo.json
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import gymnasium
import sb3_contrib
import torch
from _common import circumstances
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from iap_gym import _files
from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.minigrid import MiniGridFeatures, make_minigrid

TASK, NUM_ENVS, HIDDEN = "MiniGrid-DoorKey-6x6-v0", 16, 64
SETTINGS: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 256,
    "n_epochs": 4,
    "learning_rate": 1e-3,
    "gae_lambda": 0.99,
    "ent_coef": 0.01,
    "seed": 0,
    "device": "cpu",
}
NETWORK: dict[str, Any] = {
    "features_extractor_class": MiniGridFeatures,
    "normalize_images": False,
    "net_arch": {"pi": [64], "vf": [64]},
    "activation_fn": nn.Tanh,
    "optimizer_kwargs": {"eps": 1e-4},
}
UPSTREAM = {
    "separate": "sb3-contrib, LSTM, separate",
    "shared": "sb3-contrib, LSTM, shared, no gradient of the critic",
}
PACKAGES = ("torch", "numba", "stable_baselines3", "sb3_contrib", "minigrid", "numpy")
EPISODES = {"long episodes": None, "16-step episodes": 16}

# Core, sharing, episodes: ratio asked; others are reported.
ASKED = {
    ("gatel0rd", "shared", "long episodes"): 0.9,
    ("gatel0rd", "separate", "long episodes"): 0.9,
    ("gatel0rd", "shared", "16-step episodes"): 0.9,
    ("gatel0rd", "separate", "16-step episodes"): 0.9,
    ("lstm", "shared", "16-step episodes"): 1.05,
    ("lstm", "separate", "16-step episodes"): 1.05,
}


def environments(longest: int | None) -> DummyVecEnv:
    """Make the environments, with episodes of at most ``longest`` steps."""

    def make() -> gymnasium.Env[Any, Any]:
        env = make_minigrid(TASK)
        return env if longest is None else gymnasium.wrappers.TimeLimit(env, longest)

    return DummyVecEnv([make] * NUM_ENVS)


def ways(longest: int | None) -> dict[str, sb3_contrib.RecurrentPPO]:
    """Return the algorithms, upstream's first."""
    made: dict[str, sb3_contrib.RecurrentPPO] = {}
    for sharing, name in UPSTREAM.items():
        shared = sharing == "shared"
        lstm = {"lstm_hidden_size": HIDDEN, "shared_lstm": shared, "enable_critic_lstm": not shared}
        made[name] = sb3_contrib.RecurrentPPO(
            "CnnLstmPolicy", environments(longest), policy_kwargs=NETWORK | lstm, **SETTINGS
        )
    for sharing in UPSTREAM:
        for core in ("lstm", "gatel0rd"):
            for bptt in (None, 32):
                made[ours(core, sharing, bptt)] = RecurrentPPO(
                    "CnnCorePolicy",
                    environments(longest),
                    core=core,
                    core_sharing=sharing,
                    bptt=bptt,
                    policy_kwargs=NETWORK | {"hidden_size": HIDDEN},
                    **SETTINGS,
                )
    return made


def ours(core: str, sharing: str, bptt: int | None = None) -> str:
    """Name one of ours."""
    return f"{core}, {sharing}" + ("" if bptt is None else f", bptt {bptt}")


def shortest(
    algorithms: dict[str, sb3_contrib.RecurrentPPO], rounds: int, rollouts: int
) -> dict[str, tuple[float, float]]:
    """Let all learn in turn, round after round; best steps per CPU second and per second."""
    best = dict.fromkeys(algorithms, (0.0, 0.0))
    for number in range(rounds + 1):
        for name, algorithm in algorithms.items():
            steps = SETTINGS["n_steps"] * NUM_ENVS * (rollouts if number else 1)
            cpu, clock = time.process_time(), time.perf_counter()
            algorithm.learn(steps, reset_num_timesteps=False)
            cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
            if number:  # the first round fills caches and compiles
                before = best[name]
                best[name] = max(before[0], steps / cpu), max(before[1], steps / clock)
    return best


def main() -> None:
    """Measure, print the ratios, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--rollouts", type=int, default=1, help="of each in each round")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    rates: dict[str, dict[str, tuple[float, float]]] = {}
    ratios: dict[str, dict[str, float]] = {}
    for episodes, longest in EPISODES.items():
        rates[episodes] = found = shortest(ways(longest), options.rounds, options.rollouts)
        print(episodes)
        ratios[episodes] = {}
        for name, (cpu, clock) in found.items():
            if name in UPSTREAM.values():
                print(f"  {name:55s} {cpu:6.0f} steps per CPU second, {clock:6.0f} per second")
                continue
            core, sharing, *_ = name.split(", ")
            ratios[episodes][name] = ratio = cpu / found[UPSTREAM[sharing]][0]
            asked = ASKED.get((core, sharing, episodes))
            note = "" if asked is None else f" (asked {asked})"
            print(
                f"  {name:55s} {cpu:6.0f} steps per CPU second, {clock:6.0f} per second, "
                f"{ratio:.2f} x{note}"
            )
    result = {
        "steps_per_cpu_second": {
            episodes: {name: round(rate[0]) for name, rate in found.items()}
            for episodes, found in rates.items()
        },
        "steps_per_second": {
            episodes: {name: round(rate[1]) for name, rate in found.items()}
            for episodes, found in rates.items()
        },
        "times_as_fast_as_sb3_contrib_with_the_same_sharing": {
            episodes: {name: round(ratio, 2) for name, ratio in found.items()}
            for episodes, found in ratios.items()
        },
        "asked": {f"{core}, {sharing}, {e}": ratio for (core, sharing, e), ratio in ASKED.items()},
    } | circumstances(PACKAGES, load)
    if options.out:
        _files.write_text(options.out, json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
