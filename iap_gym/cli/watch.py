"""``iap-gym watch``: film a trained agent with what it attends to, or remembers.

Of a robot its ways are drawn too, from above.
"""

from __future__ import annotations

import argparse

from iap_gym.cli.arguments import add_run, add_split, at_least


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_run(parser)
    add_split(parser)
    parser.add_argument(
        "--out",
        help="the film, an mp4 file; default: film.mp4 of the run; "
        "a robot's ways, from above, go to path.png of the run, or beside the film",
    )
    parser.add_argument("--episodes", type=at_least(1), default=1, help="(%(default)s)")
    parser.add_argument(
        "--scores", action="store_true", help="also the scores of all patches as a heat map"
    )
    parser.add_argument(
        "--sampled", action="store_true", help="draw actions from the policy (ppo) in each step"
    )
    parser.add_argument("--seed", type=at_least(0), default=1_000_000, help="of the first episode")


def run(arguments: argparse.Namespace) -> int:
    """Write the film."""
    from iap_gym.baselines.experiments.film import record
    from iap_gym.baselines.experiments.loading import has_splits
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.run import Run

    folder = Run.open(arguments.run)
    split = arguments.split or ("val" if has_splits(folder.config().env) else None)
    returns = record(
        folder,
        arguments.out,
        split,
        arguments.seed,
        arguments.episodes,
        arguments.scores,
        arguments.sampled,
    )
    if arguments.out is None:
        write_report(folder)
    print(f"{arguments.out or folder.film_file}: returns {', '.join(f'{r:.4g}' for r in returns)}")
    return 0
