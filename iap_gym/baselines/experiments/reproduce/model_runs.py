"""Train the runs of a comparison and plan with them, several side by side."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from iap_gym.baselines.experiments.evaluate import FIRST_SEED
from iap_gym.baselines.experiments.jobs import run_jobs
from iap_gym.baselines.experiments.lock import in_use
from iap_gym.baselines.experiments.model_run import SEED_FOLDER, ModelRun
from iap_gym.baselines.experiments.plan_episodes import (
    PlannedEpisodes,
    PlannedTask,
    load_planned,
    plan_episodes,
)
from iap_gym.baselines.experiments.reproduce.model_target import Arm
from iap_gym.baselines.experiments.train_model import (
    RunsFailedError,
    settle,
    train,
    train_side_by_side,
)
from iap_gym.baselines.planning.tasks import task_of
from iap_gym.baselines.world_model.config import ModelConfig
from iap_gym.baselines.world_model.training import DivergedError


def run_folder(runs: Path, arm: Arm, seed: int) -> Path:
    """Name the folder of a run."""
    return runs / re.sub(r"[^\w.]+", "-", arm.name) / SEED_FOLDER.format(seed)


def diverged(run: ModelRun) -> str | None:
    """Return how a run diverged, or None; trained again it would do the same."""
    file = run.diverged_file
    return file.read_text(encoding="utf-8").strip() if file.is_file() else None


def finished(run: ModelRun) -> bool:
    """Say whether a run has been trained to its end; weights are written last."""
    return run.weights_file.is_file() and diverged(run) is None


def _waits(run: ModelRun) -> bool:
    return not finished(run) and diverged(run) is None


def open_runs(
    wanted: dict[Path, ModelConfig], workers: int, *, make: bool = True
) -> list[ModelRun]:
    """Return the runs of folders.

    Args:
        wanted: what they are, or are to be, made from.
        workers: processes that make data sets.
        make: make runs where there are none, and their data sets.

    Raises:
        ValueError: a folder holds a run of other settings.
    """
    runs: list[ModelRun] = []
    tried: list[ModelConfig] = []
    for path, config in wanted.items():
        run = ModelRun(path)
        found = run.config() if run.config_file.is_file() else None
        if found is not None:
            others = _others(found, config)
            if others:
                raise ValueError(
                    f"--out: {path} holds a run of other settings ({', '.join(others)}); ask for "
                    "the same, or name another folder"
                )
            config = dataclasses.replace(config, data_sha256=found.data_sha256)
        if make and _waits(run):
            alike = dataclasses.replace(config, seed=0)
            if alike not in tried:  # its data are made, and its model too, before others train
                settle(config, workers)
                tried.append(alike)
            if found is None:
                run.write_config(config)
            elif found != config:  # the data lie elsewhere now
                with in_use(run):
                    run.write_config(config)
        runs.append(run)
    return runs


def _others(found: ModelConfig, wanted: ModelConfig) -> list[str]:
    """Return in what two configs differ, but for where data sets lie."""
    mine, other = found.to_json(), wanted.to_json()
    places = ("data", "data_sha256")
    apart = [name for name in mine if mine[name] != other[name] and name not in places]
    return [f"{name} {mine[name]}, not {other[name]}" for name in apart]


def train_all(runs: Sequence[ModelRun], workers: int) -> None:
    """Train what is not finished; a run that was killed goes on, one that diverges is left.

    Raises:
        RunsFailedError: a run failed for another reason, the others having gone on.
    """
    waiting, bar = [run for run in runs if _waits(run)], sys.stderr.isatty()
    if workers > 1 and len(waiting) > 1:
        try:
            train_side_by_side(waiting, workers, bar)
        except RunsFailedError as error:
            if not all(failure.diverged for failure in error.failures.values()):
                raise
        return
    for run in waiting:
        with contextlib.suppress(DivergedError):
            train(run, bar)


@dataclass(frozen=True)
class PlanJob:
    """Episodes of one planner, and where they are kept."""

    task: PlannedTask
    episodes: int
    file: str

    @property
    def seeds(self) -> range:
        """Of the episodes, the same for every planner."""
        return range(FIRST_SEED, FIRST_SEED + self.episodes)

    def play(self) -> PlannedEpisodes:
        """Play what the file has not."""
        return plan_episodes(self.task, self.seeds, file=self.file)

    def found(self) -> PlannedEpisodes | None:
        """Return the episodes if the file has all of them."""
        key, seeds = self.task.key(), self.seeds
        for planned in load_planned(Path(self.file)):
            if planned.key == key and set(seeds) <= set(planned.episodes):
                return PlannedEpisodes(key, {seed: planned.episodes[seed] for seed in seeds})
        return None


def plan_job(run: ModelRun, episodes: int) -> PlanJob:
    """Return the planning with a finished run."""
    config = run.config()
    settings = task_of(config.env).settings
    task = PlannedTask(config.env, settings, os.fspath(run.weights_file), config.variant)
    return PlanJob(task, episodes, os.fspath(run.planning_file))


def simulator_job(env: str, episodes: int, file: Path) -> PlanJob:
    """Return the planning with the true simulator, on the same episodes."""
    return PlanJob(PlannedTask(env, task_of(env).settings), episodes, os.fspath(file))


def plan_all(jobs: Sequence[PlanJob], workers: int) -> None:
    """Play what is missing, a job a process."""
    missing = [job for job in jobs if job.found() is None]
    with tqdm(total=len(missing), unit="run", desc="planning", disable=None) as bar:
        for _ in run_jobs(PlanJob.play, missing, workers):
            bar.update()
