"""Many planar worlds, stepped at once, as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.planar.painter import HEIGHT, RENDER_MODES, TRAIL, WIDTH, Painter
from iap_gym.envs.planar.world import Array, Flags, World, by_columns, clipped_action

W = TypeVar("W", bound=World)


class PlanarVectorEnv(VectorEnv[NDArray[np.float32], Any, NDArray[Any]], Generic[W]):
    """n worlds, the same to the bit as n single environments in a ``SyncVectorEnv``.

    World i has a generator of its own, seeded with seed + i. A world whose episode ended starts
    anew at the next step, whatever its action, with reward 0 (``AutoresetMode.NEXT_STEP``).

    Attributes:
        world: the rules, with their settings.
        max_episode_steps: an episode is truncated after so many.

    Args:
        num_envs: n.
        max_episode_steps: ``gymnasium.make_vec`` hands on the number of the id; None for no limit.
        render_mode: None or "rgb_array".
        height: of a picture, pixels.
        width: of a picture, pixels.
        trail: so many steps of the ball's or the agent's way are drawn.
        **settings: of the world.

    Raises:
        ValueError: an argument outside of this.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's name)
        "render_modes": RENDER_MODES,
        "render_fps": 10,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    world_class: ClassVar[type[World]]
    world: W

    def __init__(
        self,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        *,
        height: int = HEIGHT,
        width: int = WIDTH,
        trail: int = TRAIL,
        **settings: Any,
    ) -> None:
        self.num_envs = _checks.integer("num_envs", num_envs, 1)
        if max_episode_steps is not None:
            _checks.integer("max_episode_steps", max_episode_steps, 1)
        self.max_episode_steps = max_episode_steps
        self.world = self.world_class(**settings)  # type: ignore[assignment]
        self._painter = Painter(self.world, render_mode, height, width, trail)
        self.render_mode = render_mode
        self.single_observation_space = self.world.observation_space()
        self.single_action_space = self.world.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._action_shape = (num_envs, *(self.single_action_space.shape or ()))
        self._generators: list[np.random.Generator] = []
        self._seeds: list[int] = []
        self._state: Array | None = None  # (n, S)
        self._elapsed = np.zeros(num_envs, np.int64)  # steps of each episode
        self._ended = np.zeros(num_envs, np.bool_)  # at the last step

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The worlds' generators, as ``SyncVectorEnv`` gives them."""
        self._seed([None] * self.num_envs)
        return tuple(self._generators)

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """What the worlds' generators were seeded with."""
        self._seed([None] * self.num_envs)
        return tuple(self._seeds)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start an episode in every world.

        Args:
            seed: of world 0, world i having seed + i; or one for each; None goes on with the
                streams of random numbers.
            options: ``{"reset_mask": bool (n,)}`` starts only those worlds.

        Returns:
            Observations (n, D) and the events.

        Raises:
            ValueError: another number of seeds, or a mask of another kind.
            gymnasium.error.ResetNeeded: a mask leaves worlds without a state.
        """
        seeds, mask = self._seeds_wanted(seed), self._reset_mask(options)
        if self._state is None and not mask.all():
            raise ResetNeeded("reset: the worlds outside of reset_mask have no state yet")
        self._seed([seed if starts else None for seed, starts in zip(seeds, mask, strict=True)])
        if self._state is None:
            self._state = by_columns(self.num_envs, len(self.world.state_names))
        self._start(self._state, np.flatnonzero(mask))
        self._painter.start(self._state)
        self._ended[mask] = False
        infos = self._infos(self._state)
        if not mask.all():
            for name in self.world.events:
                infos[name] &= mask
                infos[f"_{name}"] &= mask
        return self.world.observe(self._state), infos

    def step(self, actions: Any) -> tuple[NDArray[np.float32], Array, Flags, Flags, dict[str, Any]]:
        """Take an action in every world, or start it anew if its episode has ended.

        Args:
            actions: finite numbers, (n, A) or, where the action is one number, (n,).

        Returns:
            Observations (n, D) float32, rewards (n,) float64, terminations and truncations (n,)
            bool and the events (n,) bool, each with its mask ``_name`` of ones.

        Raises:
            ValueError: another shape, or a number that is not finite.
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        clipped = clipped_action("actions", actions, self._action_shape)
        state, rewards, terminated = self.world.step(self._known(), clipped)
        self._elapsed += 1
        if self.max_episode_steps is None:
            truncated = np.zeros(self.num_envs, np.bool_)
        else:
            truncated = self._elapsed >= self.max_episode_steps
        if self._ended.any():
            rows = np.flatnonzero(self._ended)
            self._start(state, rows)
            rewards[rows] = 0.0
            terminated[rows] = truncated[rows] = False
        self._state = state
        self._painter.add(state)
        self._ended = terminated | truncated
        return self.world.observe(state), rewards, terminated, truncated, self._infos(state)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Return a picture of each world, uint8 (height, width, 3).

        Raises:
            gymnasium.error.ResetNeeded: there are no states yet.
        """
        return self._painter.frames(self._elapsed.tolist())

    @property
    def starts_anew(self) -> NDArray[np.bool_]:
        """Which worlds the next step starts anew, as their episodes have ended, bool (n,)."""
        return self._ended.copy()

    def get_state(self) -> Array:
        """Return a copy of the states, float64 (n, S); times passed are no part of them.

        Raises:
            gymnasium.error.ResetNeeded: there are no states yet.
        """
        return self._known().copy()

    def set_state(self, state: Any) -> None:
        """Go on from other states; no world waits to start anew any more.

        Args:
            state: (n, S), copied.

        Raises:
            ValueError: another shape, a number that is not finite, or one outside the world.
        """
        shape = (self.num_envs, len(self.world.state_names))
        self._state = np.asfortranarray(self.world.checked_state(state, shape))
        self._seed([None] * self.num_envs)  # starts to come are drawn, without a reset before, too
        self._painter.start(self._state)
        self._ended = np.zeros(self.num_envs, np.bool_)

    def _known(self) -> Array:
        if self._state is None:
            raise ResetNeeded("call reset or set_state first, there is no state yet")
        return self._state

    def _start(self, state: Array, rows: NDArray[np.intp]) -> None:
        """Write starts of episodes into rows of ``state``."""
        draws = np.empty((len(rows), self.world.num_draws))
        for row, index in zip(draws, rows.tolist(), strict=True):
            self._generators[index].random(out=row)
        state[rows] = self.world.initial(draws)
        self._elapsed[rows] = 0

    def _infos(self, state: Array) -> dict[str, Any]:
        infos: dict[str, Any] = {}
        for name, flags in self.world.read_events(state).items():
            infos[name] = flags
            infos[f"_{name}"] = np.ones(self.num_envs, np.bool_)
        return infos

    def _seeds_wanted(self, seed: Any) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, Sequence | np.ndarray):
            first = _checks.integer("seed", seed)
            return [first + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise _checks.refuse("seed", f"one, or {self.num_envs} of them", seed)
        return [None if each is None else _checks.integer("seed", each) for each in seed]

    def _seed(self, seeds: Sequence[int | None]) -> None:
        """Seed the generators anew, those whose seed is None only where there are none yet."""
        if not self._generators:
            pairs = [seeding.np_random(seed) for seed in seeds]
            self._generators = [generator for generator, _ in pairs]
            self._seeds = [seed for _, seed in pairs]
            return
        for index, seed in enumerate(seeds):
            if seed is not None:
                self._generators[index], self._seeds[index] = seeding.np_random(seed)

    def _reset_mask(self, options: dict[str, Any] | None) -> Flags:
        mask = (options or {}).get("reset_mask")
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        wanted = f"a bool array of shape ({self.num_envs},) with a True in it"
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise _checks.refuse("options['reset_mask']", wanted, mask)
        if mask.shape != (self.num_envs,) or not mask.any():
            raise _checks.refuse("options['reset_mask']", wanted, mask)
        return mask
