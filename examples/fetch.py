"""Train on Fetch Pick and Place without velocities and rotations, for a given time, and evaluate.

    python examples/fetch.py                                    SAC with hindsight replay, an hour
    python examples/fetch.py --learner ppo --core gatel0rd      RecurrentPPO, an hour
    python examples/fetch.py --learner ppo --core lstm --timesteps 500000
    python examples/fetch.py --learner ppo --evaluate FOLDER    what --out kept

Both see the 11 numbers and the goal. SAC learns from the sparse reward, whose goals hindsight
replay (Andrychowicz et al. 2017) puts where the cube went; RecurrentPPO from minus the cube's
distance from the goal and the gripper's from the cube. Both are evaluated with the sparse reward,
on episodes that are the same for all.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecNormalize

import iap_gym
from iap_gym._files import replacing, write_text
from iap_gym.baselines import RecurrentPPO
from iap_gym.baselines.experiments.evaluate import FIRST_SEED, Evaluation, table
from iap_gym.cli.arguments import at_least
from iap_gym.data.making import check_target
from iap_gym.envs.fetch.goal import THRESHOLD
from iap_gym.recurrent import CORES

ENV = "iap_gym/FetchPickAndPlace-v0"
STEPS = 50  # of an episode
RESULT, MODEL = "evaluation.json", "model.zip"
SAC_KWARGS: dict[str, Any] = {
    "learning_rate": 1e-3,
    "buffer_size": 1_000_000,
    "batch_size": 256,
    "gamma": 0.95,
    "tau": 0.05,
    "learning_starts": 1_000,
    "policy_kwargs": {"net_arch": [256, 256]},
    "replay_buffer_kwargs": {"n_sampled_goal": 4, "goal_selection_strategy": "future"},
}
SAC_ENVS, SAC_UPDATES = 8, 4  # updates after a step of all
PPO_KWARGS: dict[str, Any] = {
    "n_steps": STEPS,
    "batch_size": 800,
    "n_epochs": 8,
    "gamma": 0.95,
    "learning_rate": 5e-4,
    "ent_coef": 1e-3,
    "bptt": 25,
    "gate_penalty": 1e-3,
    "core_sharing": "separate",
    "policy_kwargs": {"hidden_size": 64, "net_arch": [64]},
    "stopped_path": None,
}
PPO_ENVS = 64


class Approach(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes the gripper's distance (m) from the cube off the reward.

    Without it the first thing that is learnt is to keep away from the cube: who touches it without
    grasping it mostly knocks it further from the goal. Shaping by a potential, which would leave
    policies ranked as they are, leaves that as it is, too.
    """

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step, and take the distance off the reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        distance = float(np.linalg.norm(observation["observation"][6:9]))
        return observation, float(reward) - distance, terminated, truncated, info


