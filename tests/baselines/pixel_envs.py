"""Small environments for the tests; worker processes import this file."""

import os
import signal

import gymnasium
import numpy as np
from gymnasium import spaces

SIZE = 32


class FollowBlob(gymnasium.Env):
    """Point at a bright blob that runs over a dull random picture.

    Action: where it is, row and column, each from -1 (first) to 1 (last). Reward of a step: 1
    minus the mean distance in the two directions.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, horizon=20, dict_observation=False):
        self.horizon = horizon
        self.dict_observation = dict_observation
        image = spaces.Box(0, 255, (SIZE, SIZE, 3), np.uint8)
        self.observation_space = image
        if dict_observation:
            self.observation_space = spaces.Dict(
                {"camera": image, "proprio": spaces.Box(-np.inf, np.inf, (2,), np.float32)}
            )
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.background = self.np_random.integers(0, 120, (SIZE, SIZE, 3), dtype=np.uint8)
        self.place = self.np_random.uniform(-1, 1, 2)
        self.velocity = self.np_random.uniform(0.2, 0.4, 2) * self.np_random.choice([-1, 1], 2)
        self.steps = 0
        return self._observe(), {}

    def step(self, action):
        reward = 1 - float(np.abs(np.asarray(action) - self.place).mean())
        self.place = self.place + self.velocity
        outside = np.abs(self.place) > 1
        self.velocity[outside] *= -1
        self.place = np.clip(self.place, -1, 1)
        self.steps += 1
        return self._observe(), reward, False, self.steps >= self.horizon, {}

    def _observe(self):
        image = self.background.copy()
        row, column = ((self.place + 1) / 2 * (SIZE - 6)).round().astype(int)
        image[row : row + 6, column : column + 6] = 255
        if self.dict_observation:
            return {"camera": image, "proprio": self.velocity.astype(np.float32)}
        return image


class Trouble(gymnasium.Env):
    """A number line whose steps go wrong as told.

    Args:
        what: "raise", "nan", "die" (SIGKILL for its own process), or "sleep".
        flag: a file; while it exists nothing goes wrong, and what goes wrong makes it first, so
            that it goes wrong once only. None: always.
        parent: the pid of a process that shall not be harmed.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, what="raise", flag=None, parent=None):
        self.what, self.flag, self.parent = what, flag, parent
        self.observation_space = spaces.Box(-10, 10, (1,), np.float32)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.uniform(-1, 1)
        self.steps = 0
        return np.array([self.x], np.float32), {}

    def step(self, action):
        self.steps += 1
        self.x += float(action[0])
        reward = -abs(self.x)
        if self.steps == 5 and not (self.flag and os.path.exists(self.flag)):
            reward = self._go_wrong(reward)
        observation = np.clip(np.array([self.x], np.float32), -10, 10)
        return observation, reward, False, self.steps == 10, {}

    def _go_wrong(self, reward):
        if self.flag:
            with open(self.flag, "w"):
                pass
        if self.what == "raise":
            raise KeyError("the wheel came off")
        if self.what == "nan":
            return float("nan")
        if self.what == "die" and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "sleep":
            import time

            time.sleep(60)
        return reward
