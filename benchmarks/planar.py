"""Steps per second of the planar environments: many worlds at once, and one against CartPole.

The vector version runs with autoreset, over whole episodes, starts included. The single version is
made with ``gymnasium.make(disable_env_checker=True)``, and so is its rival, Gymnasium's CartPole,
in the same run; both are reset where an episode ends.

Rounds take a bit of everything in turn. Speeds are the best of all rounds, in time of one core,
which others on the machine do not lengthen; a ratio is the median of the rounds' own.

    python benchmarks/planar.py --out benchmarks/results/planar.json
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

import iap_gym
from iap_gym.registry import PLANAR_WORLDS

RIVAL = "CartPole-v1"
# Steps per second of the vector version, and the single one's speed in units of the rival's.
ASKED_VECTOR = {"BilliardBall": 1e6, "RobotRemoteControl": 2e6, "Shepherd": 1e6}
ASKED_SINGLE = {"BilliardBall": 0.08, "RobotRemoteControl": 0.2, "Shepherd": 0.08}
SINGLE_STEPS = 300  # of a round


def single(env_id: str) -> Callable[[], int]:
    """Return what takes some steps of one environment and says how many."""
    env: gymnasium.Env[Any, Any] = gymnasium.make(env_id, disable_env_checker=True)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(SINGLE_STEPS)]
    env.reset(seed=0)

    def play() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    return play


def many(world: str, num_envs: int) -> Callable[[], int]:
    """Return what takes an episode and its autoreset in every world, and says how many steps."""
    env = gymnasium.make_vec(
        f"iap_gym/{world}-v0", num_envs=num_envs, vectorization_mode="vector_entry_point"
    )
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(PLANAR_WORLDS[world] + 1)]
    env.reset(seed=0)

    def play() -> int:
        for action in actions:
            env.step(action)
        return len(actions) * num_envs

    return play


def main() -> None:
    """Measure everything in turn, several times, in this one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--worlds", type=int, default=1024)
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    runs = {"rival": single(RIVAL)}
    for world in PLANAR_WORLDS:
        runs[f"{world}, one"] = single(f"iap_gym/{world}-v0")
        runs[f"{world}, {options.worlds}"] = many(world, options.worlds)
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, play in runs.items():
            start = time.process_time()
            steps = play()
            speeds[name].append(steps / (time.process_time() - start))

    best = {name: max(values) for name, values in speeds.items()}
    ratios = {
        world: statistics.median(
            ours / theirs
            for ours, theirs in zip(speeds[f"{world}, one"], speeds["rival"], strict=True)
        )
        for world in PLANAR_WORLDS
    }
    vector = {world: best[f"{world}, {options.worlds}"] for world in PLANAR_WORLDS}
    print(f"{RIVAL}: {best['rival']:,.0f} steps/s")
    for world in PLANAR_WORLDS:
        print(
            f"{world}: {options.worlds} worlds {vector[world]:,.0f} steps/s "
            f"(asked {ASKED_VECTOR[world]:,.0f}); one {best[f'{world}, one']:,.0f}, "
            f"{ratios[world]:.3f} x {RIVAL} (asked {ASKED_SINGLE[world]})"
        )
    if options.out:
        result = {
            "command": " ".join(["python", *sys.argv]),
            "rival": RIVAL,
            "steps_per_second": {name: round(speed) for name, speed in best.items()},
            "times_rival": {world: round(ratio, 3) for world, ratio in ratios.items()},
            "asked_steps_per_second": ASKED_VECTOR,
            "asked_times_rival": ASKED_SINGLE,
            "versions": {name: importlib.metadata.version(name) for name in ("gymnasium", "numpy")}
            | {"iap_gym": iap_gym.__version__, "python": platform.python_version()},
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        }
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
