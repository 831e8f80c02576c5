"""`iap_gym/QuadrupedNavigation-v0`: through doors and rooms to a goal, indoors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs._angles import wrapped
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.envs.quadruped.mover import Place, Pose
from iap_gym.envs.quadruped.navigation_metrics import path_efficiency
from iap_gym.envs.quadruped.navigation_steering import indoor_low_level
from iap_gym.envs.quadruped.observation import no_tiny
from iap_gym.envs.quadruped.scenes.distance_field import DistanceField
from iap_gym.envs.quadruped.scenes.indoor import (
    Apartments,
    IndoorScene,
    SceneSource,
    Spec,
    scene_source,
)

Array = NDArray[np.float64]

V_CAP = 1.0  # m/s
GOAL_DISTANCE = (2.0, 6.0)  # m along the shortest way
GOAL_RADIUS = 0.4  # m
DEPTH_RANGE = (0.1, 5.0)  # m
EPISODE_STEPS = 2000  # of 0.01 s: for 6 m with some detours
ENDURANCE = 15.0  # s, mean of how long the surrogate touches furniture and walls before it falls
COMMAND_TIME = 0.15  # s
FARTHEST = 1000.0  # m, upper bound of the observed distance

_GOALS = 30  # that are drawn before the asked distances count as impossible
_WANDER = 22.0  # m beyond the farthest start in which ways are known: more than 20 s of walking
_PATH_EVERY = 10  # control steps between points of the walked path: the trunk sways within a stride


class NavigationTask:
    """Reach a goal that lies some way off.

    With D the length of the shortest way to the goal (``DistanceField``), the reward of a control
    step of dt seconds is

        r(t) = max(-c, min(D(t - 1) - D(t), c)),    c = v_cap dt

    The paper's reward for its Gibson experiment is not known; this is its eq. 11 and 12 with the
    way to the goal in the place of x. An episode ends, done, within ``goal_radius`` of the goal
    ("goal").

    Attributes:
        goal: (x, y) of this episode, m.
        shortest: length of the shortest way from the start, m.
        scene: of this episode.
        field: shortest ways to the goal from everywhere.

    Args:
        source: of scenes.
        goal_distance: least and largest length of the shortest way from the start, m.
        goal_radius: m.
        different_rooms: whether start and goal lie in different rooms, where rooms are known and
            there is such a start.
        start_yaw: the robot faces the direction of the way to the goal, turned by an angle uniform
            within +- this, rad.
        v_cap: fastest progress that is paid, m/s.

    Raises:
        ValueError: a number out of range.
    """

    successes: tuple[str, ...] = ("goal",)

    def __init__(
        self,
        source: SceneSource,
        goal_distance: Sequence[float] = GOAL_DISTANCE,
        goal_radius: float = GOAL_RADIUS,
        different_rooms: bool = True,
        start_yaw: float = math.pi,
        v_cap: float = V_CAP,
    ) -> None:
        self._source = source
        self._radius = _checks.real("goal_radius", goal_radius, 0.0, exclusive=True)
        self._nearest, self._farthest = _distances(goal_distance, self._radius)
        self._different_rooms = _checks.boolean("different_rooms", different_rooms)
        self._start_yaw = _checks.real("start_yaw", start_yaw, 0.0, math.pi)
        self._v_cap = _checks.real("v_cap", v_cap, 0.0, exclusive=True)
        high = np.array((FARTHEST, math.pi), np.float32)
        low = np.array((0.0, -math.pi), np.float32)
        self.spaces: Mapping[str, spaces.Space[Any]] = {"goal": spaces.Box(low, high)}

    def start(self, rng: np.random.Generator) -> Place:
        """Take a scene, draw a goal and a start.

        Raises:
            ValueError: the scene has no two points so far apart.
        """
        self.scene = self._source.sample(rng)
        self.goal, self.field, position = self._draw(self.scene, rng)
        self.shortest = self._distance = self.field(position)
        way = self.field.path(position)
        ahead = way[min(len(way) - 1, math.ceil(0.5 / self.scene.traversable.resolution))]
        yaw = math.atan2(*(ahead - position)[::-1]) + self._start_yaw * rng.uniform(-1.0, 1.0)
        self._steps, self._length, self._arrived = 0, 0.0, False
        self._corner = position
        x, y = position.tolist()
        height = self.scene.floor_height
        return Place(
            world=self.scene.world,
            scene=self.scene.view,
            position=(x, y, height + a1.START_HEIGHT),
            yaw=wrapped(yaw),
            floor_height=height,
            endurance=float(rng.exponential(ENDURANCE)),
            goal=((float(self.goal[0]), float(self.goal[1])), self._radius),
        )

    def advance(self, pose: Pose, dt: float) -> tuple[float, str | None]:
        """Pay the way that is less to go, capped; end near the goal."""
        self._steps += 1
        if self._steps % _PATH_EVERY == 0:
            self._length = self._walked(pose)
            self._corner = pose.position[:2]
        distance = self.field(pose.position[:2])
        if math.isinf(distance):  # far from where it can walk, such as on furniture
            return 0.0, None
        cap = self._v_cap * dt
        reward = max(-cap, min(self._distance - distance, cap))
        self._distance = distance
        # The way must be short, too: a goal behind a wall is not reached through it.
        near = self._straight(pose) <= self._radius
        self._arrived = near and distance <= 2.0 * self._radius
        return reward, "goal" if self._arrived else None

    def observe(self, pose: Pose) -> dict[str, NDArray[Any]]:
        """Return ``goal``: distance (m) and bearing (rad, positive is left), float32 (2,)."""
        ahead = self.goal - pose.position[:2]
        bearing = wrapped(math.atan2(ahead[1], ahead[0]) - pose.yaw)
        distance = min(self._straight(pose), FARTHEST)
        return {"goal": np.array((distance, bearing), np.float32)}

    def info(self, pose: Pose) -> dict[str, Any]:
        """Return goal, lengths of ways, that of the path so far, and what SPL gets of it."""
        walked = self._walked(pose)
        return {
            "goal": self.goal.copy(),
            "distance": self._distance,
            "shortest": self.shortest,
            "path_length": walked,
            "spl": path_efficiency(self._arrived, self.shortest, walked),
        }

    def _walked(self, pose: Pose) -> float:
        return self._length + math.dist(self._corner, pose.position[:2])

    def _straight(self, pose: Pose) -> float:
        return math.dist(self.goal, pose.position[:2])

    def _draw(
        self, scene: IndoorScene, rng: np.random.Generator
    ) -> tuple[Array, DistanceField, Array]:
        """Return a goal, the ways to it, and a start."""
        traversable = scene.traversable
        for attempt in range(_GOALS):
            goal = traversable.sample(rng)
            field = traversable.distances_to(goal, self._farthest + _WANDER)
            starts = (field.values >= self._nearest) & (field.values <= self._farthest)
            starts &= traversable.free
            # In the last attempts any room will do.
            if self._different_rooms and len(scene.rooms) > 1 and attempt < _GOALS // 2:
                for room in scene.rooms:
                    if room.contains(*goal.tolist()):
                        starts &= ~traversable.inside(room)
            if starts.any():
                return goal, field, traversable.sample(rng, starts)
        wanted = "distances that the scene has"
        raise _checks.refuse("goal_distance", wanted, (self._nearest, self._farthest))


class QuadrupedNavigationEnv(QuadrupedEnv):
    """Indoor navigation of a legged robot: the Gibson experiment of the IAP paper.

    Choromanski et al., "Unlocking Pixels for Reinforcement Learning via Implicit Attention": the
    A1 walks to a goal through doors and around furniture with a depth camera in front. No scanned
    scene may be shipped; the default is a new procedural apartment in each episode, and one's own
    scans are given as `scene`. Actions, `proprio`, `info` and the further arguments are those of
    `QuadrupedEnv`, but for the defaults `image_key="depth"`, `depth_range=(0.1, 5.0)`,
    `episode_steps=2000`, and with
    `control="latent"` a low level for small rooms (`indoor_low_level`) with `latent_size=2`, and
    `command_time=0.15`.

    ## Observation Space
    `Dict` of `depth` `Box(0, 1, (H, W, 1), float32)` or, with `image_key="camera"`, `camera`
    `Box(0, 255, (H, W, 3), uint8)`; `proprio`; and `goal` `Box((2,), float32)`: straight distance
    in m and bearing in rad, positive to the left.

    ## Rewards
    How much shorter the shortest way to the goal has become in each control step, between -`v_cap`
    and `v_cap` times its duration. The paper's own reward is not known.

    ## Episode End
    Terminates by a fall ("fall") or within `goal_radius` of the goal ("goal", a success; the robot
    need not stop).

    ## Info
    Adds `goal` (2,) m; `distance`, what the shortest way is still long, m; `shortest`, what it was
    at the start; `path_length`, what was walked, m; and `spl`, 0 before the goal and
    `shortest / max(path_length, shortest)` at it, whose mean over episodes is SPL
    (`navigation_metrics`). `unwrapped.task` has the scene and the ways (`scene`, `field`).

    Args:
        scene: None for apartments; `{"apartment": {...}}` with settings of `Apartment`; the path
            of a folder in the form of Gibson, iGibson, Replica or Matterport, or of a mesh file;
            or `{"path": ..., ...}` with settings of `MeshSettings`.
        goal_distance: least and largest length of the shortest way from the start, m.
        goal_radius: m.
        different_rooms: whether start and goal lie in different rooms, where rooms are known.
        start_yaw: the robot faces the way to the goal, turned by an angle uniform within +- this,
            rad.
        v_cap: fastest progress that is paid, m/s.
        **settings: of `QuadrupedEnv`.

    Raises:
        ValueError: an argument outside of this, or a scene that cannot be used.
        gymnasium.error.DependencyNotInstalled: a package that is needed is absent.
    """

    def __init__(
        self,
        scene: Spec | None = None,
        *,
        goal_distance: Sequence[float] = GOAL_DISTANCE,
        goal_radius: float = GOAL_RADIUS,
        different_rooms: bool = True,
        start_yaw: float = math.pi,
        v_cap: float = V_CAP,
        **settings: Any,
    ) -> None:
        source = scene_source(scene)
        if settings.get("renderer") == "tiny":
            if not isinstance(source, Apartments):
                raise no_tiny("a scene of a mesh")
            if source.apartment.textures:
                raise no_tiny("an apartment with textures")
        task = NavigationTask(source, goal_distance, goal_radius, different_rooms, start_yaw, v_cap)
        own = {"image_key": "depth", "depth_range": DEPTH_RANGE, "episode_steps": EPISODE_STEPS}
        settings = {**own, **settings}
        given = settings.get("low_level") is not None
        if settings.get("control") == "latent":
            size = settings.get("latent_size")
            if not given:
                settings["low_level"] = indoor_low_level(2 if size is None else size)
            if settings.get("command_time") is None:
                settings["command_time"] = COMMAND_TIME
        super().__init__(task, **settings)
        if not given:
            self.given_low_level = None


def _distances(value: Any, radius: float) -> tuple[float, float]:
    wanted = "two lengths (least, largest) in m"
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise _checks.refuse("goal_distance", wanted, value)
    least = _checks.real("goal_distance[0]", value[0], 0.0, exclusive=True)
    farthest = _checks.real("goal_distance[1]", value[1], least)
    if least <= radius:
        wanted = f"less than the {least:g} m of the nearest goal (goal_distance[0])"
        raise _checks.refuse("goal_radius", wanted, radius)
    return least, farthest