class Watch(BaseCallback):
    """Stops when the time is over, and keeps what training episodes reached.

    Args:
        seconds: of training.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self._begin = self._noted = time.monotonic()
        self.curve: list[dict[str, float]] = []  # about a point a minute

    def _on_step(self) -> bool:
        now = time.monotonic()
        successes = self.model.ep_success_buffer
        if now - self._noted > min(60.0, self._seconds / 20) and successes:
            self._noted = now
            seconds, steps = round(now - self._begin, 1), self.num_timesteps
            point = {"seconds": seconds, "steps": steps, "success": float(np.mean(successes))}
            self.curve.append(point)
            print("{seconds:8.0f} s {steps:10,} steps, success {success:.2f}".format(**point))
        return now - self._begin < self._seconds


def make_learner(options: argparse.Namespace) -> BaseAlgorithm:
    """Return SAC with hindsight replay, or RecurrentPPO, with their training environments."""
    common = {"seed": options.seed, "device": "cpu"}
    kwargs: dict[str, Any] = {"goal_env": True}
    # Both see normalized observations: places differ by centimetres around a metre or so.
    if options.learner == "her":
        envs = make_vec_env(ENV, SAC_ENVS, seed=options.seed, env_kwargs=kwargs)
        envs = VecNormalize(envs, norm_reward=False)
        return SAC(
            "MultiInputPolicy",
            envs,
            replay_buffer_class=HerReplayBuffer,
            gradient_steps=SAC_UPDATES,
            **SAC_KWARGS,
            **common,
        )
    kwargs["reward"] = "dense"
    envs = make_vec_env(
        ENV,
        PPO_ENVS,
        seed=options.seed,
        env_kwargs=kwargs,
        wrapper_class=Approach,
    )
    normalized = VecNormalize(envs, gamma=PPO_KWARGS["gamma"])
    return RecurrentPPO("MultiInputCorePolicy", normalized, options.core, **PPO_KWARGS, **common)


class Trained:
    """Most probable actions of a learner, with its memory and its scales."""

    def __init__(self, model: BaseAlgorithm, scales: VecNormalize) -> None:
        self._model = model
        self._scales = scales
        self._memory: Any = None

    def __call__(self, observation: Any, start: bool) -> Any:
        """Return the action (4,) for one observation."""
        observation = self._scales.normalize_obs(observation)
        if start:
            self._memory = None
        action, self._memory = self._model.predict(
            observation, self._memory, np.array([start]), deterministic=True
        )
        return action


def evaluate(
    model: BaseAlgorithm, scales: VecNormalize, episodes: int
) -> tuple[Evaluation, dict[str, dict[str, float]]]:
    """Play the model, random actions and none at all on the same episodes, sparse rewards.

    Returns:
        The evaluation, and the rates of success by where the goals are.
    """
    rng = np.random.default_rng(0)
    actors: dict[str, Any] = {
        "trained": Trained(model, scales),
        "random": lambda observation, start: rng.uniform(-1, 1, 4),
        "zero": lambda observation, start: np.zeros(4),
    }
    env: gymnasium.Env[Any, Any] = gymnasium.make(ENV, goal_env=True)
    seeds = tuple(range(FIRST_SEED, FIRST_SEED + episodes))
    returns: dict[str, tuple[float, ...]] = {}
    successes: dict[str, float] = {}
    by_goal: dict[str, dict[str, float]] = {}
    for kind, actor in actors.items():
        sums, reached, above = [], [], []
        for seed in seeds:
            observation, info = env.reset(seed=seed)
            height = observation["desired_goal"][2] - observation["achieved_goal"][2]
            above.append(height > THRESHOLD)  # the cube must leave the table to be near enough
            rewards = []
            for t in range(STEPS):
                observation, reward, _, _, info = env.step(actor(observation, t == 0))
                rewards.append(float(reward))
            sums.append(math.fsum(rewards))
            reached.append(info["is_success"])
        returns[kind], successes[kind] = tuple(sums), float(np.mean(reached))
        groups = {"on the table": ~np.array(above), "above it": np.array(above)}
        by_goal[kind] = {
            f"{chosen.sum()} goals {name}": float(np.mean(np.array(reached)[chosen]))
            for name, chosen in groups.items()
            if chosen.any()
        }
    steps = model.num_timesteps
    found = Evaluation(ENV, None, seeds, returns, timesteps=steps, success_rates=successes)
    return found, by_goal


def load(folder: Path, learner: str) -> tuple[BaseAlgorithm, VecNormalize]:
    """Return what ``save`` wrote."""
    envs = make_vec_env(ENV, 1, env_kwargs={"goal_env": True})
    scales = VecNormalize.load(str(folder / "scales.pkl"), envs)
    scales.training = False
    path = folder / MODEL
    if learner == "her":
        return SAC.load(path, env=scales, device="cpu"), scales  # hindsight replay asks for one
    return RecurrentPPO.load(path, device="cpu"), scales


def save(model: BaseAlgorithm, scales: VecNormalize, folder: Path) -> None:
    """Write the model, and the scales that it acts with."""
    with replacing(folder / MODEL) as temporary:
        model.save(temporary)
    with replacing(folder / "scales.pkl") as temporary:
        scales.save(str(temporary))


def report(
    model: BaseAlgorithm, scales: VecNormalize, episodes: int
) -> tuple[Evaluation, dict[str, dict[str, float]]]:
    """Evaluate, and print what came out."""
    evaluation, by_goal = evaluate(model, scales, episodes)
    print(table(evaluation))
    for kind, rates in by_goal.items():
        print(f"{kind:<9}" + ", ".join(f"{rate:.1%} of {goals}" for goals, rate in rates.items()))
    return evaluation, by_goal


def main() -> None:
    """Train, evaluate, and write what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--learner", choices=("her", "ppo"), default="her")
    parser.add_argument("--core", choices=tuple(CORES), help="of RecurrentPPO; default gatel0rd")
    parser.add_argument("--minutes", type=float, default=60.0, help="of training, at most")
    parser.add_argument("--timesteps", type=at_least(1), default=10**9, help="at most")
    parser.add_argument("--seed", type=at_least(0), default=0)
    parser.add_argument("--episodes", type=at_least(1), default=100, help="of the evaluation")
    parser.add_argument("--threads", type=at_least(1), default=1, help="of torch")
    parser.add_argument("--evaluate", type=Path, metavar="FOLDER", help="instead: what --out kept")
    parser.add_argument("--out", type=Path, help="folder for the model and its result")
    options = parser.parse_args()
    if options.core is not None and options.learner != "ppo":
        parser.error(f"--core: expected --learner ppo beside it, got {options.learner}")
    if options.evaluate is not None and options.out is not None:
        parser.error(f"--out: expected none beside --evaluate, got {options.out}")
    if options.evaluate is not None and not (options.evaluate / MODEL).is_file():
        parser.error(f"--evaluate: expected a folder with {MODEL}, got {options.evaluate}")
    options.core = options.core or "gatel0rd"
    if not options.minutes > 0:
        parser.error(f"--minutes: expected a number > 0, got {options.minutes}")

    if options.out is not None:
        try:
            for name in (RESULT, MODEL):
                check_target(options.out / name, overwrite=False)
        except OSError as error:
            parser.error(f"--out: {error}")

    torch.set_num_threads(options.threads)
    gymnasium.register_envs(iap_gym)
    if options.evaluate is not None:
        report(*load(options.evaluate, options.learner), options.episodes)
        return
    model = make_learner(options)
    scales = model.get_vec_normalize_env()
    assert scales is not None
    watch = Watch(60 * options.minutes)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        model.learn(options.timesteps, callback=watch)
    except KeyboardInterrupt:
        print(
            f"interrupted; the model so far is in {options.out}" if options.out else "interrupted"
        )
        raise SystemExit(130) from None
    finally:  # also of a training that was interrupted
        if options.out is not None:
            save(model, scales, options.out)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{model.num_timesteps:,} steps, {wall:.0f} s ({cpu:.0f} s of CPU), seed {options.seed}")
    evaluation, by_goal = report(model, scales, options.episodes)
    if options.out is None:
        return
    found = {
        "learner": options.learner,
        "core": options.core if options.learner == "ppo" else None,
        "seed": options.seed,
        "seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "curve": watch.curve,
        "success_by_goal": by_goal,
        **evaluation.to_json(),
    }
    write_text(options.out / RESULT, json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
