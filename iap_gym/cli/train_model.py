"""``iap-gym train --algo world-model``: train world models into run folders, a seed each."""

from __future__ import annotations

import argparse
import dataclasses
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iap_gym.cli.arguments import at_least, pairs
from iap_gym.data.parts import all_cores

if TYPE_CHECKING:
    from iap_gym.baselines.experiments.model_run import ModelRun
    from iap_gym.baselines.world_model.config import ModelConfig

ALGO = "world-model"
# Its own options, and those of the others that it has no use for; None and [] are "not given".
OWN = ("seeds", "epochs", "data", "sequences", "test_sequences")
FOREIGN = (
    *("policy", "timesteps", "n_envs", "checkpoint_every", "eval_episodes", "eval_deterministic"),
    *("env_kwargs", "eval_env_kwargs", "selector", "preset", "start_from"),
)
# Fields of the config, and the options that they come from.
OPTIONS = {
    **{name: name for name in ("env", "core", "seed", "epochs", "data", "sequences")},
    "test_sequences": "test_sequences",
    "evaluate_every": "eval_every",
}
# What a run that goes on takes from its own config.
FIXED = (
    *("env", "core", "seed", "seeds", "sequences", "test_sequences", "eval_every", "run"),
    *("policy_kwargs", "algo_kwargs", "algo"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that no other algorithm has."""
    group = parser.add_argument_group("with --algo world-model")
    group.add_argument(
        "--seeds", type=at_least(1), help="so many runs from --seed on, side by side; default 1"
    )
    group.add_argument("--epochs", type=at_least(1), help="default: as published")
    group.add_argument(
        "--data",
        metavar="FOLDER",
        help="of data sets; what it lacks is made; default: data, with --resume that of the run",
    )
    group.add_argument(
        "--sequences", type=at_least(1), metavar="N", help="to train on; default: as published"
    )
    group.add_argument(
        "--test-sequences", type=at_least(1), metavar="N", help="at most, of each other set"
    )


def given(arguments: argparse.Namespace, names: tuple[str, ...]) -> str:
    """Return which of some options were given, as they are typed."""
    found = [name for name in names if getattr(arguments, name) not in (None, [])]
    return ", ".join(f"--{name.replace('_', '-')}" for name in found)


def run(arguments: argparse.Namespace) -> int:
    """Train, from nothing or from the newest checkpoints."""
    from iap_gym.baselines.experiments.model_curves import draw_model_curves
    from iap_gym.baselines.experiments.model_report import summary, write_model_report
    from iap_gym.baselines.experiments.model_scenes import draw_scenes
    from iap_gym.baselines.experiments.train_model import (
        RunsFailedError,
        train,
        train_side_by_side,
    )

    foreign = given(arguments, FOREIGN)
    if foreign:
        raise ValueError(f"--algo {ALGO}: expected no option of other algorithms, got {foreign}")
    runs = resumed(arguments) if arguments.resume else created(arguments)
    for folder in runs:
        print(f"run: {folder.path}", flush=True)
        if folder.diverged_file.is_file():
            how = folder.diverged_file.read_text("utf-8").strip()
            print(f"it diverged, and goes the same way from its checkpoint: {how}", flush=True)
    bar, begin, several = not arguments.no_progress, time.monotonic(), len(runs) > 1
    failed: RunsFailedError | None = None
    if several:
        try:
            train_side_by_side(runs, arguments.workers or all_cores(), bar)
        except RunsFailedError as error:  # is raised once the others are drawn
            failed = error
            runs = [folder for folder in runs if folder.path not in error.failures]
    else:
        train(runs[0], bar)
    seconds = time.monotonic() - begin
    for folder in runs:
        draw_model_curves([folder], folder.curve_file)
        draw_scenes(folder, folder.scenes_file)
        write_model_report(folder)
        print(f"{folder.path}: {summary(folder)}")
    if several and runs:
        picture = runs[0].path.parent / "curves.png"
        draw_model_curves(runs, picture)
        print(picture)
    print(f"{seconds:.0f} s in this call")
    if failed is not None:
        raise failed
    return 0


def resumed(arguments: argparse.Namespace) -> list[ModelRun]:
    """Open the run to go on with, or those of several seeds in a folder.

    Raises:
        FileNotFoundError: there is none.
        RunInUseError: another process trains one.
        ValueError: an option that their config decides, fewer epochs than are done, or a folder
            with other data sets.
    """
    from iap_gym.baselines.experiments.lock import in_use
    from iap_gym.baselines.experiments.model_run import runs_in
    from iap_gym.baselines.world_model.sets import check_data, load_sets

    fixed = given(arguments, FIXED)
    if fixed:
        raise ValueError(f"--resume: expected no option that the run's config decides, got {fixed}")
    runs = runs_in(arguments.resume)
    if not runs:
        raise FileNotFoundError(f"{arguments.resume} is no run of {ALGO}, and holds none")
    epochs: int | None = arguments.epochs
    changes = {} if epochs is None else {"epochs": epochs}
    if arguments.data is not None:
        changes["data"] = arguments.data
    configs: list[ModelConfig] = []
    for folder in runs:
        config = dataclasses.replace(folder.config(), **changes)
        if arguments.data is not None:
            if config.data_sha256 is None:
                raise ValueError(
                    f"--data: expected nothing, as {folder.path} does not know the checksums of "
                    "its data sets"
                )
            config = check_data(config, *load_sets(config, arguments.workers or all_cores()))
        configs.append(config)
        if epochs is None:
            continue
        done = folder.metrics()["epoch"][-1] if folder.metrics_file.is_file() else 0
        if epochs < done:
            raise ValueError(
                f"--epochs: expected at least the {done:.0f} that {folder.path} was trained for, "
                f"got {epochs}"
            )
    for folder, config in zip(runs, configs, strict=True):
        if config != folder.config():
            with in_use(folder):
                folder.write_config(config)
    return runs


def created(arguments: argparse.Namespace) -> list[ModelRun]:
    """Make the folders of new runs.

    Raises:
        ValueError: an argument that the config or the model refuses.
        FileExistsError: a folder is not empty.
    """
    from iap_gym.baselines.experiments.model_run import SEED_FOLDER, ModelRun
    from iap_gym.baselines.experiments.train_model import settle

    config = settle_config(arguments, settle)
    count = arguments.seeds or 1
    name = re.sub(r"\W+", "-", config.env.rpartition("/")[2])
    default = Path("runs") / f"{name}-{config.core}-{time.strftime('%Y%m%d-%H%M%S')}"
    path = Path(arguments.run or default)
    if count == 1:
        return [ModelRun.create(path, config)]
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(
            f"{path} exists already; name another folder with --run, or go on with --resume"
        )
    return [
        ModelRun.create(path / SEED_FOLDER.format(seed), dataclasses.replace(config, seed=seed))
        for seed in range(config.seed, config.seed + count)
    ]


def settle_config(arguments: argparse.Namespace, settle: Any) -> ModelConfig:
    """Return the config of the arguments, every one of which was tried.

    Raises:
        ValueError: one is refused.
    """
    from iap_gym.baselines.experiments.config import from_fields
    from iap_gym.baselines.world_model.config import ModelConfig

    if not arguments.env:
        raise ValueError("--env: expected the id of an environment (see iap-gym list), got nothing")
    options = {field: getattr(arguments, option) for field, option in OPTIONS.items()}
    fields: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    more = pairs("--algo-kwargs", arguments.algo_kwargs)
    for name in more:
        if name in (*OPTIONS, "algo", "model", "data_sha256"):
            raise ValueError(f"--algo-kwargs: expected no {name!r}, which has an option of its own")
    model = pairs("--policy-kwargs", arguments.policy_kwargs)
    fields |= {"model": model} | more
    try:
        return settle(from_fields(ModelConfig, fields), arguments.workers or all_cores())
    except ValueError as error:
        raise ValueError(_as_typed(str(error), model, more)) from None


def _as_typed(text: str, model: Collection[str], more: Collection[str]) -> str:
    """Name the option before the argument that an error is about."""
    name = re.split(r"\W", text, maxsplit=1)[0]
    if name in OPTIONS:
        return f"--{OPTIONS[name].replace('_', '-')}{text.removeprefix(name)}"
    if name == "model":
        return f"--policy-kwargs{text.removeprefix(name)}"
    for option, names in (("--policy-kwargs", model), ("--algo-kwargs", more)):
        if name in names:
            return f"{option}: {text}"
    return text
