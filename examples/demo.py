"""Train an attention agent on a distracting pixel environment, and look at what it attends to.

    make demo                     the whole thing, a few minutes on two cores
    make demo BUDGET=smoke        only shows that every step runs

Each step below is one command of ``iap-gym`` and can be typed by hand. A demo that was stopped goes
on where it was; a finished one is evaluated and filmed again, not trained again.
"""

import argparse
import sys
from pathlib import Path

from iap_gym.baselines.experiments.run import Run
from iap_gym.cli.main import main as iap_gym

ENV = "iap_gym/DistractingWalkerWalk-v0"
VIEW = ["height=64", "width=64", "action_repeat=4", "render_quality=fast", "difficulty=medium"]
SELECTOR = ["patch_size=4", "num_selected=10", "d_qk=4", "kernel=relu", "pixel_offset=0.5"]
SEARCH = [
    "population_size=24",
    "sigma=0.5",
    "learning_rate=0.3",
    "weight_decay=0.0",
    "common_seeds=pair",
    "max_episode_steps=50",
]
BUDGETS = {"full": (80_000, 20), "smoke": (2_500, 2)}  # environment steps, evaluation episodes


def run(*words: str) -> None:
    """Print a command as it would be typed, and run it."""
    print("\n$ iap-gym", *words, flush=True)
    code = iap_gym(words)
    if code != 0:
        sys.exit(code)


def main() -> None:
    """Train, evaluate, film, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", choices=BUDGETS, default="full")
    parser.add_argument("--run", default="runs/demo", help="folder of the run")
    parser.add_argument("--seed", default="0", help="of the training")
    arguments = parser.parse_args()
    steps, episodes = BUDGETS[arguments.budget]
    folder = Path(arguments.run)
    if folder.exists():
        trained_for = Run.open(folder).config().total_timesteps
        run("train", "--resume", str(folder), "--timesteps", str(max(steps, trained_for)))
    else:
        run(
            *("train", "--algo", "es", "--env", ENV, "--policy", "LinearPolicy"),
            *("--timesteps", str(steps), "--seed", arguments.seed, "--workers", "2"),
            *("--env-kwargs", *VIEW),
            *("--selector", *SELECTOR),
            *("--algo-kwargs", *SEARCH),
            *("--run", str(folder)),
        )
    run("evaluate", str(folder), "--episodes", str(episodes), "--split", "val", "--workers", "2")
    run("watch", str(folder), "--split", "val")
    print(f"\nOpen {folder / 'report.html'}")


if __name__ == "__main__":
    main()
