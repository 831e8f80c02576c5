"""``iap-gym train``: train an agent into a run folder."""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iap_gym.baselines.presets import PRESETS
from iap_gym.cli import train_model
from iap_gym.cli.arguments import add_pairs, at_least, pairs

if TYPE_CHECKING:
    from iap_gym.baselines.experiments.run import Run

# What a run that goes on takes from its own config; None and [] say that it was not given.
FIXED = (
    *("env", "algo", "core", "policy", "seed", "n_envs", "checkpoint_every"),
    *("eval_every", "eval_episodes", "eval_deterministic", "run", "preset", "start_from"),
)
FIXED_PAIRS = ("env_kwargs", "selector", "policy_kwargs", "algo_kwargs", "eval_env_kwargs")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("--env", help="id of the environment")
    parser.add_argument(
        "--preset",
        metavar="NAME",
        help="settings by name, which the other options change: " + ", ".join(PRESETS),
    )
    parser.add_argument(
        "--algo",
        choices=("es", "ppo", train_model.ALGO),
        help="es: evolution strategies (default); ppo: PPO with a recurrent core; world-model: "
        "predict observations from actions, of the planar worlds and Fetch",
    )
    parser.add_argument(
        "--policy",
        help="es: LinearPolicy (default), MlpPolicy, LstmPolicy, CnnPolicy, HierarchicalPolicy; "
        "ppo: MlpCorePolicy, CnnCorePolicy or MultiInputCorePolicy, by default what suits the "
        "observations",
    )
    parser.add_argument(
        "--timesteps", type=at_least(1), help="environment steps in all; default 1,000,000"
    )
    parser.add_argument("--seed", type=at_least(0), help="default 0")
    parser.add_argument("--workers", type=at_least(1), help="processes; the result is the same")
    parser.add_argument(
        "--eval-every",
        type=at_least(1),
        metavar="STEPS",
        help="play a fixed set of episodes after so many steps, and at the end; es then keeps the "
        "best generation; default never; world-model: epochs between evaluations, default 100",
    )
    parser.add_argument(
        "--eval-episodes", type=at_least(1), metavar="N", help="episodes of the set; default 100"
    )
    es = parser.add_argument_group("with --algo es")
    es.add_argument(
        "--start-from",
        nargs="+",
        metavar="RUN",
        help="begin with the weights of a run, or of files of it; high=RUN low=RUN for the levels "
        "of a hierarchy, one or both",
    )
    ppo = parser.add_argument_group("with --algo ppo")
    ppo.add_argument(
        "--core",
        help="gatel0rd (default), lstm, gru, elman or clockwork; world-model takes it too",
    )
    ppo.add_argument(
        "--n-envs", type=at_least(1), help="environments side by side; default 8, MiniGrid 16"
    )
    ppo.add_argument(
        "--checkpoint-every",
        type=at_least(1),
        metavar="UPDATES",
        help="save, and begin the episodes anew, after so many updates; default 20",
    )
    ppo.add_argument(
        "--eval-deterministic",
        action="store_true",
        default=None,
        help="take the most probable actions in them instead of sampled ones",
    )
    train_model.add_arguments(parser)
    add_pairs(parser, "--env-kwargs", "arguments of the environment, such as height=64")
    add_pairs(parser, "--eval-env-kwargs", "those that differ in evaluations, es only")
    add_pairs(parser, "--selector", "arguments of the PatchSelector, such as patch_size=4")
    add_pairs(
        parser,
        "--policy-kwargs",
        "other arguments of the policy, or of the world model, such as hidden_size=16",
    )
    add_pairs(
        parser,
        "--algo-kwargs",
        "arguments of the algorithm, such as population_size=32 or learning_rate=0.001",
    )
    parser.add_argument("--run", help="folder of the run; default: a new one under runs/")
    parser.add_argument(
        "--resume",
        metavar="RUN",
        help="go on with a run, to more --timesteps or with other --workers if given",
    )
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Train, from nothing or from the newest checkpoint."""
    if of_world_model(arguments):
        return train_model.run(arguments)
    own = train_model.given(arguments, train_model.OWN)
    if own:
        raise ValueError(f"{own}: expected --algo {train_model.ALGO} beside it, got another")

    from iap_gym.baselines.experiments.curves import draw_curves
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.train import train

    folder = resumed(arguments) if arguments.resume else created(arguments)
    print(f"run: {folder.path}", flush=True)
    seconds = train(folder, progress=not arguments.no_progress)
    draw_curves([folder], folder.curve_file)
    write_report(folder)
    print(f"{summary(folder)}; {seconds:.0f} s in this call")
    return 0


def of_world_model(arguments: argparse.Namespace) -> bool:
    """Say whether a world model is to be trained, or to go on being trained."""
    if not arguments.resume:
        return arguments.algo == train_model.ALGO
    from iap_gym.baselines.experiments.model_run import runs_in

    return bool(runs_in(arguments.resume))


def summary(folder: Run) -> str:
    """Say in a line what a run has reached."""
    metrics = folder.metrics()
    steps, count = int(metrics["timesteps"][-1]), len(metrics["timesteps"])
    if folder.config().algo == "es":
        mean = metrics["mean_return"][-1]
        text = f"{steps} steps in {count} generations; mean return of the last {mean:.1f}"
        if folder.evaluations_file.is_file():
            played = folder.evaluations()
            best, episodes = played["mean_return"].max(), played["episodes"][-1]
            text += f"; best in {episodes:.0f} episodes {best:.2f}"
        return text
    mean = metrics["mean_return"][-1]
    reached = "no episode ended yet" if math.isnan(mean) else f"mean return {mean:.3g}"
    text = f"{steps} steps in {count} updates; {reached}"
    if folder.evaluations_file.is_file():
        last = {name: column[-1] for name, column in folder.evaluations().items()}
        text = f"{steps} steps in {count} updates; in {last['episodes']:.0f} episodes mean return "
        text += f"{last['mean_return']:.3g}"
        for name in ("success_rate", "gate_rate"):
            if not math.isnan(last[name]):
                text += f", {name.replace('_', ' ')} {last[name]:.3g}"
    return text


def resumed(arguments: argparse.Namespace) -> Run:
    """Open the run to go on with.

    Raises:
        FileNotFoundError: it is no run.
        ValueError: an option that its config decides.
    """
    from iap_gym.baselines.experiments.lock import in_use
    from iap_gym.baselines.experiments.run import Run

    given = [name for name in FIXED if getattr(arguments, name) is not None]
    given += [name for name in FIXED_PAIRS if getattr(arguments, name)]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ValueError(
            f"--resume: expected no option that the run's config decides, got {options}"
        )
    folder = Run.open(arguments.resume)
    done = folder.metrics()["timesteps"][-1] if folder.metrics_file.is_file() else 0
    if done and not folder.checkpoint_file.is_file():
        raise ValueError(
            f"--resume: {folder.path} was trained for {done:.0f} steps, but its "
            f"{folder.checkpoint_file.name} is gone"
        )
    if arguments.timesteps is not None and arguments.timesteps < done:
        raise ValueError(
            f"--timesteps: expected at least the {done:.0f} steps that {folder.path} was trained "
            f"for, got {arguments.timesteps}"
        )
    changes = {"total_timesteps": arguments.timesteps, "workers": arguments.workers}
    changes = {name: value for name, value in changes.items() if value is not None}
    if changes:
        with in_use(folder):
            folder.write_config(dataclasses.replace(folder.config(), **changes))
    return folder


def created(arguments: argparse.Namespace) -> Run:
    """Make the folder of a new run.

    Raises:
        ValueError: an argument that the environment, the policy or the algorithm refuses.
        FileExistsError: the folder is not empty.
    """
    from iap_gym.baselines.experiments.config import TrainConfig
    from iap_gym.baselines.experiments.run import Run
    from iap_gym.baselines.experiments.train import settle
    from iap_gym.baselines.presets import training

    fields: dict[str, Any] = training(arguments.preset) if arguments.preset else {}
    if fields and arguments.algo not in (None, "es"):
        wanted = f"es beside --preset {arguments.preset}"
        raise ValueError(f"--algo: expected {wanted}, got {arguments.algo}")
    env = arguments.env or fields.pop("env", None)
    if not env:
        raise ValueError("--env: expected the id of an environment (see iap-gym list), got nothing")
    given: dict[str, Any] = {
        "env": env,
        "algo": arguments.algo,
        "policy": arguments.policy,
        "core": arguments.core,
        "total_timesteps": arguments.timesteps,
        "seed": arguments.seed,
        "workers": arguments.workers,
        "checkpoint_every": arguments.checkpoint_every,
        "eval_every": arguments.eval_every,
        "eval_episodes": arguments.eval_episodes,
        "eval_sampled": False if arguments.eval_deterministic else None,
        "start_from": parts(arguments.start_from),
    }
    fields |= {name: value for name, value in given.items() if value is not None}
    for name in ("eval_episodes", "eval_deterministic"):
        if getattr(arguments, name) is not None and fields.get("eval_every") is None:
            option = f"--{name.replace('_', '-')}"
            raise ValueError(f"{option}: expected --eval-every STEPS beside it, got nothing")
    algo_kwargs = pairs("--algo-kwargs", arguments.algo_kwargs)
    if arguments.n_envs is not None:
        if "n_envs" in algo_kwargs:
            raise ValueError("--algo-kwargs: expected no n_envs beside --n-envs, got both")
        algo_kwargs["n_envs"] = arguments.n_envs
    policy_kwargs = pairs("--policy-kwargs", arguments.policy_kwargs)
    if arguments.selector:
        if "selector" in policy_kwargs:
            raise ValueError("--policy-kwargs: expected no selector beside --selector, got both")
        preset = fields.get("policy_kwargs", {}).get("selector", {})
        policy_kwargs["selector"] = {**preset, **pairs("--selector", arguments.selector)}
    changes = {
        "env_kwargs": pairs("--env-kwargs", arguments.env_kwargs),
        "eval_env_kwargs": pairs("--eval-env-kwargs", arguments.eval_env_kwargs),
        "policy_kwargs": policy_kwargs,
        "algo_kwargs": algo_kwargs,
    }
    # What a preset changes for its evaluations follows what is said of the environment.
    evaluations = fields.get("eval_env_kwargs", {})
    for name in evaluations.keys() & changes["env_kwargs"].keys():
        evaluations = merged(evaluations, {name: changes["env_kwargs"][name]})
    fields["eval_env_kwargs"] = evaluations
    fields["policy_kwargs"] = taken(fields.get("policy_kwargs", {}), policy_kwargs.get("high"))
    fields |= {name: merged(fields.get(name, {}), values) for name, values in changes.items()}
    config = TrainConfig(**fields)
    try:
        config = settle(config)  # a wrong argument is refused before a folder is made
    except TypeError as error:  # what Python says of a keyword that a function does not take
        options = "--env-kwargs, --eval-env-kwargs, --policy-kwargs or --algo-kwargs"
        raise ValueError(f"{options}: {error}") from error
    except ModuleNotFoundError as error:
        module = config.env.rpartition(":")[0]
        if not module or error.name != module.partition(".")[0]:
            raise
        raise ValueError(
            f"--env: expected module:id with a module that can be imported, got {config.env!r}"
        ) from error
    return Run.create(arguments.run or default_folder(arguments.preset or env), config)


def taken(settings: dict[str, Any], high: Any) -> dict[str, Any]:
    """Return what of a preset's arguments of a policy another high level takes as well."""
    if high is None:
        return settings
    from iap_gym.baselines.evolution.arguments import keyword_names
    from iap_gym.baselines.evolution.hierarchy import HierarchicalPolicy
    from iap_gym.baselines.evolution.networks import NETWORKS

    if high not in NETWORKS or high == settings.get("high"):
        return settings
    known = keyword_names(HierarchicalPolicy) | keyword_names(NETWORKS[high])
    return {name: value for name, value in settings.items() if name in known}


def merged(settings: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return settings with changes, key by key; a dict in the place of a dict changes it."""
    result = {**settings, **changes}
    for name in settings.keys() & changes.keys():
        if isinstance(settings[name], dict) and isinstance(changes[name], dict):
            result[name] = {**settings[name], **changes[name]}
    return result


def parts(words: list[str] | None) -> str | dict[str, str] | None:
    """Read what --start-from was given: one path, or a path for each named level.

    Raises:
        ValueError: neither.
    """
    if words is None:
        return None
    found = [re.fullmatch(r"(high|low)=(.+)", word) for word in words]
    if not any(found) and len(words) == 1:
        return words[0]
    levels = {match[1]: match[2] for match in found if match}
    if len(levels) < len(words):
        wanted = "one RUN, or high=RUN and low=RUN, each once"
        raise ValueError(f"--start-from: expected {wanted}, got {' '.join(words)}")
    return levels


def default_folder(name: str) -> Path:
    """Name a new run folder after the preset or the environment, and the time."""
    name = re.sub(r"\W+", "-", name.rpartition("/")[2])
    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
