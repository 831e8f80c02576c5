"""The obstacle course: attention beside its CNN twin over seeds, and the paper's Table 2.

    python benchmarks/quadruped_course.py train      # the low level, then every stage of both
    python benchmarks/quadruped_course.py evaluate   # on held-out courses, beside blind and oracle
    python benchmarks/quadruped_course.py sweep      # patch sizes and strides
    python benchmarks/quadruped_course.py report     # results/quadruped_course*.{csv,md,png}
    python benchmarks/quadruped_course.py ship       # the best of each into the package's weights

Every run is `iap-gym train --preset quadruped-... --seed SEED`, begun with the weights of the stage
before, in a folder under runs/quadruped, and goes on where it was when this is called again. Both
networks get the same environment steps in every stage. Courses are seeded: those of validation from
2,000,000, those of the evaluation from 1,000,000, those of training are drawn from 31 bits.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import iap_gym  # noqa: F401  registers the ids
from iap_gym._files import write_text
from iap_gym.baselines.evolution import EvolutionStrategies, run_episode
from iap_gym.baselines.experiments import comparison
from iap_gym.baselines.experiments.curves import draw_comparison
from iap_gym.baselines.experiments.evaluate import FIRST_SEED, Evaluation, load_evaluations
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import bootstrap_mean
from iap_gym.baselines.quadruped import OracleWalker, stages
from iap_gym.baselines.quadruped.pretrained import add_pretrained

NETWORKS = {"iap": "IAP, ReLU features", "cnn": "CNN"}
STAGES = ("surrogate", "high", "joint")  # each begins where the one before ended
FLAT = "flat"
EPISODES = 60  # held-out courses
RUNS = Path("runs/quadruped")
RESULTS = Path(__file__).parent / "results"
ORACLE = RUNS / "oracle.json"

PATCHES = (1, 2, 4, 8, 16)  # sides, up to half that of the image; a stride is no larger
IMAGE_SIDE = 32
SELECTED = 10  # or a quarter of the patches if that is less: the one of four that the paper shows
SWEEP_STEPS = 300_000  # half of the stage's


@dataclass(frozen=True)
class Stage:
    """One run: its preset, where it begins and what it changes."""

    folder: Path
    preset: str
    seed: int
    start: Path | None = None
    options: tuple[str, ...] = ()

    def command(self) -> list[str]:
        """Return the command that begins the run, or goes on with it."""
        words = [sys.executable, "-m", "iap_gym.cli.main"]
        if (self.folder / "config.json").is_file():
            return [*words, "train", "--resume", str(self.folder), "--no-progress"]
        return [*words, *self.fresh(), "--no-progress"]

    def fresh(self) -> list[str]:
        """Return the words after `iap-gym` that begin the run."""
        words = ["train", "--preset", self.preset, "--seed", str(self.seed)]
        words += ["--run", str(self.folder)]
        words += ["--start-from", str(self.start)] if self.start is not None else []
        return [*words, *self.options]

    def complete(self) -> bool:
        """Whether the run has been trained for as long as its config says."""
        if not (self.folder / "weights.safetensors").is_file():
            return False
        run = Run.open(self.folder)
        return bool(run.metrics()["timesteps"][-1] >= run.config().total_timesteps)

    def train(self) -> None:
        """Train what is not complete."""
        if not self.complete():
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(self.command(), check=True)


def stage(network: str, name: str, seed: int) -> Stage:
    """Return a stage of a network."""
    place = STAGES.index(name)
    start = RUNS / f"{network}-{seed}" / STAGES[place - 1] if place else None
    preset = f"quadruped-{name}" if network == "iap" else f"quadruped-{network}-{name}"
    return Stage(RUNS / f"{network}-{seed}" / name, preset, seed, start)


def cells() -> list[tuple[int, int]]:
    """Return (patch size, stride) of the sweep."""
    return [(patch, stride) for patch in PATCHES for stride in PATCHES if stride <= patch]


def num_patches(patch: int, stride: int) -> int:
    """Return how many patches an image has."""
    return ((IMAGE_SIDE - patch) // stride + 1) ** 2


def cell(patch: int, stride: int, seed: int) -> Stage:
    """Return a cell of the sweep: the surrogate stage, judged in full physics."""
    selected = max(1, min(SELECTED, num_patches(patch, stride) // 4))
    selector = {"patch_size": patch, "stride": stride, "num_selected": selected}
    options = ("--timesteps", str(SWEEP_STEPS))
    options += ("--selector", *(f"{name}={value}" for name, value in selector.items()))
    folder = RUNS / "sweep" / f"{patch}-{stride}-{seed}"
    return Stage(folder, "quadruped-surrogate", seed, None, options)


def in_turn(chains: Iterable[Sequence[Stage]], jobs: int) -> None:
    """Train chains of stages side by side, each in its order."""

    def one(chain: Sequence[Stage]) -> None:
        for each in chain:
            each.train()

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, chains))


def train(seeds: int, jobs: int, names: Sequence[str]) -> None:
    """Train the low level on flat ground, and stages of both networks."""
    chains = [
        [stage(network, name, seed) for name in STAGES if name in names]
        for seed in range(seeds)
        for network in NETWORKS
    ]
    if FLAT in names:
        folders = [RUNS / f"{FLAT}-{seed}" for seed in range(seeds)]
        chains += [[Stage(path, f"quadruped-{FLAT}", i)] for i, path in enumerate(folders)]
    in_turn(chains, jobs)


def evaluate(seeds: int, jobs: int) -> None:
    """Play the trained policies, the blind walk and the oracle on the same held-out courses."""
    for _, _, _, run in finished(seeds):
        if held_out(run) is None:
            words = ["evaluate", str(run.path), "--episodes", str(EPISODES), "--workers", str(jobs)]
            subprocess.run([sys.executable, "-m", "iap_gym.cli.main", *words], check=True)
    if not ORACLE.is_file():
        env = gymnasium.make(stages.ENV, control="latent", camera=False)
        walker = OracleWalker(env)
        seeds_played = range(FIRST_SEED, FIRST_SEED + EPISODES)
        returns = [run_episode(env, walker, seed).total_reward for seed in seeds_played]
        env.close()
        write_text(ORACLE, json.dumps(returns))


def held_out(run: Run) -> Evaluation | None:
    """Return the evaluation of a run on the held-out courses; None if there is none yet."""
    changes = run.config().eval_env_kwargs
    for each in load_evaluations(run):
        if len(each.seeds) == EPISODES and each.env_kwargs == changes:
            return each
    return None


def finished(seeds: int) -> list[tuple[str, str, int, Run]]:
    """Return network, stage, seed and run of what is complete."""
    return [
        (network, name, seed, Run.open(stage(network, name, seed).folder))
        for network in NETWORKS
        for name in STAGES
        for seed in range(seeds)
        if stage(network, name, seed).complete()
    ]


def curves(seeds: int) -> list[dict[str, Any]]:
    """Draw the validation return of each stage, and return the rows of all of them."""
    rows: list[dict[str, Any]] = []
    for name in STAGES:
        groups: list[comparison.Group] = []
        for network, title in NETWORKS.items():
            runs = [run for n, s, _, run in finished(seeds) if (n, s) == (network, name)]
            if not runs:
                continue
            read = [comparison.read_curve(run, "mean_return") for run in runs]
            groups.append(comparison.summarise(title, read, np.random.default_rng(0)))
            for curve in read:
                rows += [
                    {
                        "network": network,
                        "stage": name,
                        "seed": curve.run.config().seed,
                        "timesteps": int(step),
                        "validation_return": round(float(value), 4),
                    }
                    for step, value in zip(curve.timesteps, curve.values, strict=True)
                ]
        if groups:
            draw_comparison(groups, "mean_return", RESULTS / f"quadruped_course-{name}.png")
    return rows


def parameters(run: Run) -> int:
    """Return how many numbers were trained."""
    algorithm = EvolutionStrategies.load(run.checkpoint_file)
    algorithm.close()
    return algorithm.num_parameters


def result_rows(seeds: int) -> list[str]:
    """Return the rows of the table of held-out courses."""
    lines: list[str] = []
    walk = ""
    for network, name, seed, run in finished(seeds):
        played = held_out(run)
        if played is None:
            continue
        metrics = run.metrics()
        row = [
            NETWORKS[network],
            name,
            str(seed),
            f"{parameters(run):,}",
            f"{int(metrics['timesteps'][-1]):,}",
            f"{np.nansum(metrics['seconds']):,.0f}",
            str(played.mean("trained")),
            str(played.difference("zero")),
            str(played.mean("blind")),
        ]
        lines.append(f"| {' | '.join(row)} |")
        walk = str(played.mean("zero"))
    if lines:
        lines += ["", f"On the same courses: blind walk {walk}."]
    if lines and ORACLE.is_file():
        lines.append(f"Oracle {bootstrap_mean(json.loads(ORACLE.read_text()))}.")
    return lines


def sweep_rows(seeds: int) -> list[dict[str, Any]]:
    """Return the cells that are complete: the best validation return, as in the paper's Table 2."""
    rows: list[dict[str, Any]] = []
    for patch, stride in cells():
        runs = [
            Run.open(each.folder)
            for each in (cell(patch, stride, seed) for seed in range(seeds))
            if each.complete()
        ]
        if runs:
            best = [best_validation(run) for run in runs]
            seconds = [float(np.nansum(run.metrics()["seconds"])) for run in runs]
            rows.append(
                {
                    "patch_size": patch,
                    "stride": stride,
                    "patches": num_patches(patch, stride),
                    "selected": runs[0].config().policy_kwargs["selector"]["num_selected"],
                    "parameters": parameters(runs[0]),
                    "best": " ".join(f"{value:.2f}" for value in best),
                    "mean": round(float(np.mean(best)), 2),
                    "seconds": round(float(np.mean(seconds))),
                }
            )
    return rows


