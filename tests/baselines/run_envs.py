"""Environments with ids for runs of recurrent PPO; "tests.baselines.run_envs:ID" registers them."""

import time

import gymnasium
import numpy as np
from gymnasium import spaces

from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.run import Run
from iap_gym.baselines.experiments.train import train
from tests.baselines.ppo_envs import CueEnv, RandomEnv

HERE = "tests.baselines.run_envs"


def hardly_trained(path, max_steps):
    """A run of one update on MiniGrid, whose episodes end after ``max_steps``."""
    config = TrainConfig(
        env="MiniGrid-Empty-5x5-v0",
        algo="ppo",
        total_timesteps=64,
        env_kwargs={"max_steps": max_steps},
        policy_kwargs={"hidden_size": 8},
        algo_kwargs={"n_envs": 2, "n_steps": 32, "batch_size": 32, "n_epochs": 1},
    )
    run = Run.create(path, config)
    train(run)
    return run


class Recall(CueEnv):
    """``CueEnv`` that says in the end whether the cue was recalled, in episodes of 3 to 9 steps."""

    def __init__(self, sleep=0.0):
        super().__init__()
        self.sleep = sleep  # seconds a step, for tests that kill

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        self.length = int(self.np_random.integers(3, 10))
        return found

    def step(self, action):
        time.sleep(self.sleep)
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated:
            info["is_success"] = reward > 0
        return observation, reward, terminated, truncated, info


class Seeded(gymnasium.Env):
    """Length and return of an episode follow from its seed alone."""

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length = int(self.np_random.integers(1, 30))
        self.left = self.length
        return self.np_random.uniform(-1, 1, 2).astype(np.float32), {}

    def step(self, action):
        self.left -= 1
        seen = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return seen, 1.0, self.left == 0, False, {}


class Failing(RandomEnv):
    """Raises in the third episode."""

    episodes = 0

    def reset(self, *, seed=None, options=None):
        self.episodes += 1
        if self.episodes == 3:
            return {}["sky"]
        return super().reset(seed=seed)


class Faulty(RandomEnv):
    """Gives a NaN after so many steps in all, episodes before included."""

    def __init__(self, fault_at):
        super().__init__()
        self.fault_at = fault_at
        self.steps_in_all = 0

    def step(self, action):
        self.steps_in_all += 1
        observation, *rest = super().step(action)
        if self.steps_in_all == self.fault_at:
            observation[1] = np.nan
        return observation, *rest


class Endless(CueEnv):
    """Ends no episode."""

    def __init__(self):
        super().__init__(length=10**9)


class Unseen(CueEnv):
    """Renders nothing, and does not know the argument."""


def random_env(kind="vector", continuous=False):
    return RandomEnv(kind, spaces.Box(-1, 1, (2,), np.float32) if continuous else None)


gymnasium.register("Recall-v0", Recall)
gymnasium.register("Seeded-v0", Seeded)
gymnasium.register("Failing-v0", Failing)
gymnasium.register("Faulty-v0", Faulty)
gymnasium.register("Random-v0", random_env)
gymnasium.register("Endless-v0", Endless)
gymnasium.register("Unseen-v0", Unseen)
