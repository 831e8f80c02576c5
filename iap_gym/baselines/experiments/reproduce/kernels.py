"""Reward curves of agents that differ in the attention kernel alone.

Fig. 6 (right) of "Unlocking Pixels for Reinforcement Learning via Implicit Attention" (2021):
evolution strategies on the plain cheetah-run at 100x100, patches of 2x2, 10 of them selected; the
mean over seeds with one standard deviation. The paper trains 100 iterations with five seeds; its
population, step sizes, controller and frame skip are not published, so that ours are those of
``BUDGETS`` and curves are compared among each other only.

Every (kernel, seed) is a run folder: one that is finished is kept, one that was stopped goes on.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.reproduce.kernels_compared import COMPARED, Compared
from iap_gym.baselines.experiments.reproduce.output import (
    COLORS,
    Outcome,
    new_figure,
    save_figure,
    save_json,
    save_table,
)
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train import train

ENV = "iap_gym/DistractingCheetahRun-v0"
VIEW = {
    "difficulty": None, "height": 100, "width": 100, "action_repeat": 8, "render_quality": "fast",
}  # fmt: skip
SELECTOR = {"patch_size": 2, "num_selected": 10, "d_qk": 4, "pixel_offset": 0.5}


@dataclass(frozen=True)
class Budget:
    """How much to train."""

    seeds: int
    """Runs of each kernel."""
    iterations: int
    """Generations of a run."""
    population_size: int
    """Candidates of a generation."""
    episode_steps: int
    """Environment steps after which a training episode is cut."""

    @property
    def timesteps(self) -> int:
        """Environment steps of a run; the centre is run beside the candidates."""
        return self.iterations * (self.population_size + 1) * self.episode_steps


BUDGETS = {"smoke": Budget(2, 3, 2, 8), "small": Budget(3, 24, 16, 40)}


def config(compared: Compared, seed: int, budget: Budget) -> TrainConfig:
    """Return what one run is made from."""
    return TrainConfig(
        env=ENV,
        policy="LinearPolicy",
        total_timesteps=budget.timesteps,
        seed=seed,
        env_kwargs=dict(VIEW),
        policy_kwargs={"selector": {**SELECTOR, **compared.selector}},
        algo_kwargs={
            "population_size": budget.population_size,
            "sigma": 0.3,
            "learning_rate": 0.15,
            "weight_decay": 0.0,
            "common_seeds": "pair",
            "max_episode_steps": budget.episode_steps,
        },
    )


def open_or_create(path: Path, wanted: TrainConfig) -> Run:
    """Return the run of a folder, made if there is none.

    Raises:
        ValueError: the folder holds a run of other settings.
    """
    if not Run(path).config_file.is_file():
        return Run.create(path, wanted)
    run = Run.open(path)
    if run.config() != wanted:
        raise ValueError(f"--out: {path} holds a run of other settings; name another folder")
    return run


def finished(run: Run) -> bool:
    """Say whether a run has been trained to its end; weights are written last."""
    return run.weights_file.is_file()


def _train(path: str) -> None:
    import torch

    torch.set_num_threads(1)
    train(Run.open(path))


def train_all(runs: list[Run], workers: int) -> None:
    """Train what is not finished, ``workers`` runs at a time; no result depends on it."""
    # The slowest kernels are last in the list, and should not be left for one process alone.
    paths = [str(run.path) for run in reversed(runs) if not finished(run)]
    if not paths:
        return
    # Processes of their own in any case: threads of this one stay as they are, and a forked one
    # would inherit a graphics context and hang.
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(min(workers, len(paths)), context) as pool:
        for done in [pool.submit(_train, path) for path in paths]:
            done.result()


def curves(runs: list[Run]) -> NDArray[np.float64]:
    """Return the mean return of the population, (seeds, iterations)."""
    return np.stack([run.metrics()["mean_return"] for run in runs])


def draw(found: dict[str, NDArray[np.float64]], path: Path) -> Path:
    """Draw mean and standard deviation over seeds, one curve a kernel."""
    figure = new_figure(7.5, 4.6)
    axes = figure.add_subplot()
    for compared, color in zip(COMPARED, COLORS, strict=False):
        returns = found[compared.name]
        iterations = np.arange(1, returns.shape[1] + 1)
        mean, spread = returns.mean(0), returns.std(0)
        axes.plot(iterations, mean, color=color, label=compared.label)
        axes.fill_between(iterations, mean - spread, mean + spread, color=color, alpha=0.15, lw=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("ES iterations")
    axes.set_ylabel("mean return of the population")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, ncols=2)
    seeds = len(next(iter(found.values())))
    axes.set_title(f"IAP fig. 6: cheetah-run at 100x100, {seeds} seeds, shaded ±1 std")
    return save_figure(figure, path)


def reproduce(out: Path, budget: str, workers: int) -> Outcome:
    """Train what is missing under ``out`` and draw."""
    chosen = BUDGETS[budget]
    runs = {
        compared.name: [
            open_or_create(
                out / f"{budget}-runs" / f"{compared.name}-seed{seed}",
                config(compared, seed, chosen),
            )
            for seed in range(chosen.seeds)
        ]
        for compared in COMPARED
    }
    train_all([run for group in runs.values() for run in group], workers)
    found = {name: curves(group) for name, group in runs.items()}
    rows: list[dict[str, Any]] = [
        {"kernel": name, "seed": seed, "iteration": i + 1, "mean_return": float(value)}
        for name, returns in found.items()
        for seed, line in enumerate(returns)
        for i, value in enumerate(line)
    ]
    last = {
        name: {"mean": float(r[:, -1].mean()), "std": float(r[:, -1].std())}
        for name, r in found.items()
    }
    content = {
        "budget": budget, "seeds": chosen.seeds, "iterations": chosen.iterations,
        "timesteps_per_run": chosen.timesteps, "environment": ENV, "env_kwargs": VIEW,
        "seconds_of_training": {
            name: float(sum(run.metrics()["seconds"].sum() for run in group))
            for name, group in runs.items()
        },
        "last_iteration": last,
    }  # fmt: skip
    files = (
        draw(found, out / f"fig6_rewards_{budget}.png"),
        save_table(rows, out / f"fig6_rewards_{budget}.csv"),
        save_json(content, out / f"kernels_{budget}.json"),
    )
    lines = [
        f"{name:<12}last iteration {value['mean']:7.2f} ± {value['std']:.2f} "
        f"over {chosen.seeds} seeds"
        for name, value in last.items()
    ]
    return Outcome(tuple(lines), files)
