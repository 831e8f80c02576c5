"""Small environments for the tests of RecurrentPPO."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

KINDS = ("vector", "image", "dict")


def observation_space(kind: str) -> spaces.Space:
    vector = spaces.Box(-1, 1, (3,), np.float32)
    image = spaces.Box(0, 255, (36, 36, 3), np.uint8)
    both = spaces.Dict({"camera": image, "speed": vector})
    return {"vector": vector, "image": image, "dict": both}[kind]


class RandomEnv(gymnasium.Env):
    """Random observations; the reward depends on the action where that is a number.

    Episodes last from 1 to ``longest`` steps and end in one of both ways.
    """

    def __init__(
        self,
        kind: str = "vector",
        action_space: spaces.Space | None = None,
        longest: int = 6,
    ) -> None:
        self.observation_space = observation_space(kind)
        self.action_space = action_space or spaces.Discrete(3)
        self.longest = longest

    def reset(self, *, seed: int | None = None, options: Any = None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.steps = 0
        self.length = int(self.np_random.integers(1, self.longest + 1))
        return self.observation_space.sample(), {}

    def step(self, action: Any):
        self.steps += 1
        reward = float(np.mean(action)) + float(self.np_random.normal())
        done = self.steps == self.length
        terminated = done and bool(self.np_random.integers(2))
        return self.observation_space.sample(), reward, terminated, done and not terminated, {}


class CueEnv(gymnasium.Env):
    """Remember a cue: it is shown in the first step, and asked for in the last of ``length``.

    A policy without memory gets 0 on average, one that remembers 1.
    """

    observation_space = spaces.Box(-1, 1, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, length: int = 5) -> None:
        self.length = length

    def reset(self, *, seed: int | None = None, options: Any = None):
        super().reset(seed=seed)
        self.steps = 0
        self.cue = int(self.np_random.integers(2))
        return np.array([2 * self.cue - 1, 0], np.float32), {}

    def step(self, action: int):
        self.steps += 1
        asked = self.steps == self.length - 1
        if self.steps < self.length:
            return np.array([0, asked], np.float32), 0.0, False, False, {}
        reward = 1.0 if action == self.cue else -1.0
        return np.zeros(2, np.float32), reward, True, False, {}


class CountingEnv(gymnasium.Env):
    """Nothing depends on the action: the observation is how many steps are done, as is the reward.

    Episodes of ``length`` steps are truncated, or terminated if ``terminates``.
    """

    observation_space = spaces.Box(0, 100, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, length: int, terminates: bool) -> None:
        self.length = length
        self.terminates = terminates

    def reset(self, *, seed: int | None = None, options: Any = None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: int):
        self.steps += 1
        done = self.steps == self.length
        observation = np.array([self.steps], np.float32)
        return observation, float(self.steps), done and self.terminates, done, {}


class FaultyEnv(RandomEnv):
    """Gives one NaN in an observation, or as a reward, in episodes of exactly ``longest`` steps."""

    def __init__(
        self,
        kind: str,
        fault_at: int | None,
        longest: int = 100,
        value: float = np.nan,
        reward: bool = False,
    ):
        super().__init__(kind, longest=longest)
        self.fault_at = fault_at
        self.value = value
        self.of_reward = reward

    def step(self, action: Any):
        self.length = self.longest
        observation, reward, terminated, truncated, info = super().step(action)
        if self.steps == self.fault_at and self.of_reward:
            reward = self.value
        elif self.steps == self.fault_at:
            vector = observation["speed"] if isinstance(observation, dict) else observation
            vector[1] = self.value
        return observation, reward, False, terminated or truncated, info
