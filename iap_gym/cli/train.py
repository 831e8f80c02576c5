"""``iap-gym train``: train an agent into a run folder."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Any

from iap_gym._optional import require
from iap_gym.cli.arguments import add_pairs, at_least

POLICIES = ("LinearPolicy", "MlpPolicy", "LstmPolicy")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("--env", help="id of the environment")
    parser.add_argument("--algo", default="es", choices=("es",), help="es: evolution strategies")
    parser.add_argument("--policy", default="LinearPolicy", choices=POLICIES, help="controller")
    parser.add_argument(
        "--timesteps", type=at_least(1), default=1_000_000, help="environment steps (%(default)s)"
    )
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument(
        "--workers", type=at_least(1), default=1, help="processes; the result is the same"
    )
    add_pairs(parser, "--env-kwargs", "arguments of the environment, such as height=64")
    add_pairs(parser, "--selector", "arguments of the PatchSelector, such as patch_size=4")
    add_pairs(parser, "--policy-kwargs", "other arguments of the policy, such as hidden_size=16")
    add_pairs(parser, "--algo-kwargs", "arguments of the algorithm, such as population_size=32")
    parser.add_argument("--run", help="folder of the run; default: a new one under runs/")
    parser.add_argument("--resume", metavar="RUN", help="go on with a run that was stopped")
    parser.add_argument("--no-progress", action="store_true", help="no progress bar")


def run(arguments: argparse.Namespace) -> int:
    """Train, from nothing or from the newest checkpoint."""
    require("torch", "baselines")
    require("tensorboard", "baselines")
    from iap_gym.baselines.experiments.config import TrainConfig
    from iap_gym.baselines.experiments.curves import draw_curves
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.run import Run
    from iap_gym.baselines.experiments.train import build, train

    if arguments.resume:
        folder = Run.open(arguments.resume)
    elif not arguments.env:
        raise ValueError("--env: expected the id of an environment (see iap-gym list), got nothing")
    else:
        policy_kwargs: dict[str, Any] = dict(arguments.policy_kwargs)
        if arguments.selector:
            policy_kwargs["selector"] = dict(arguments.selector)
        config = TrainConfig(
            env=arguments.env,
            algo=arguments.algo,
            policy=arguments.policy,
            total_timesteps=arguments.timesteps,
            seed=arguments.seed,
            workers=arguments.workers,
            env_kwargs=dict(arguments.env_kwargs),
            policy_kwargs=policy_kwargs,
            algo_kwargs=dict(arguments.algo_kwargs),
        )
        build(config).close()  # a wrong argument is refused before a folder is made
        folder = Run.create(arguments.run or default_folder(arguments.env), config)
    print(f"run: {folder.path}")
    seconds = train(folder, progress=not arguments.no_progress and sys.stderr.isatty())
    draw_curves([folder], folder.curve_file)
    write_report(folder)
    metrics = folder.metrics()
    print(
        f"{int(metrics['timesteps'][-1])} steps in {len(metrics['timesteps'])} generations; "
        f"mean return of the last {metrics['mean_return'][-1]:.1f}; {seconds:.0f} s now"
    )
    return 0


def default_folder(env_id: str) -> Path:
    """Name a new run folder after the environment and the time."""
    name = re.sub(r"\W+", "-", env_id.rpartition("/")[2])
    return Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
