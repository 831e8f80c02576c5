"""Run a comparison of world models: train, plan, measure, and write what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from iap_gym import _checks
from iap_gym._files import write_text
from iap_gym.baselines.experiments.model_curves import draw_model_curves
from iap_gym.baselines.experiments.model_report import write_model_report
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.model_scenes import draw_scenes
from iap_gym.baselines.experiments.plan_episodes import PlannedEpisodes
from iap_gym.baselines.experiments.reproduce.model_figure import draw
from iap_gym.baselines.experiments.reproduce.model_results import Lost, Result, measure
from iap_gym.baselines.experiments.reproduce.model_runs import (
    diverged,
    finished,
    open_runs,
    plan_all,
    plan_job,
    run_folder,
    simulator_job,
    train_all,
)
from iap_gym.baselines.experiments.reproduce.model_table import numbers_json, table
from iap_gym.baselines.experiments.reproduce.model_target import Arm, Budget, Target
from iap_gym.baselines.experiments.reproduce.output import Outcome, save_json, save_table

Comparison = Callable[..., Outcome]


def comparison(target: Target, budgets: Mapping[str, Budget]) -> Comparison:
    """Return the function ``reproduce`` of a target."""

    def reproduce(
        out: Path,
        budget: str,
        workers: int,
        *,
        seeds: int | None = None,
        epochs: int | None = None,
        also: Sequence[str] = (),
        cores: Sequence[str] | None = None,
        data: str = "data",
        train: bool = True,
    ) -> Outcome:
        """Train what is missing under ``out``, and write a figure and a table of what is there.

        Args:
            out: folder.
            budget: its name.
            workers: processes; no result depends on it.
            seeds: of each arm, other than the budget's.
            epochs: of each arm, other than the budget's.
            also: options that add arms.
            cores: of the arms; None is all.
            data: folder of data sets.
            train: whether to train and plan, or to show only what is finished.

        Raises:
            RuntimeError: all runs diverged, or one failed for another reason.
            ValueError: an unknown option or core, or runs of other settings under ``out``.
        """
        for name in also:
            _checks.one_of("also", name, target.also)
        known = {arm.core for arm in target.arms}
        for core in cores or ():
            _checks.one_of("cores", core, sorted(known))
        arms = [
            arm
            for arm in target.arms
            if (arm.also is None or arm.also in also) and (cores is None or arm.core in cores)
        ]
        chosen = budgets[budget]
        count = seeds or chosen.seeds
        folder = out / f"{budget}-runs"
        # all arms of a seed before the next seed, so that what is there can be compared early
        places = {
            run_folder(folder, arm, seed): (arm, target.config(arm, chosen, seed, data, epochs))
            for seed in range(count)
            for arm in arms
        }
        wanted = {path: config for path, (_, config) in places.items()}
        if not train:
            wanted = {path: config for path, config in wanted.items() if path.is_dir()}
        runs = open_runs(wanted, workers, make=train)
        if train:
            train_all(runs, workers)
        lost = [
            Lost(places[run.path][0], run.config().seed, reason)
            for run in runs
            if (reason := diverged(run)) is not None
        ]
        runs = [run for run in runs if finished(run)]
        if lost and not runs:
            raise RuntimeError(f"all of {len(lost)} runs diverged; {lost[0]}")
        if not runs:
            raise ValueError(f"--report: expected finished runs in {folder}, found none")
        episodes = chosen.episodes
        jobs = {run.path: plan_job(run, episodes) for run in runs} if target.plans else {}
        truth = None
        if target.plans:
            truth = simulator_job(target.env, episodes, out / f"true-simulator-{budget}.json")
            if train:
                plan_all([truth, *jobs.values()], workers)
        for run in runs:
            if run.config().seed == 0 and not run.report_file.is_file():
                _picture(run)
        results = [measure(target, places[r.path][0], r, jobs.get(r.path)) for r in runs]
        bound = None if truth is None else truth.found()
        return _write(target, budget, out, arms, results, lost, bound)

    return reproduce


def _picture(run: ModelRun) -> None:
    """Draw what a finished run learnt, and write its page."""
    draw_model_curves([run], run.curve_file)
    draw_scenes(run, run.scenes_file)
    write_model_report(run)


def _write(
    target: Target,
    budget: str,
    out: Path,
    arms: Sequence[Arm],
    results: Sequence[Result],
    lost: Sequence[Lost],
    bound: PlannedEpisodes | None,
) -> Outcome:
    stem = f"{target.name}-{budget}"
    text = table(target, budget, arms, results, bound, lost)
    rows = [
        {
            "arm": result.arm.name,
            "seed": result.seed,
            **{m.name: result.numbers.get(m.name) for m in target.measures},
            "minutes": result.numbers["minutes"],
        }
        for result in results
    ]
    write_text(out / f"{stem}.md", text)
    files = (
        draw(target, budget, arms, results, bound, out / f"{stem}.png"),
        out / f"{stem}.md",
        save_table(rows, out / f"{stem}.csv"),
        save_json(numbers_json(target, arms, results, bound, lost), out / f"{stem}.json"),
    )
    return Outcome(tuple(text.splitlines()), files, tuple(map(str, lost)))
