"""Seconds to make the published data sets of the planar worlds, files included.

All splits of each, in one process on one core, as ``iap-gym data make`` does it; then the seconds
of one pass over minibatches of the largest file. Best of all rounds.

    python benchmarks/planar_data.py --out benchmarks/results/planar_data.json
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import iap_gym
from iap_gym.data import load, make_dataset
from iap_gym.data.recipes import NAMES, SPLITS, make_recipe

# Seconds for all splits; both data sets of Robot Remote Control together.
ASKED = {"billiard": 30, "rrc": 15, "shepherd": 60}
BATCH = 128


def make(name: str, folder: Path) -> dict[str, Any]:
    """Make all splits of a data set and say what it took."""
    start = time.perf_counter()
    datasets = [
        make_dataset(name, folder / f"{name}-{split}.safetensors", split, overwrite=True)
        for split in SPLITS
    ]
    seconds = time.perf_counter() - start
    tried = sum(
        count["tried"] for dataset in datasets for count in dataset.header["pools"].values()
    )
    return {
        "seconds": seconds,
        "sequences": [len(dataset) for dataset in datasets],
        "rollout_steps": tried * make_recipe(name).rollout_steps,
        "megabytes": sum(file.stat().st_size for file in folder.glob(f"{name}-*")) / 1e6,
    }


def main() -> None:
    """Make everything in turn, several times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="JSON file for the results")
    options = parser.parse_args()

    best: dict[str, dict[str, Any]] = {}
    batches = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name in NAMES:
                made = make(name, Path(folder))
                if name not in best or made["seconds"] < best[name]["seconds"]:
                    best[name] = made
            dataset = load(Path(folder) / "shepherd-train.safetensors")
            start = time.perf_counter()
            for _ in dataset.batches(BATCH, np.random.default_rng(0), balanced=True):
                pass
            batches = min(batches, time.perf_counter() - start)

    totals = {
        group: sum(made["seconds"] for name, made in best.items() if name.startswith(group))
        for group in ASKED
    }
    for group, seconds in totals.items():
        print(f"{group}: {seconds:.2f} s (asked {ASKED[group]})")
    for name, made in best.items():
        speed = made["rollout_steps"] / made["seconds"]
        print(f"{name}: {made['seconds']:.2f} s, {made['megabytes']:.0f} MB, {speed:,.0f} steps/s")
    print(f"shepherd train, one pass in minibatches of {BATCH}: {batches:.2f} s")
    if options.out:
        result = {
            "command": " ".join(["python", *sys.argv]),
            "seconds": {group: round(seconds, 2) for group, seconds in totals.items()},
            "asked_seconds": ASKED,
            "data_sets": {
                name: {
                    **made,
                    "seconds": round(made["seconds"], 2),
                    "megabytes": round(made["megabytes"], 1),
                }
                for name, made in best.items()
            },
            "seconds_for_minibatches": round(batches, 2),
            "versions": {name: importlib.metadata.version(name) for name in ("gymnasium", "numpy")}
            | {"iap_gym": iap_gym.__version__, "python": platform.python_version()},
            "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        }
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
