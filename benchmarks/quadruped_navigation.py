"""Success and SPL of walkers, and of trained policies, over seeded apartments.

    python benchmarks/quadruped_navigation.py
    python benchmarks/quadruped_navigation.py --policy runs/navigation --policy runs/other
    python benchmarks/quadruped_navigation.py --policy runs/navigation --ship
    python benchmarks/quadruped_navigation.py --policy quadruped-navigation --blind

Each episode has a seed: the same apartment, start and goal for everyone, drawn by none in training,
whose seeds have 31 bits. "random" walks random curves, "straight" turns to the goal whatever is in
between, "oracle" follows the shortest way, which it is told. Policies are runs of `iap-gym train`
or come with the package; walkers then take the scenes and goals of the first one's configuration.
--blind plays each policy once more with nothing in sight: all depths are the largest. --ship puts
the first policy among those that come with the package.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from _common import circumstances

import iap_gym  # noqa: F401 (registers the ids)
from iap_gym._files import write_text
from iap_gym.baselines.evolution.rollout import Actor, run_episode
from iap_gym.baselines.experiments.agents import LastInfo
from iap_gym.baselines.experiments.loading import load_agent
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.statistics import bootstrap_mean
from iap_gym.baselines.quadruped.pretrained import PRETRAINED, add_pretrained, load_pretrained
from iap_gym.envs.quadruped.navigation_metrics import Outcome, spl, success_rate
from iap_gym.envs.quadruped.navigation_walkers import (
    Walker,
    oracle_walker,
    random_walker,
    straight_walker,
)

ENV = "iap_gym/QuadrupedNavigation-v0"
# Settings of the task that walkers share with a policy.
TASK = ("scene", "goal_distance", "goal_radius", "different_rooms", "start_yaw", "episode_steps")
WALKERS: dict[str, Callable[[gymnasium.Env[Any, Any], int], Walker]] = {
    "random": lambda env, seed: random_walker(np.random.default_rng(seed)),
    "straight": lambda env, seed: straight_walker(),
    "oracle": lambda env, seed: oracle_walker(env),
}
# What made the policy that comes with the package.
COMMAND = "iap-gym train --preset quadruped-navigation --run runs/navigation"
BLIND = ", blind"
RESULTS = Path(__file__).parent / "results"


class Blind(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Shows a picture in which everything is out of sight."""

    def observation(self, observation: Any) -> Any:
        """Return the observation with depths of 1."""
        return {**observation, "depth": np.ones_like(observation["depth"])}


class WalkerActor:
    """A walker as something that acts on a batch of one."""

    def __init__(self, walker: Walker) -> None:
        self._walker = walker

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[Any, Any]:
        """Return the walker's action for the one observation."""
        return self._walker({key: batch[0] for key, batch in observations.items()})[None], None


def play(who: str, task: dict[str, Any], seeds: Sequence[int]) -> list[tuple[float, Outcome]]:
    """Play an episode of each seed.

    Args:
        who: a walker, or the folder of a run.
        task: arguments of the environment for walkers.
        seeds: of the episodes.

    Returns:
        Return and outcome of each.
    """
    name = who.removesuffix(BLIND)
    if name in WALKERS:
        env: Any = gymnasium.make(ENV, camera=False, **task)
    else:
        env = gymnasium.make(ENV, **configured(name))
    env = LastInfo(env if name == who else Blind(env))
    try:
        results: list[tuple[float, Outcome]] = []
        trained: Actor | None = None
        if name in PRETRAINED:
            trained = load_pretrained(name).policy
        elif name not in WALKERS:
            trained = load_agent(Run.open(name), env)
        for seed in seeds:
            actor = trained or WalkerActor(WALKERS[name](env, seed))
            episode = run_episode(env, actor, seed)
            results.append((episode.total_reward, Outcome.of(env.info)))
        return results
    finally:
        env.close()


def configured(policy: str) -> dict[str, Any]:
    """Return the arguments of the environment of a run, or of a policy of the package.

    Raises:
        SystemExit: it is not of this environment.
    """
    if policy in PRETRAINED:
        found = load_pretrained(policy)
        env, arguments = found.env, found.env_kwargs
    else:
        config = Run.open(policy).config().evaluated()
        env, arguments = config.env, config.env_kwargs
    if env != ENV:
        raise SystemExit(f"--policy: expected one of {ENV}, got one of {env}: {policy}")
    return arguments


