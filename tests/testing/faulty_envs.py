"""One sound environment, and one subclass for each fault that the contract must find."""

from __future__ import annotations

import random
from typing import ClassVar

import gymnasium
import numpy as np


class Sound(gymnasium.Env):
    metadata: ClassVar = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gymnasium.spaces.Box(-10.0, 10.0, (3,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.position = np.zeros(3)

    def observe(self):
        return self.position.astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.position = self.np_random.uniform(-1, 1, 3)
        return self.observe(), {}

    def check(self, action):
        action = np.asarray(action)
        if action.shape != self.action_space.shape or not np.isfinite(action).all():
            raise ValueError(f"action: expected 2 finite numbers, got {action}")
        return np.clip(action, -1, 1)

    def step(self, action):
        action = self.check(action)
        self.position = self.position * 0.9
        self.position[:2] += action + 0.1 * self.np_random.normal(size=2)
        return self.observe(), float(self.position.sum()), False, False, {}

    def render(self):
        return np.zeros((8, 8, 3), np.uint8)


class Remembers(Sound):
    """The second seeded episode starts elsewhere."""

    episodes = 0

    def reset(self, *, seed=None, options=None):
        info = super().reset(seed=seed)[1]
        self.episodes += 1
        if self.episodes > 2:
            self.position = self.position + 1e-6
        return self.observe(), info


class IgnoresSeed(Sound):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=0)


class OutOfSpace(Sound):
    def observe(self):
        return super().observe() + np.float32(20)


class WrongDtype(Sound):
    def observe(self):
        return self.position.copy()


class Strided(Sound):
    def observe(self):
        return np.repeat(super().observe(), 2)[::2]


class SharesMemory(Sound):
    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.buffer = np.zeros(3, np.float32)

    def observe(self):
        self.buffer[:] = self.position
        return self.buffer


class DrawsFromNumpy(Sound):
    def step(self, action):
        np.random.random()  # noqa: NPY002
        return super().step(action)


class DrawsFromPython(Sound):
    def reset(self, *, seed=None, options=None):
        random.random()
        return super().reset(seed=seed)


class ClosesOnce(Sound):
    closed = False

    def close(self):
        assert not self.closed
        self.closed = True


class SimulatesNaN(Sound):
    def check(self, action):
        return np.clip(np.nan_to_num(np.asarray(action)[..., :2]), -1, 1)


class DoesNotClip(Sound):
    def check(self, action):
        super().check(action)
        return np.asarray(action)


class Lambda(Sound):
    """Takes a kwarg that JSON cannot carry."""

    def __init__(self, scale=None, render_mode=None):
        super().__init__(render_mode)
        self.scale = scale


FAULTS = {
    "seeding": Remembers,
    "seeds_differ": IgnoresSeed,
    "observations": Strided,
    "global_randomness": DrawsFromNumpy,
    "spec": Lambda,
    "close": ClosesOnce,
    "actions": SimulatesNaN,
    "gymnasium": OutOfSpace,
    "stable_baselines3": WrongDtype,
}
