"""Environment steps per second of Distracting Control against the published way of rendering.

The published code renders as dm_control does by default and uploads the background to OpenGL at
every step, also where the picture stays the same. The rival here is the same environment, told
before each step that its picture is new.

Also the mean difference between the pixels of "fast" and "reference", in grey levels of 255.

    python benchmarks/distracting.py --out benchmarks/results/distracting.json
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
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import iap_gym
from iap_gym.envs._gl import rendering_report

ENV_ID = "iap_gym/DistractingCheetahRun-v0"
TARGETS = {"reference": 1.4, "fast": 6.0}  # times the rival's speed
COMPARED = ("CheetahRun", "WalkerWalk", "CartpoleSwingup", "BallInCupCatch", "FingerSpin")
COMPARED += ("ReacherEasy", "HumanoidWalk", "QuadrupedWalk")
COMPARED_SEEDS = 8


def upload_again(env: gymnasium.Env[Any, Any]) -> None:
    """Have the environment upload its background before the next frame."""
    inner: Any = env.unwrapped
    inner._renderer.texture_changed(inner._distractions._sky.texture_id)


def steps_per_second(env: gymnasium.Env[Any, Any], steps: int, rival: bool) -> float:
    """Return the speed of ``steps`` random actions inside one episode."""
    start = time.perf_counter()
    for _ in range(steps):
        if rival:
            upload_again(env)
        env.step(env.action_space.sample())
    return steps / (time.perf_counter() - start)


def pixel_difference(name: str, height: int, width: int) -> float:
    """Return the mean absolute difference of first frames between the two qualities."""
    frames: dict[str, list[Any]] = {}
    for quality in TARGETS:
        env = gymnasium.make(
            f"iap_gym/Distracting{name}-v0", render_quality=quality, height=height, width=width
        )
        frames[quality] = [env.reset(seed=seed)[0] for seed in range(COMPARED_SEEDS)]
        env.close()
    fast, reference = (np.array(frames[quality], np.float64) for quality in ("fast", "reference"))
    return float(np.abs(fast - reference).mean())


def main() -> None:
    """Measure all ways in turn, several times, in this one process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help="steps of each repeat")
    parser.add_argument("--height", type=int, default=240)
    parser.add_argument("--width", type=int, default=320)
    parser.add_argument("--dynamic", action="store_true", help="also moving distractions")
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    def make(quality: str) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(
            ENV_ID,
            render_quality=quality,
            dynamic=options.dynamic,
            height=options.height,
            width=options.width,
        )

    envs = {"rival": make("reference"), "reference": make("reference"), "fast": make("fast")}
    speeds: dict[str, list[float]] = {name: [] for name in envs}
    for repeat in range(options.repeats):
        for name, env in envs.items():
            env.reset(seed=repeat)
            env.action_space.seed(repeat)
            env.step(env.action_space.sample())  # the first frame of a reset uploads
            speeds[name].append(steps_per_second(env, options.steps, name == "rival"))
    for env in envs.values():
        env.close()

    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ratios = {name: medians[name] / medians["rival"] for name in TARGETS}
    for name, speed in medians.items():
        ratio = f", {ratios[name]:.2f} x rival (wanted {TARGETS[name]})" if name in ratios else ""
        print(f"{name:10s} {speed:7.1f} steps/s{ratio}")
    differences = {
        name: round(pixel_difference(name, options.height, options.width), 2) for name in COMPARED
    }
    print("fast against reference, grey levels:", differences)
    if options.out:
        result = {
            "command": " ".join(["python", *sys.argv]),
            "env": ENV_ID,
            "steps_per_second": {name: [round(v, 2) for v in vs] for name, vs in speeds.items()},
            "median": {name: round(value, 2) for name, value in medians.items()},
            "times_rival": {name: round(value, 3) for name, value in ratios.items()},
            "wanted": TARGETS,
            "fast_minus_reference_grey_levels": differences,
            "versions": {
                name: importlib.metadata.version(name)
                for name in ("gymnasium", "mujoco", "dm_control", "numpy")
            }
            | {"iap_gym": iap_gym.__version__, "python": platform.python_version()},
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
            "opengl": rendering_report().device,
        }
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
