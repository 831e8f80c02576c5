"""Fetch Pick and Place as a Gymnasium environment that hides velocities and rotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym.envs.fetch.cameras import CAMERAS, Cameras
from iap_gym.envs.fetch.goal import REWARDS, THRESHOLD, distance, reward_at
from iap_gym.envs.fetch.limits import StateLimits
from iap_gym.envs.fetch.simulation import TIME_STEP, Simulation

OBSERVATIONS = ("state", "pixels", "both")
BOTH = "both"  # cameras
FARTHEST_GOAL = 1000.0  # m from the origin, along each axis


class FetchPickAndPlaceEnv(gymnasium.Env[Any, NDArray[np.float32]]):
    """A robot arm is to bring a cube to a goal, on the table or above it.

    The physics is that of FetchPickAndPlace-v4 of gymnasium-robotics, to the bit. What is observed
    is what Gumbsch, Butz and Martius (2021) give their models: neither velocities nor the rotation
    of the cube, so that a grasp, a slide and a blow show in what follows alone.

    ## Observation Space
    `observation="state"`: `Box(-inf, inf, (11,), float32)`
    | number | what | |
    |---|---|---|
    | 0 - 2 | gripper x, y, z | m |
    | 3 - 5 | cube x, y, z | m |
    | 6 - 8 | cube minus gripper | m |
    | 9, 10 | right and left finger | m from closed, 0 to 0.05 |

    `"pixels"`: `Box(0, 255, (height, width, 3), uint8)` of one camera, or with `camera="both"` a
    `Dict` of `front` and `gripper`; the goal is the red ball. `"both"`: a `Dict` of `state` and the
    pictures under the names of their cameras. The numbers say nothing of the goal; it is in `info`.

    `goal_env=True` (`FetchPickAndPlaceGoalEnv`): a `Dict` of `observation`, the 11 numbers, and
    `achieved_goal` and `desired_goal`, each `Box(-inf, inf, (3,), float32)`; with
    `compute_reward(achieved_goal, desired_goal, info)`.

    ## Action Space
    `Box(-1, 1, (4,), float32)`: the gripper moves along x, y and z, towards 0.05 m at most, and the
    fingers open above 0 and close below. One with another shape or a number that is not finite
    raises `ValueError`; one out of range is clipped. Actions are rounded to float32.

    ## Rewards
    "sparse": 0 where the cube is within 0.05 m of the goal, else -1. "dense": minus the distance.

    ## Starting State
    The gripper is open over the table. The cube lies up to 0.15 m from it along x and y, at least
    0.1 m away. The goal is drawn from the same square; half of the goals are on the table, half up
    to 0.45 m above.

    ## Episode End
    Truncation after 50 steps of 0.04 s.

    ## Info
    `is_success` (bool): the goal is reached. Without `goal_env`, `desired_goal` (3,) float32.

    Args:
        observation: "state", "pixels" or "both".
        reward: "sparse" or "dense".
        goal: (x, y, z) in m, each within 1000 m of 0, the same for all episodes, so that an agent
            that does not see it can learn it; None: drawn at each reset.
        camera: "front", "gripper" or "both": what is observed. Where no picture is, it only chooses
            what `render` shows.
        height: of a picture, pixels.
        width: of a picture, pixels.
        render_mode: "rgb_array": `render` returns what `camera` sees; of both, the front one.

    Raises:
        ValueError: an argument outside of this.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (Gymnasium's name)
        "render_modes": ["rgb_array"],
        "render_fps": round(1 / TIME_STEP),
    }

    def __init__(
        self,
        *,
        observation: str = "state",
        reward: str = "sparse",
        goal: Sequence[float] | None = None,
        camera: str = "front",
        height: int = 240,
        width: int = 320,
        render_mode: str | None = None,
    ) -> None:
        self._observation = _checks.one_of("observation", observation, OBSERVATIONS)
        self._reward = _checks.one_of("reward", reward, REWARDS)
        self._fixed_goal = None if goal is None else _goal("goal", goal)
        _checks.one_of("camera", camera, (*CAMERAS, BOTH))
        shape = _checks.integer("height", height, 1), _checks.integer("width", width, 1)
        self.render_mode = _checks.one_of("render_mode", render_mode, ("rgb_array", None))
        self._settings: dict[str, Any] = {
            "observation": observation,
            "reward": reward,
            "goal": None if self._fixed_goal is None else self._fixed_goal.tolist(),
            "camera": camera,
            "height": height,
            "width": width,
            "render_mode": render_mode,
        }
        self._seen: list[str] = list(CAMERAS) if camera == BOTH else [camera]
        self._simulation = Simulation()
        self._limits = StateLimits(self._simulation)
        self._cameras = Cameras(self._simulation, *shape)
        self._goal = np.zeros(3)
        self._ready = False  # there is a state
        self.action_space = spaces.Box(-1, 1, (4,), np.float32)
        self.observation_space = self._space((*shape, 3))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: starts the stream of random numbers; None goes on with it.
            options: ignored, whatever is in it.

        Returns:
            The observation and info.
        """
        super().reset(seed=seed)
        goal = self._simulation.begin(self.np_random)
        self._goal = goal if self._fixed_goal is None else self._fixed_goal
        self._ready = True
        numbers = self._simulation.read().astype(np.float32)
        return self._observe(numbers), self._info(self._distance(numbers))

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Move for 0.04 s.

        Args:
            action: (4,) finite numbers, clipped to [-1, 1].

        Returns:
            Observation, reward, False, False and info.

        Raises:
            ValueError: another shape, or a number that is not finite.
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        numbers = _checks.array("action", action, (4,))
        self._check_ready("step")
        self._simulation.step(np.clip(numbers, -1, 1).astype(np.float32))
        seen = self._simulation.read().astype(np.float32)
        far = self._distance(seen)
        reward = float(reward_at(far, self._reward))
        return self._observe(seen), reward, False, False, self._info(far)

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        """Return a picture, uint8 (height, width, 3).

        Raises:
            gymnasium.error.ResetNeeded: there is no state yet.
            RuntimeError: rendering does not work, or this is a fork of a process that renders.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render: make the environment with render_mode="rgb_array"')
            return None
        self._check_ready("render")
        return self._cameras.draw(self._seen[0], self._goal)

    def close(self) -> None:
        """Free the rendering context; a second call does nothing."""
        self._cameras.close()

    def get_state(self) -> NDArray[np.float64]:
        """Return a copy of all that the future depends on but random numbers, float64 (S,).

        It is MuJoCo's state of integration (time, positions, velocities, warm start, controls and
        all that is applied), the positions that were last read, and the goal. How many steps the
        episode has had is no part of it.

        Raises:
            gymnasium.error.ResetNeeded: there is no state yet.
        """
        self._check_ready("get_state")
        return np.concatenate([self._simulation.get_state(), self._goal])

    def set_state(self, state: ArrayLike) -> None:
        """Go on from a state of this instance or another one: what follows is the same to the bit.

        Args:
            state: (S,), copied.

        Raises:
            ValueError: another shape, a number that is not finite, one that no play leads to, by
                far, or a rotation whose quaternion has not the length it must have. The state is
                then the one it was.
        """
        size = self._simulation.state_size
        numbers = _checks.array("state", state, (size + 3,), copy=True)
        self._limits.check(numbers[:size])
        goal = _goal(f"state[{size}:] (goal)", numbers[size:])
        self._simulation.set_state(numbers[:size])
        self._goal = goal
        self._ready = True

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle is made of; both go on from here."""
        return {
            "settings": self._settings,
            "state": self.get_state() if self._ready else None,
            "random": (self._np_random, self._np_random_seed),
            "spaces": (self.observation_space, self.action_space),
            "spec": self.spec,
        }

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Become the environment that was kept."""
        self.__init__(**kept["settings"])
        if kept["state"] is not None:
            self.set_state(kept["state"])
        self._np_random, self._np_random_seed = kept["random"]
        self.observation_space, self.action_space = kept["spaces"]
        self.spec = kept["spec"]

    def _check_ready(self, verb: str) -> None:
        if not self._ready:
            raise ResetNeeded(f"{verb}: call reset or set_state first, there is no state yet")

    def _space(self, picture: tuple[int, int, int]) -> spaces.Space[Any]:
        numbers = spaces.Box(-np.inf, np.inf, (11,), np.float32)
        if self._observation == "state":
            return numbers
        pictures: dict[str, spaces.Space[Any]] = {
            name: spaces.Box(0, 255, picture, np.uint8) for name in self._seen
        }
        if self._observation == "both":
            return spaces.Dict({**pictures, "state": numbers})
        return spaces.Dict(pictures) if len(self._seen) > 1 else pictures[self._seen[0]]

    def _observe(self, numbers: NDArray[np.float32]) -> Any:
        if self._observation == "state":
            return numbers
        pictures = {name: self._cameras.draw(name, self._goal) for name in self._seen}
        if self._observation == "both":
            return {**pictures, "state": numbers}
        return pictures if len(self._seen) > 1 else pictures[self._seen[0]]

    def _distance(self, numbers: NDArray[np.float32]) -> Any:
        # From what a goal environment observes, which is float32.
        return distance(numbers[3:6], self._goal.astype(np.float32))

    def _info(self, far: Any) -> dict[str, Any]:
        return {"is_success": bool(far < THRESHOLD), "desired_goal": self._goal.astype(np.float32)}


