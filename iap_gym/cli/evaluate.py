"""``iap-gym evaluate``: a trained agent beside the random, the zero and the blind one.

With ``--planner``, what planning with a world model reaches.
"""

from __future__ import annotations

import argparse

from iap_gym.cli import evaluate_planner
from iap_gym.cli.arguments import add_pairs, at_least, pairs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("run", metavar="RUN", nargs="?", help="a run folder, made by iap-gym train")
    parser.add_argument("--episodes", type=at_least(1), default=20, help="(%(default)s)")
    parser.add_argument(
        "--split",
        choices=("train", "val", "both"),
        help="backgrounds: those of training, or others; default: both where there are any",
    )
    parser.add_argument(
        "--first-seed", type=at_least(0), default=1_000_000, help="of the episodes (%(default)s)"
    )
    parser.add_argument("--workers", type=at_least(1), default=1, help="processes that play")
    parser.add_argument(
        "--sampled", action="store_true", help="draw actions from the policy (ppo) in each step"
    )
    parser.add_argument(
        "--agents",
        nargs="+",
        metavar="AGENT",
        help="those beside the trained one: random, zero, blind, or none; default: all three",
    )
    parser.add_argument(
        "--env",
        metavar="ID",
        help="play in another environment with the same spaces; with --planner, plan there",
    )
    add_pairs(parser, "--env-kwargs", "arguments of the environment other than in training")
    evaluate_planner.add_arguments(parser)


def compared(agents: list[str] | None) -> list[str]:
    """Return what plays beside the trained agent.

    Raises:
        ValueError: an unknown agent, or "none" beside others.
    """
    from iap_gym.baselines.experiments.evaluate import KINDS

    if agents is None:
        return list(KINDS)
    if agents == ["none"]:
        return []
    others = [kind for kind in KINDS if kind != "trained"]
    for agent in agents:
        if agent not in others:
            raise ValueError(
                f"--agents: expected some of {', '.join(others)}, or none, got {agent!r}"
            )
    return agents


def run(arguments: argparse.Namespace) -> int:
    """Play, print a table a split, and keep the numbers in the run folder."""
    if arguments.planner is not None:
        return evaluate_planner.run(arguments)
    for name in evaluate_planner.OWN:
        if getattr(arguments, name):
            raise ValueError(f"--{name.replace('_', '-')}: expected --planner beside it")
    if arguments.run is None:
        raise ValueError("RUN: expected a run folder, got nothing")
    from iap_gym.baselines.experiments.model_run import is_model_run

    if is_model_run(arguments.run):
        raise ValueError(f"{arguments.run} is of a world model: expected --planner icem beside it")

    from iap_gym.baselines.experiments import evaluate as evaluation
    from iap_gym.baselines.experiments.loading import SPLITS, has_splits
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.run import Run

    folder = Run.open(arguments.run)
    # A damaged folder is better found before the episodes than after.
    folder.metrics()
    evaluation.load_evaluations(folder)
    if arguments.split in SPLITS:
        splits: tuple[str | None, ...] = (arguments.split,)
    else:
        env_id = arguments.env or folder.config().env
        splits = SPLITS if has_splits(env_id) else (None,)
        if arguments.split == "both" and splits == (None,):
            raise ValueError(f"--split: {env_id} has no train and val backgrounds")
    done: list[evaluation.Evaluation] = []
    for split in splits:
        result = evaluation.evaluate(
            folder,
            arguments.episodes,
            split,
            first_seed=arguments.first_seed,
            kinds=compared(arguments.agents),
            workers=arguments.workers,
            sampled=arguments.sampled,
            env=arguments.env,
            env_kwargs=pairs("--env-kwargs", arguments.env_kwargs),
        )
        print(evaluation.table(result), flush=True)
        done.append(result)
    evaluation.save_evaluations(folder, done)
    write_report(folder)
    return 0
