"""What the two examples on planar worlds share: the learner, and a comparison on fair episodes."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecMonitor

from iap_gym._files import replacing, write_text
from iap_gym.baselines.experiments.evaluate import FIRST_SEED, Evaluation, table
from iap_gym.baselines.vector_env import VectorEnvAdapter
from iap_gym.cli.arguments import at_least
from iap_gym.envs.planar.policies import Policy
from iap_gym.recurrent import CORES

NUM_WORLDS = 512  # side by side in training
PPO_KWARGS: dict[str, Any] = {"n_steps": 50, "batch_size": 5120, "n_epochs": 5}
PPO_KWARGS |= {"device": "cpu", "verbose": 1}
LOG_INTERVAL = 20  # updates
NO_CORE = "none"  # a feed-forward PPO

# From observations (n, D), the true states (n, S) and the step to actions (n, A).
Actor = Callable[[NDArray[np.float32], NDArray[np.float64], int], Any]


def make_parser(description: str | None, core: str, steps: int) -> argparse.ArgumentParser:
    """Return the parser of what both examples ask for."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--steps", type=at_least(1), default=steps, help="environment steps of training"
    )
    parser.add_argument("--seed", type=at_least(0), default=0, help="of training")
    parser.add_argument("--episodes", type=at_least(1), default=100, help="of the evaluation")
    parser.add_argument(
        "--core",
        choices=(NO_CORE, *CORES),
        default=core,
        help="of RecurrentPPO; none: PPO without memory; default %(default)s",
    )
    parser.add_argument("--out", type=Path, help="folder for the model and its result")
    return parser


def train(
    env: VectorEnv[Any, Any, Any], core: str, gamma: float, learning_rate: float, args: Any
) -> BaseAlgorithm:
    """Train on a vector environment, and say what it took."""
    torch.set_num_threads(1)
    kwargs = {**PPO_KWARGS, "gamma": gamma, "learning_rate": learning_rate, "seed": args.seed}
    worlds = VecMonitor(VectorEnvAdapter(env))
    if core == NO_CORE:
        model = PPO("MlpPolicy", worlds, **kwargs)
    else:
        from iap_gym.baselines import RecurrentPPO

        kwargs |= {"core_sharing": "separate", "bptt": 25, "gate_penalty": 0.001}
        kwargs |= {"policy_kwargs": {"net_arch": [64]}, "stopped_path": None}
        model = RecurrentPPO("MlpCorePolicy", worlds, core, **kwargs)
    wall, cpu = time.perf_counter(), time.process_time()
    model.learn(args.steps, log_interval=LOG_INTERVAL)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"{model.num_timesteps:,} steps, {wall:.0f} s ({cpu:.0f} s of CPU), seed {args.seed}")
    return model


def compare(
    env_id: str, settings: dict[str, Any], model: BaseAlgorithm, oracle: Policy, args: Any
) -> Evaluation:
    """Play the model, random actions and a policy that sees the state on the same episodes.

    The environment is the registered one: its own starts, its own rewards.
    """
    memory: Any = None

    def trained(observations: NDArray[np.float32], state: NDArray[np.float64], t: int) -> Any:
        nonlocal memory
        starts = np.full(len(observations), t == 0)
        actions, memory = model.predict(observations, memory, starts, deterministic=True)
        return actions

    rng = np.random.default_rng(0)
    size = model.action_space.shape or ()
    actors: dict[str, Actor] = {
        "trained": trained,
        "random": lambda observations, state, t: rng.uniform(-1, 1, (len(observations), *size)),
        "oracle": lambda observations, state, t: oracle(t, state),
    }
    returns = {
        kind: tuple(play(env_id, settings, actor, args.episodes).tolist())
        for kind, actor in actors.items()
    }
    seeds = tuple(range(FIRST_SEED, FIRST_SEED + args.episodes))
    evaluation = Evaluation(env_id, None, seeds, returns)
    print(table(evaluation))
    if args.out is not None:
        with replacing(args.out / "model.zip") as temporary:
            model.save(temporary)
        found = {"settings": settings, "steps": model.num_timesteps, **evaluation.to_json()}
        write_text(args.out / "evaluation.json", json.dumps(found, indent=2) + "\n")
    return evaluation


def play(env_id: str, settings: dict[str, Any], actor: Actor, episodes: int) -> NDArray[np.float64]:
    """Return the returns of episodes seeded ``FIRST_SEED``, ``FIRST_SEED + 1``, ..."""
    envs: Any = gymnasium.make_vec(env_id, episodes, "vector_entry_point", **settings)
    observations, _ = envs.reset(seed=FIRST_SEED)
    returns, running = np.zeros(episodes), np.ones(episodes, np.bool_)
    for t in range(envs.spec.max_episode_steps):
        actions = actor(observations, envs.get_state(), t)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        returns += rewards * running
        running &= ~(terminated | truncated)
    return returns
