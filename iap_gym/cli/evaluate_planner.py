"""``iap-gym evaluate --planner icem``: success of planning with a model or the true simulator."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from iap_gym.cli.arguments import at_least

if TYPE_CHECKING:
    from iap_gym.baselines.experiments.model_run import ModelRun
    from iap_gym.baselines.planning.settings import PlannerSettings

SETTINGS = {"horizon": "horizon", "samples": "num_samples"}  # options of planning, and fields
# Options that only planning has, and those that only agents have.
OWN = (*SETTINGS, "true_simulator")
FOREIGN = ("split", "sampled", "env_kwargs", "agents")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of planning."""
    group = parser.add_argument_group("planning")
    group.add_argument(
        "--planner",
        choices=("icem",),
        help="plan with the world model of RUN; without RUN, with --env, on the true simulator",
    )
    group.add_argument(
        "--true-simulator", action="store_true", help="plan on the true simulator even with RUN"
    )
    add_settings(group)


def add_settings(parser: argparse._ActionsContainer) -> None:
    """Add the options that change how is planned."""
    parser.add_argument("--horizon", type=at_least(1), help="steps of a plan; default as published")
    parser.add_argument("--samples", type=at_least(2), help="plans of an iteration; default 256")


def settings_of(arguments: argparse.Namespace, env: str) -> PlannerSettings:
    """Return how is planned in an environment, changed by the options.

    Raises:
        ValueError: nothing is planned there.
    """
    from iap_gym.baselines.planning.tasks import task_of

    given = {field: getattr(arguments, option) for option, field in SETTINGS.items()}
    chosen = {field: value for field, value in given.items() if value is not None}
    return dataclasses.replace(task_of(env).settings, **chosen)


def run(arguments: argparse.Namespace) -> int:
    """Plan episodes, print the share of successes, and keep the numbers in the run folder."""
    from iap_gym.baselines.experiments.model_report import write_model_report
    from iap_gym.baselines.experiments.plan_episodes import PlannedTask, plan_episodes

    folder, env, variant = _place(arguments)
    settings = settings_of(arguments, env)
    weights: Path | None = None
    if folder is not None and not arguments.true_simulator:
        weights = folder.weights_file
        if not weights.is_file():
            raise FileNotFoundError(f"{folder.path} has no {weights.name} yet; train it first")
    planned = PlannedTask(env, settings, None if weights is None else str(weights), variant)
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.episodes)
    file = None if folder is None else folder.planning_file
    with tqdm(total=len(seeds), unit="episode", disable=None, leave=False) as bar:
        found = plan_episodes(planned, seeds, arguments.workers, file, bar.update)
    by = "the true simulator" if weights is None else f"the model of {arguments.run}"
    steps = "" if found.steps is None else f", {found.steps:.1f} steps where it succeeded"
    print(
        f"{env}, iCEM on {by}: horizon {settings.horizon}, {settings.num_samples} samples, "
        f"radii times {found.key['radius_factor']:g}, at most {settings.steps} steps"
    )
    print(f"success {found.success} of {len(seeds)} episodes{steps}")
    if folder is not None:
        write_model_report(folder)
    return 0


def _place(arguments: argparse.Namespace) -> tuple[ModelRun | None, str, str]:
    """Return the run, if there is one, the environment's id and the variant of its world.

    Raises:
        ValueError: options that do not go together.
        FileNotFoundError: there is no run.
    """
    from iap_gym.baselines.experiments.model_run import ModelRun

    foreign = [name for name in FOREIGN if getattr(arguments, name) not in (None, False, [])]
    if foreign:
        given = ", ".join(f"--{name.replace('_', '-')}" for name in foreign)
        raise ValueError(f"--planner: expected no option of trained agents, got {given}")
    if arguments.run is None:
        if arguments.env is None:
            raise ValueError("RUN: expected a run of a world model or --env ID, got nothing")
        return None, arguments.env, "code"
    if arguments.env is not None:
        raise ValueError("--env: expected RUN or --env, got both")
    folder = ModelRun.open(arguments.run)
    config = folder.config()
    return folder, config.env, config.variant
