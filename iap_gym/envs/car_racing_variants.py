"""CarRacing with distractions that were not there in training.

The variants "color", "bar" and "blob" of AttentionAgent (Tang, Nguyen and Ha 2020,
"Neuroevolution of Self-Interpretable Agents") on top of Gymnasium's ``CarRacing``, with the
constants of their published code. Needs the extra ``carracing``.

    gymnasium.make("iap_gym.envs.car_racing_variants:iap_gym/CarRacing-v0", variant="blob")
"""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle

from iap_gym import _checks
from iap_gym._optional import require

with warnings.catch_warnings():
    # Box2D's SWIG types warn while they are made; as an error that crashes the interpreter.
    warnings.simplefilter("ignore", DeprecationWarning)
    require("Box2D", "carracing")
require("pygame", "carracing")

import pygame  # noqa: E402
from gymnasium.envs.box2d.car_racing import CarRacing  # noqa: E402

RENDER_MODES = ("rgb_array", "state_pixels")
VARIANTS = (None, "color", "bar", "blob")
ACTION_LOW, ACTION_HIGH = np.array([-1.0, 0.0, 0.0]), np.ones(3)  # steering, gas, brake
COLOR_RANGE = 0.2 * 255  # of the shift of road and of grass, in grey levels
BAR_WIDTH = 3 / 40  # of the picture
INDICATORS_HEIGHT = 5 / 40  # of the picture, at its bottom; bars end above
# In metres of the simulation, from the car: to its right and ahead of it. The published code puts
# it 20 and 10 away from the rear corner of the hull.
BLOB_CORNER = (21.0, 7.6)
BLOB_SIZE = 8.0
BLOB_COLOR = (204, 0, 0)  # of the hull


class CarRacingVariant(CarRacing):
    """Gymnasium's ``CarRacing`` with one distraction.

    ========  ==================================================================================
    variant   what changes
    ========  ==================================================================================
    None      nothing
    "color"   at every reset road and grass become lighter or darker, each by a number that is
              uniform in ±0.2 of the range of a pixel; the pattern of light grass keeps its color
    "bar"     two black bars, 3/40 of the width each, cover the sides of the picture
    "blob"    a red square of 8x8 m, ahead and to the right, goes and turns with the car
    ========  ==================================================================================

    A seed gives the track that it gives in ``CarRacing``. As published, an episode ends when all
    tiles of the track have been visited, where Gymnasium is content with 95 % and a lap. The
    published environments were drawn by OpenGL, and their camera turned with the velocity; this
    one turns with the car.

    Observation: uint8 (96, 96, 3). Action: float32 (3,), steering in [-1, 1], gas and brake in
    [0, 1]. Reward: 1000/N for each new one of the N tiles of the track, less 0.1 a step, and -100
    for leaving the field. 1000 steps.

    Args:
        variant: see the table.
        max_negative_rewards: truncate an episode after more of them in a row; AttentionAgent is
            trained with 20 and tested with None.
        lap_complete_percent: fraction of tiles after which a lap counts; 1 asks for all.
        render_mode: None, "rgb_array" (400x600), or "state_pixels" (96x96); Gymnasium adds the
            window for "human".

    Raises:
        ValueError: an argument is not one of the above.
    """

    # Without a screen SDL's window goes through EGL and ends it for MuJoCo in the same process, so
    # that a window is not what an environment opens by itself.
    metadata: dict[str, Any] = {**CarRacing.metadata, "render_modes": [*RENDER_MODES]}  # noqa: RUF012

    def __init__(
        self,
        variant: str | None = None,
        max_negative_rewards: int | None = None,
        lap_complete_percent: float = 1.0,
        render_mode: str | None = None,
    ) -> None:
        self.variant = _checks.one_of("variant", variant, VARIANTS)
        _checks.one_of("render_mode", render_mode, (None, *RENDER_MODES))
        self.max_negative_rewards = max_negative_rewards
        if max_negative_rewards is not None:
            _checks.integer("max_negative_rewards", max_negative_rewards, 1)
        super().__init__(render_mode=render_mode, lap_complete_percent=lap_complete_percent)
        EzPickle.__init__(self, variant, max_negative_rewards, lap_complete_percent, render_mode)
        self._negative_rewards = 0  # in a row

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode on a new track."""
        self._negative_rewards = 0
        return super().reset(seed=seed, options=options)

    def step(  # pyright: ignore[reportIncompatibleMethodOverride]  # theirs never truncates
        self, action: Any
    ) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act for 1/50 s.

        Raises:
            ValueError: the action is not finite or has another shape; out of range is clipped.
        """
        clipped: Any = None  # as reset has it, which draws the first picture
        if action is not None:
            clipped = np.clip(_checks.array("action", action, (3,)), ACTION_LOW, ACTION_HIGH)
        observation, reward, terminated, truncated, info = super().step(clipped)
        self._negative_rewards = self._negative_rewards + 1 if reward < 0 else 0
        limit = self.max_negative_rewards
        lost = limit is not None and self._negative_rewards > limit
        return observation, float(reward), terminated, truncated or lost, info

    def _create_track(self) -> bool:
        self._init_colors()
        made: bool = super()._create_track()
        if made and self.variant == "color":
            # After the track, so that the same seed gives the same one. Tiles share their colors
            # with the polygons that are drawn.
            road, grass = self.np_random.uniform(-COLOR_RANGE, COLOR_RANGE, 2)
            self.road_color = self.road_color + road
            self.bg_color = self.bg_color + grass
            assert self.road is not None
            for tile in self.road:
                tile.color += road
        return made

    def _render_road(self, zoom: float, translation: Any, angle: float) -> None:
        super()._render_road(zoom, translation, angle)
        if self.variant == "blob":
            right, ahead = BLOB_CORNER
            corners = [(0, 0), (BLOB_SIZE, 0), (BLOB_SIZE, BLOB_SIZE), (0, BLOB_SIZE)]
            assert self.car is not None
            hull = self.car.hull.transform
            square = [tuple(hull * (right + x, ahead + y)) for x, y in corners]
            self._draw_colored_polygon(self.surf, square, BLOB_COLOR, zoom, translation, angle)

    def _render_indicators(self, W: int, H: int) -> None:
        super()._render_indicators(W, H)
        if self.variant == "bar":
            assert self.surf is not None
            width, height = BAR_WIDTH * W, (1 - INDICATORS_HEIGHT) * H
            for left in (0, W - width):
                pygame.draw.rect(self.surf, (0, 0, 0), (left, 0, width, height))


# With the name of this module before it, gymnasium.make imports it and finds the id; so do
# EvolutionStrategies and ``iap-gym train``.
ID = "iap_gym/CarRacing-v0"
gymnasium.register(ID, entry_point=f"{__name__}:CarRacingVariant", max_episode_steps=1000)
