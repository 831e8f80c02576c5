"""``iap-gym watch``: film a trained agent with what it attends to, or remembers.

Of a robot its ways are drawn too, from above. Of a world model, draw sequences with what it
predicts and remembers, or film an agent that plans with it.
"""

from __future__ import annotations

import argparse

from iap_gym.cli import evaluate_planner
from iap_gym.cli.arguments import add_run, add_split, at_least

EPISODES, SEED = 1, 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand."""
    add_run(parser)
    add_split(parser)
    parser.add_argument(
        "--out",
        help="the film, an mp4 file; default: film.mp4 of the run; "
        "a robot's ways, from above, go to path.png of the run, or beside the film; of a world "
        "model a picture (png, svg, pdf), default: scenes.png",
    )
    parser.add_argument("--episodes", type=at_least(1), help=f"({EPISODES})")
    parser.add_argument(
        "--scores", action="store_true", help="also the scores of all patches as a heat map"
    )
    parser.add_argument(
        "--sampled", action="store_true", help="draw actions from the policy (ppo) in each step"
    )
    parser.add_argument("--seed", type=at_least(0), help=f"of the first episode ({SEED})")
    group = parser.add_argument_group("planning")
    group.add_argument(
        "--planner", choices=("icem",), help="film how the agent plans with a world model"
    )
    evaluate_planner.add_settings(group)


def run(arguments: argparse.Namespace) -> int:
    """Write the film."""
    from iap_gym.baselines.experiments.film import record
    from iap_gym.baselines.experiments.loading import has_splits
    from iap_gym.baselines.experiments.model_run import is_model_run
    from iap_gym.baselines.experiments.report import write_report
    from iap_gym.baselines.experiments.run import Run

    folder = Run.open(arguments.run)
    if arguments.planner is None:
        model = is_model_run(folder.path)
        for name in (*evaluate_planner.SETTINGS, *(("episodes", "seed") if model else ())):
            if getattr(arguments, name) is not None:
                raise ValueError(f"--{name}: expected --planner icem with it, and a world model")
    episodes = EPISODES if arguments.episodes is None else arguments.episodes
    seed = SEED if arguments.seed is None else arguments.seed
    if is_model_run(folder.path):
        return _draw_model(arguments, seed, episodes)
    if arguments.planner is not None:
        raise ValueError(f"--planner: expected a run of a world model, got {folder.path}")
    split = arguments.split or ("val" if has_splits(folder.config().env) else None)
    returns = record(
        folder,
        arguments.out,
        split,
        seed,
        episodes,
        arguments.scores,
        arguments.sampled,
    )
    if arguments.out is None:
        write_report(folder)
    print(f"{arguments.out or folder.film_file}: returns {', '.join(f'{r:.4g}' for r in returns)}")
    return 0


def _draw_model(arguments: argparse.Namespace, seed: int, episodes: int) -> int:
    from iap_gym.baselines.experiments.model_report import write_model_report
    from iap_gym.baselines.experiments.model_run import ModelRun
    from iap_gym.baselines.experiments.model_scenes import draw_scenes

    for name in ("split", "scores", "sampled"):
        if getattr(arguments, name):
            raise ValueError(f"--{name}: expected nothing beside a run of a world model")
    run = ModelRun.open(arguments.run)
    if arguments.planner is not None:
        from iap_gym.baselines.experiments.planner_film import record_planning

        settings = evaluate_planner.settings_of(arguments, run.config().env)
        returns = record_planning(run, arguments.out, seed, episodes, settings)
        text = f"{arguments.out or run.film_file}: returns {', '.join(f'{r:g}' for r in returns)}"
    else:
        draw_scenes(run, arguments.out or run.scenes_file)
        text = str(arguments.out or run.scenes_file)
    if arguments.out is None:
        write_model_report(run)
    print(text)
    return 0