def chain_to(network: str, name: str, seed: int) -> list[Stage]:
    """Return the stages of a network up to one."""
    return [stage(network, each, seed) for each in STAGES[: STAGES.index(name) + 1]]


def ship(seeds: int) -> None:
    """Put the run of each network that is best in validation among the package's weights."""
    for network in NETWORKS:
        runs = [each for each in finished(seeds) if each[0] == network]
        if not runs:
            continue
        _, name, seed, run = max(runs, key=lambda each: best_validation(each[3]))
        commands = [" ".join(["iap-gym", *each.fresh()]) for each in chain_to(network, name, seed)]
        add_pretrained(f"quadruped-{network}", run, " && ".join(commands))
        print(f"quadruped-{network}: {run.path}, {best_validation(run):.2f} in validation")


def best_validation(run: Run) -> float:
    """Return the best mean return on the validation courses."""
    return float(run.evaluations()["mean_return"].max())


def report(seeds: int) -> None:
    """Write curves, held-out courses and the sweep."""
    parts: list[str] = []
    results = result_rows(seeds)
    if results:
        titles = (
            *("high level", "stage", "seed", "numbers trained", "steps", "seconds"),
            *("mean return", "minus blind walk", "itself, first frame only"),
        )
        parts += [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}", *results, ""]
    table = curves(seeds)
    if table:
        _write_csv("quadruped_course.csv", table)
    swept = sweep_rows(seeds)
    if swept:
        _write_csv("quadruped_sweep.csv", swept)
        parts += [f"| {' | '.join(swept[0])} |", f"|{'---|' * len(swept[0])}"]
        parts += [f"| {' | '.join(map(str, row.values()))} |" for row in swept]
    if not parts:
        raise SystemExit("nothing complete under runs/quadruped yet")
    write_text(RESULTS / "quadruped_course.md", "\n".join(parts).rstrip() + "\n")
    print("\n".join(parts))


def _write_csv(name: str, rows: Sequence[dict[str, Any]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(RESULTS / name, text.getvalue())


def main() -> None:
    """Run one of the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("train", "evaluate", "sweep", "report", "ship"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2, help="runs side by side")
    parser.add_argument(
        "--stages", nargs="+", choices=(*STAGES, FLAT), default=(*STAGES, FLAT), help="of train"
    )
    arguments = parser.parse_args()
    steps: dict[str, Callable[[], None]] = {
        "train": lambda: train(arguments.seeds, arguments.jobs, arguments.stages),
        "evaluate": lambda: evaluate(arguments.seeds, arguments.jobs),
        "sweep": lambda: in_turn(
            [[cell(*each, seed)] for seed in range(arguments.seeds) for each in cells()],
            arguments.jobs,
        ),
        "report": lambda: report(arguments.seeds),
        "ship": lambda: ship(arguments.seeds),
    }
    steps[arguments.step]()


if __name__ == "__main__":
    main()