def summary(results: Sequence[tuple[float, Outcome]]) -> dict[str, Any]:
    """Return means over the episodes, with intervals."""
    returns, outcomes = zip(*results, strict=True)
    ends = [outcome.end for outcome in outcomes]
    return {
        "success_rate": success_rate(outcomes),
        "success_interval": bootstrap_mean([float(each.success) for each in outcomes]).to_json(),
        "spl": spl(outcomes),
        "spl_interval": bootstrap_mean([outcome.efficiency for outcome in outcomes]).to_json(),
        "return": bootstrap_mean(returns).to_json(),
        "ends": {end: ends.count(end) for end in sorted(set(ends))},
        "collision_steps": float(np.mean([outcome.collisions for outcome in outcomes])),
        "path_length": float(np.mean([outcome.path_length for outcome in outcomes])),
        "shortest": float(np.mean([outcome.shortest for outcome in outcomes])),
        "successes": [int(outcome.success) for outcome in outcomes],
    }


def table(summaries: dict[str, dict[str, Any]]) -> str:
    """Return the summaries as a table in Markdown."""
    lines = [
        "| walker | success | SPL | return (m) | falls | time ran out | control steps in touch |",
        "|---|---|---|---|---|---|---|",
    ]
    for who, each in summaries.items():
        success, efficiency = each["success_interval"], each["spl_interval"]
        paid, ends = each["return"], each["ends"]
        lines.append(
            f"| {who} | {_with_interval(success)} | {_with_interval(efficiency)} "
            f"| {_with_interval(paid)} | {ends.get('fall', 0)} | {ends.get('time', 0)} "
            f"| {each['collision_steps']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def _with_interval(mean: dict[str, Any]) -> str:
    text = f"{mean['mean']:.2f}"
    return text if mean["low"] is None else f"{text} [{mean['low']:.2f}, {mean['high']:.2f}]"


def main() -> None:
    """Play everyone's episodes, and write results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=100)
    # The oracle was tuned on the first forty.
    parser.add_argument("--first-seed", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--policy", action="append", default=[], help="folder of a run, or a name")
    parser.add_argument("--blind", action="store_true", help="play policies blind as well")
    parser.add_argument("--walkers", nargs="*", default=list(WALKERS), choices=list(WALKERS))
    parser.add_argument("--ship", action="store_true", help="the first policy")
    parser.add_argument(
        "--out", type=Path, default=RESULTS / "quadruped_navigation", help="name of .json, .md"
    )
    options = parser.parse_args()
    if options.ship and not options.policy:
        parser.error("--ship: expected --policy RUN beside it, got nothing")

    load = os.getloadavg()[0]
    task: dict[str, Any] = {}
    if options.policy:
        arguments = configured(options.policy[0])
        task = {name: arguments[name] for name in TASK if name in arguments}
    seeds = range(options.first_seed, options.first_seed + options.episodes)
    shares = [seeds[i :: options.workers] for i in range(min(options.workers, len(seeds)))]
    summaries: dict[str, dict[str, Any]] = {}
    with ProcessPoolExecutor(
        options.workers, mp_context=multiprocessing.get_context("spawn")
    ) as pool:
        blind = [policy + BLIND for policy in options.policy if options.blind]
        print(table({}), end="")
        for who in (*options.walkers, *options.policy, *blind):
            futures = [pool.submit(play, who, task, share) for share in shares]
            found = {
                seed: result
                for share, future in zip(shares, futures, strict=True)
                for seed, result in zip(share, future.result(), strict=True)
            }
            summaries[who] = summary([found[seed] for seed in seeds])
            print(table({who: summaries[who]}).splitlines()[-1], flush=True)
    result = {
        **circumstances(("gymnasium", "numpy", "pybullet"), load),
        "workers": options.workers,
        "env": ENV,
        "env_kwargs": task,
        "seeds": [seeds.start, seeds.stop - 1],
        "walkers": summaries,
    }
    write_text(options.out.with_suffix(".json"), json.dumps(result, indent=2) + "\n")
    write_text(options.out.with_suffix(".md"), table(summaries))
    if options.ship:
        add_pretrained("quadruped-navigation", Run.open(options.policy[0]), COMMAND)


if __name__ == "__main__":
    main()
