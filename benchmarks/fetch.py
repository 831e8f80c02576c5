"""Steps per second of Fetch Pick and Place against gymnasium-robotics' own, in the same run.

Both are made with ``gymnasium.make(disable_env_checker=True)``, play the same seeds with the same
actions, and are reset where an episode ends; so both simulate the same, to the bit. Rounds take an
episode of each in turn. Speeds are the best of all rounds, in time of one core, which others on the
machine do not lengthen; the ratio is the median of the rounds' own.

    python benchmarks/fetch.py --out benchmarks/results/fetch.json
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import gymnasium_robotics
import numpy as np
from _common import circumstances

import iap_gym

RIVAL = "FetchPickAndPlace-v4"
OURS = {
    "numbers": {"goal_env": False},
    "goals": {"goal_env": True},
}
ASKED = 0.95  # times the rival's speed
STEPS = 50  # of an episode


def player(env_id: str, kwargs: dict[str, Any]) -> Callable[[int], float]:
    """Return what plays the episode of a seed and says how many steps it took a second."""
    env: gymnasium.Env[Any, Any] = gymnasium.make(env_id, disable_env_checker=True, **kwargs)

    def play(seed: int) -> float:
        actions = np.random.default_rng(seed).uniform(-1, 1, (STEPS, 4)).astype(np.float32)
        start = time.process_time()
        env.reset(seed=seed)
        for action in actions:
            env.step(action)
        return STEPS / (time.process_time() - start)

    return play


def main() -> None:
    """Measure all in turn, several times, in this one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    load = os.getloadavg()[0]
    gymnasium.register_envs(gymnasium_robotics)
    gymnasium.register_envs(iap_gym)
    players = {"rival": player(RIVAL, {})}
    players |= {name: player("iap_gym/FetchPickAndPlace-v0", kw) for name, kw in OURS.items()}
    speeds: dict[str, list[float]] = {name: [] for name in players}
    for seed in range(options.rounds):
        for name, play in players.items():
            speeds[name].append(play(seed))
    best = {name: round(max(values)) for name, values in speeds.items()}
    ratios = {
        name: round(
            statistics.median(
                ours / theirs for ours, theirs in zip(speeds[name], speeds["rival"], strict=True)
            ),
            3,
        )
        for name in OURS
    }
    print(f"{RIVAL}: {best['rival']:,} steps/s")
    for name, ratio in ratios.items():
        print(f"{name}: {best[name]:,} steps/s, {ratio:.2f} x {RIVAL} (asked {ASKED})")
    if options.out:
        result = {
            "rival": RIVAL,
            "steps_per_second": best,
            "times_rival": ratios,
            "asked_times_rival": ASKED,
            **circumstances(("mujoco", "gymnasium-robotics", "gymnasium", "numpy"), load),
        }
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
