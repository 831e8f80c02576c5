"""A bright square on a dark field, seen through observation spaces of many kinds."""

import gymnasium
import numpy as np
from gymnasium import spaces

HEIGHT, WIDTH, SQUARE = 24, 32, 4

BYTES = spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)
UNIT = spaces.Box(0.0, 1.0, (HEIGHT, WIDTH, 1), np.float32)
GRAY = spaces.Box(0, 255, (HEIGHT, WIDTH), np.uint8)
VECTOR = spaces.Box(np.array([-2.0, -3.0]), np.array([2.0, np.inf]), dtype=np.float64)


class OddSpace(spaces.Space):
    """A space that Gymnasium cannot flatten, like the missions of MiniGrid."""

    def __init__(self):
        super().__init__(shape=None, dtype=None)

    def sample(self, mask=None, probability=None):
        return "go"

    def contains(self, x):
        return x == "go"

    def __eq__(self, other):
        return isinstance(other, OddSpace)


SPACES = {
    "bytes": BYTES,
    "unit": UNIT,
    "gray": GRAY,
    "vector": VECTOR,
    "dict": spaces.Dict({"camera": BYTES, "proprio": VECTOR}),
    "rich": spaces.Dict(
        {
            "turn": spaces.Discrete(3, start=1),
            "camera": UNIT,
            "buttons": spaces.MultiBinary(2),
            "aim": VECTOR,
            "both": spaces.Tuple([spaces.Discrete(2), spaces.Box(-1, 50, (1, 2), np.float32)]),
        }
    ),
    "two": spaces.Dict({"left": BYTES, "right": GRAY, "proprio": VECTOR}),
    "odd": spaces.Dict({"camera": BYTES, "mission": OddSpace()}),
    "clash": spaces.Dict({"camera": BYTES, "attention": VECTOR}),
    "no_image": spaces.Dict({"proprio": VECTOR}),
    "loose": spaces.Box(0.0, 255.0, (HEIGHT, WIDTH, 3), np.float32),
    "integers": spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.int32),
}


class Square(gymnasium.Env):
    """The square walks by the action; the reward is how far down it is; ends after ``horizon``."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, observation="bytes", horizon=7, scale=1, render_mode=None):
        self.observation_space = SPACES[observation]
        self.action_space = spaces.Discrete(4)
        self.horizon, self.scale, self.render_mode = horizon, scale, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.integers(0, [HEIGHT - SQUARE, WIDTH - SQUARE])
        self.field = self.np_random.integers(0, 60, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        self.steps = 0
        return self._observe(self.observation_space), {}

    def step(self, action):
        move = np.array([(1, 0), (-1, 0), (0, 1), (0, -1)][action])
        self.place = np.clip(self.place + move, 0, [HEIGHT - SQUARE, WIDTH - SQUARE])
        self.steps += 1
        reward = float(self.place[0] / HEIGHT)
        ended = self.steps >= self.horizon
        return self._observe(self.observation_space), reward, ended, False, {}

    def render(self):
        return self._picture().repeat(self.scale, axis=0).repeat(self.scale, axis=1)

    def _picture(self):
        picture = self.field.copy()
        row, column = self.place
        picture[row : row + SQUARE, column : column + SQUARE] = 250
        return picture

    def _observe(self, space):
        if isinstance(space, spaces.Dict):
            return {key: self._observe(part) for key, part in space.items()}
        if isinstance(space, spaces.Tuple):
            return tuple(self._observe(part) for part in space)
        if isinstance(space, spaces.Discrete):
            return np.int64(space.start + self.steps % space.n)
        if isinstance(space, spaces.MultiBinary):
            return np.array([self.steps % 2, 1], np.int8)
        if isinstance(space, OddSpace):
            return "go"
        if space == BYTES:
            return self._picture()
        if space == GRAY:
            return self._picture()[..., 0].copy()
        if space == UNIT:
            return (self._picture()[..., :1] / 255).astype(np.float32)
        values = np.array([self.place[0] / HEIGHT, float(self.steps)])
        return values.reshape(space.shape).astype(space.dtype)
