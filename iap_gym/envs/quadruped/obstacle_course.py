"""`iap_gym/QuadrupedObstacleCourse-v0`: through the gaps of the walls, as far as time allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.course import Course, Layout
from iap_gym.envs.quadruped.env import QuadrupedEnv
from iap_gym.envs.quadruped.mover import Place, Pose
from iap_gym.envs.quadruped.observation import no_tiny
from iap_gym.envs.quadruped.world import World

V_CAP = 1.0  # m/s


class CourseTask:
    """Get ahead, on the platform.

    The reward of a control step of dt seconds is the paper's (eq. 11 and 12)

        r(t) = max(-c, min(x(t) - x(t - 1), c)),    c = v_cap dt

    An episode ends at the platform's edges ("edge") and, done, at its end ("finish").

    Attributes:
        course: how hard it is.
        layout: of this episode.

    Args:
        course: how hard it is.
        v_cap: fastest speed that is paid, m/s; the paper's value is not known.

    Raises:
        ValueError: ``v_cap`` is not positive.
    """

    successes = ("finish",)

    def __init__(self, course: Course, v_cap: float = V_CAP) -> None:
        self.course = course
        self.spaces: Mapping[str, spaces.Space[Any]] = {}
        self._v_cap = _checks.real("v_cap", v_cap, 0.0, exclusive=True)
        self._x = 0.0

    def start(self, rng: np.random.Generator) -> Place:
        """Draw a layout and stand at its start."""
        self.layout = self.course.sample(rng)
        self._x = 0.0
        return course_place(self.layout)

    def advance(self, pose: Pose, dt: float) -> tuple[float, str | None]:
        """Pay the way along x, capped; end off the platform."""
        x, y, _ = pose.position.tolist()
        cap = self._v_cap * dt
        reward = max(-cap, min(x - self._x, cap))  # (eq. 11, 12)
        self._x = x
        if x >= self.layout.length:
            return reward, "finish"
        off = x < -self.course.platform_back or abs(y) > self.course.platform_width / 2
        return reward, "edge" if off else None

    def observe(self, pose: Pose) -> dict[str, NDArray[Any]]:
        """Return nothing: camera and proprioception are all."""
        return {}

    def info(self, pose: Pose) -> dict[str, Any]:
        """Return ``distance``, x in m, and ``walls_passed``."""
        x = float(pose.position[0])
        passed = sum(wall < x for wall, _ in self.layout.gap_centers)
        return {"distance": x, "walls_passed": passed}


def course_place(layout: Layout) -> Place:
    """Return where an episode on a layout takes place."""
    floor = layout.course.platform_height
    return Place(
        world=World(layout.boxes, ground_height=0.0),
        scene=layout.scene(),
        position=(0.0, layout.start_y, floor + a1.START_HEIGHT),
        yaw=layout.start_yaw,
        floor_height=floor,
        num_floors=1,
        turn_factor=layout.turn_factor,
        turn_drift=layout.turn_drift,
    )


class QuadrupedObstacleCourseEnv(QuadrupedEnv):
    """The obstacle course of the IAP paper: a platform with walls ahead, each with one gap.

    Choromanski et al., "Unlocking Pixels for Reinforcement Learning via Implicit Attention",
    section 5.3 and A.2. Actions, observations (`camera`, `proprio`), `info` and the further
    arguments are those of `QuadrupedEnv`.

    ## Rewards
    The way along x in each control step, between -`v_cap` and `v_cap` times its duration.

    ## Episode End
    Terminates by a fall ("fall"), when the trunk's origin is beyond an edge ("edge"), or at the
    end of the platform ("finish", a success).

    ## Info
    Adds `distance` (x, m) and `walls_passed`. `unwrapped.layout` tells where the gaps are.

    Args:
        course: "flat", "easy", "medium" or "hard"; a dict of settings of `Course`, with "preset"
            to start from one; or None for "medium".
        v_cap: fastest speed that is paid, m/s.
        **settings: of `QuadrupedEnv`.
    """

    def __init__(
        self,
        course: str | Mapping[str, Any] | Course | None = None,
        *,
        v_cap: float = V_CAP,
        **settings: Any,
    ) -> None:
        task = CourseTask(Course.from_spec(course), v_cap)
        textures = task.course.textures
        if settings.get("renderer") == "tiny" and textures != "plain":
            raise no_tiny(f'a course with the textures "{textures}"')
        super().__init__(task, **settings)

    @property
    def layout(self) -> Layout:
        """Of this episode.

        Raises:
            gymnasium.error.ResetNeeded: before the first reset.
        """
        assert isinstance(self.task, CourseTask)
        if self.place is None:
            raise ResetNeeded("layout: call reset first, it is drawn there")
        return self.task.layout