class FetchPickAndPlaceGoalEnv(FetchPickAndPlaceEnv):
    """``FetchPickAndPlaceEnv`` with its goals observed, for hindsight replay."""

    def compute_reward(self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any) -> Any:
        """Return the rewards (...) of having brought the cube to places (..., 3), float64.

        Args:
            achieved_goal: (..., 3) in m.
            desired_goal: (..., 3) in m.
            info: not used.

        Raises:
            ValueError: places that are not finite numbers (..., 3).
        """
        achieved = _checks.array("achieved_goal", achieved_goal, (..., 3))
        desired = _checks.array("desired_goal", desired_goal, (..., 3))
        return reward_at(distance(achieved, desired), self._reward)

    def compute_terminated(
        self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any
    ) -> bool:
        """Return False: no goal ends an episode."""
        return False

    def compute_truncated(
        self, achieved_goal: ArrayLike, desired_goal: ArrayLike, info: Any
    ) -> bool:
        """Return False: the time limit is a wrapper's."""
        return False

    def _space(self, picture: tuple[int, int, int]) -> spaces.Space[Any]:
        if self._observation != "state":
            wanted = '"state" with goal_env, since achieved_goal would show what pictures do not'
            raise _checks.refuse("observation", wanted, self._observation)
        place = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        observed = {"observation": super()._space(picture)}
        return spaces.Dict({**observed, "achieved_goal": place, "desired_goal": place})

    def _observe(self, numbers: NDArray[np.float32]) -> Any:
        goal = self._goal.astype(np.float32)
        return {
            "observation": numbers,
            "achieved_goal": numbers[3:6].copy(),
            "desired_goal": goal,
        }

    def _info(self, far: Any) -> dict[str, Any]:
        return {"is_success": bool(far < THRESHOLD)}


def _goal(name: str, value: Any) -> NDArray[np.float64]:
    goal = _checks.array(name, value, (3,), copy=True)
    if np.abs(goal).max() > FARTHEST_GOAL:
        raise _checks.refuse(
            name, f"a place within {FARTHEST_GOAL:g} m of 0 along each axis", value
        )
    return goal
