"""One planar world as a Gymnasium environment."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from iap_gym.envs.planar.painter import HEIGHT, RENDER_MODES, TRAIL, WIDTH, Painter
from iap_gym.envs.planar.world import Array, World, clipped_action

W = TypeVar("W", bound=World)


class PlanarEnv(gymnasium.Env[Any, Any], Generic[W]):
    """An environment around a ``World``; its subclasses name one and describe it.

    Attributes:
        world: the rules, with their settings.

    Args:
        render_mode: None or "rgb_array".
        height: of a picture, pixels.
        width: of a picture, pixels.
        trail: so many steps of the ball's or the agent's way are drawn; 0 for pictures that an
            agent learns from, which are to show no memory.
        **settings: of the world.

    Raises:
        ValueError: a setting that the world does not allow.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's name)
        "render_modes": RENDER_MODES,
        "render_fps": 10,
    }
    world_class: ClassVar[type[World]]
    world: W

    def __init__(
        self,
        render_mode: str | None = None,
        *,
        height: int = HEIGHT,
        width: int = WIDTH,
        trail: int = TRAIL,
        **settings: Any,
    ) -> None:
        self.world = self.world_class(**settings)  # type: ignore[assignment]
        self._painter = Painter(self.world, render_mode, height, width, trail)
        self.render_mode = render_mode
        self.observation_space = self.world.observation_space()
        self.action_space = self.world.action_space()
        self._action_shape: tuple[int, ...] = self.action_space.shape or ()
        self._state: Array | None = None  # (1, S)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode.

        Args:
            seed: starts the stream of random numbers; None goes on with it.
            options: not used.

        Returns:
            The observation and the events.
        """
        super().reset(seed=seed)
        self._state = self.world.initial(self.np_random.random((1, self.world.num_draws)))
        self._painter.start(self._state)
        return self.world.observe(self._state)[0], self._info(self._state)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Take an action. The world goes on after an end, as planners may ask of it.

        Args:
            action: finite numbers of the action's shape, clipped to [-1, 1].

        Returns:
            Observation, reward, terminated, False and the events (Python bools).

        Raises:
            ValueError: another shape, or a number that is not finite.
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        numbers = clipped_action("action", action, self._action_shape)
        state, reward, terminated = self.world.step(self._known(), numbers[None])
        self._state = state
        self._painter.add(state)
        observation = self.world.observe(state)[0]
        return observation, reward.item(), terminated.item(), False, self._info(state)

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Return a picture of the world, uint8 (height, width, 3).

        Raises:
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        frames = self._painter.frames()
        return None if frames is None else frames[0]

    def get_state(self) -> Array:
        """Return a copy of the state, float64 (S,); the time that has passed is no part of it.

        Raises:
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        return self._known()[0].copy()

    def set_state(self, state: Any) -> None:
        """Go on from a state, of this instance or of another one with the same settings.

        Args:
            state: (S,), copied.

        Raises:
            ValueError: another shape, a number that is not finite, or one outside the world.
        """
        self._state = self.world.checked_state(state, (len(self.world.state_names),))[None]
        self._painter.start(self._state)

    def _known(self) -> Array:
        if self._state is None:
            raise ResetNeeded("call reset or set_state first, there is no state yet")
        return self._state

    def _info(self, state: Array) -> dict[str, Any]:
        return {name: flags.item() for name, flags in self.world.read_events(state).items()}
