"""Recurrent cores on MiniGrid: environment steps to 90 % success, over seeds.

    python benchmarks/minigrid_cores.py train doorkey-5x5     # a task, several, or all
    python benchmarks/minigrid_cores.py transfer doorkey-8x8  # its runs in a larger world
    python benchmarks/minigrid_cores.py report                # results/minigrid*.{csv,md,png}

Every run is `iap-gym train --algo ppo --env ID --core CORE --seed SEED ...` with the preset of the
paper, in a folder under runs/minigrid, and goes on where it was when this is called again. Success
is a return above 0, in 100 episodes with sampled actions.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import io
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from iap_gym._files import write_text
from iap_gym.baselines.experiments import comparison
from iap_gym.baselines.experiments.curves import draw_comparison
from iap_gym.baselines.experiments.evaluate import load_evaluations
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import bootstrap_mean


@dataclass(frozen=True)
class Task:
    """One environment, and for how long it is trained on."""

    env: str
    timesteps: int
    eval_every: int
    seeds: int
    transfer: str | None = None  # the environment of the same kind that is never trained on


TASKS = {
    "doorkey-5x5": Task("MiniGrid-DoorKey-5x5-v0", 300_000, 20_000, 5),
    "doorkey-8x8": Task(
        "MiniGrid-DoorKey-8x8-v0", 2_000_000, 100_000, 5, "MiniGrid-DoorKey-16x16-v0"
    ),
    "memory-s13": Task(
        "MiniGrid-MemoryS13Random-v0", 2_000_000, 100_000, 2, "MiniGrid-MemoryS17Random-v0"
    ),
}
CORES = ("gatel0rd", "lstm")
EPISODES = 100
RUNS = Path("runs/minigrid")
RESULTS = Path(__file__).parent / "results"


def folder(task: str, core: str, seed: int) -> Path:
    """Name the folder of a run."""
    return RUNS / task / f"{core}-{seed}"


def command(task: str, core: str, seed: int) -> list[str]:
    """Return the command that begins a run, or goes on with it."""
    settings, path = TASKS[task], folder(task, core, seed)
    words = [sys.executable, "-m", "iap_gym.cli.main", "train", "--no-progress"]
    if (path / "config.json").is_file():
        return [*words, "--resume", str(path), "--timesteps", str(settings.timesteps)]
    return [
        *words,
        *("--algo", "ppo", "--env", settings.env, "--core", core, "--seed", str(seed)),
        *("--timesteps", str(settings.timesteps), "--eval-every", str(settings.eval_every)),
        *("--eval-episodes", str(EPISODES), "--run", str(path)),
    ]


def complete(task: str, core: str, seed: int) -> bool:
    """Whether a run has been trained for as long as its task says."""
    path = folder(task, core, seed)
    if not (path / "metrics.csv").is_file():
        return False
    return bool(Run.open(path).metrics()["timesteps"][-1] >= TASKS[task].timesteps)


def train(tasks: Sequence[str], cores: Sequence[str], jobs: int) -> None:
    """Train what is not complete, a process a run, all cores of one seed before the next seed."""
    wanted = [
        (task, core, seed)
        for task in tasks
        for seed in range(TASKS[task].seeds)
        for core in cores
        if not complete(task, core, seed)
    ]

    def one(run: tuple[str, str, int]) -> None:
        folder(*run).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(command(*run), check=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, wanted))


def transfer(tasks: Sequence[str], cores: Sequence[str], jobs: int) -> None:
    """Play the trained policies in the larger environments of their tasks."""
    for task in tasks:
        larger = TASKS[task].transfer
        for core in cores if larger else ():
            for seed in range(TASKS[task].seeds):
                if complete(task, core, seed):
                    words = ["evaluate", str(folder(task, core, seed)), "--env", str(larger)]
                    words += ["--sampled", "--episodes", str(EPISODES), "--workers", str(jobs)]
                    words += ["--agents", "none"]
                    words = [sys.executable, "-m", "iap_gym.cli.main", *words]
                    subprocess.run(words, check=True)


def finished(task: str, core: str) -> list[Run]:
    """Return the complete runs of a core, by seed."""
    seeds = range(TASKS[task].seeds)
    return [Run.open(folder(task, core, s)) for s in seeds if complete(task, core, s)]


def rows(task: str, core: str, run: Run) -> list[dict[str, object]]:
    """Return the evaluations of a run with the time that training took until each."""
    evaluations, metrics = run.evaluations(), run.metrics()
    elapsed = np.cumsum(metrics["seconds"])
    table: list[dict[str, object]] = []
    for i, step in enumerate(evaluations["timesteps"]):
        row = {"task": task, "core": core, "seed": run.config().seed, "timesteps": int(step)}
        for name in ("success_rate", "mean_return", "mean_length", "gate_rate"):
            value = evaluations[name][i]
            row[name] = "" if np.isnan(value) else round(float(value), 5)
        row["seconds"] = round(float(np.interp(step, metrics["timesteps"], elapsed)), 1)
        table.append(row)
    return table


def summary(task: str, core: str, runs: Sequence[Run]) -> str:
    """Return a row of the table of results."""
    steps = comparison.steps_to(runs)
    reached = [step for step in steps if step is not None]
    median = comparison.median_steps(steps)
    last = [run.evaluations() for run in runs]
    success = [float(table["success_rate"][-1]) for table in last]
    gates = [float(table["gate_rate"][-1]) for table in last]
    seconds = [float(run.metrics()["seconds"].sum()) for run in runs]
    cells = [
        TASKS[task].env,
        core,
        str(len(runs)),
        f"{len(reached)} of {len(runs)}",
        "not reached" if median is None else f"{median:,.0f}",
        f"{min(reached):,.0f} to {max(reached):,.0f}" if reached else "",
        ", ".join(f"{value:.2f}" for value in success),
        "" if np.isnan(gates).all() else ", ".join(f"{100 * value:.2f}" for value in gates),
        f"{np.mean(seconds):,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def transferred(task: str, core: str, runs: Sequence[Run]) -> list[str]:
    """Return the rows of the table of transfer, one a core; none if nothing was played."""
    larger = TASKS[task].transfer
    rates: list[float] = []
    for run in runs:
        for evaluation in load_evaluations(run):
            if evaluation.env == larger and evaluation.sampled:
                rates.append(float(np.mean(np.array(evaluation.returns["trained"]) > 0)))
    if not rates:
        return []
    each = ", ".join(f"{rate:.2f}" for rate in rates)
    return [f"| {TASKS[task].env} | {larger} | {core} | {each} | {bootstrap_mean(rates)} |"]


def report() -> None:
    """Write the curves of all complete runs as CSV and pictures, and the tables."""
    table: list[dict[str, object]] = []
    lines, transfers = [], []
    for task in TASKS:
        by_core = {core: finished(task, core) for core in CORES}
        by_core = {core: runs for core, runs in by_core.items() if runs}
        for core, runs in by_core.items():
            for run in runs:
                table += rows(task, core, run)
            lines.append(summary(task, core, runs))
            transfers += transferred(task, core, runs)
        if by_core:
            every = [run for runs in by_core.values() for run in runs]
            groups = comparison.compare(every, comparison.SUCCESS, np.random.default_rng(0))
            draw_comparison(groups, comparison.SUCCESS, RESULTS / f"minigrid-{task}.png")
    if not table:
        raise SystemExit("no complete run under runs/minigrid yet")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    write_text(RESULTS / "minigrid.csv", text.getvalue())
    head = (
        "| environment | core | seeds | reached 90 % | median steps | range | "
        "success at the end, each seed | open gates in %, each seed | mean seconds |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    parts = [head, *lines]
    if transfers:
        parts += [
            "",
            "| trained on | played in | core | success, each seed | mean |",
            "|---|---|---|---|---|",
            *transfers,
        ]
    write_text(RESULTS / "minigrid.md", "\n".join(parts) + "\n")
    print("\n".join(parts))


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("train", "transfer", "report"))
    parser.add_argument("tasks", nargs="*", help="names of tasks, or all", default=["all"])
    parser.add_argument("--cores", nargs="+", default=list(CORES))
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    arguments = parser.parse_args()
    tasks = list(TASKS) if "all" in arguments.tasks else arguments.tasks
    if unknown := set(tasks) - set(TASKS):
        parser.error(f"tasks: expected some of {', '.join(TASKS)}, got {', '.join(unknown)}")
    if arguments.step == "report":
        report()
    else:
        steps = {"train": train, "transfer": transfer}
        steps[arguments.step](tasks, arguments.cores, arguments.jobs)


if __name__ == "__main__":
    main()
