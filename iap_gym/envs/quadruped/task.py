"""What is to be done on the robot: the part of an environment that differs from task to task."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Protocol, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped.mover import Place, Pose

MEMBERS = ("spaces", "successes", "start", "advance", "observe", "info")
INFO = frozenset(
    ("position", "yaw", "speed", "collisions", "control_steps", "success", "end")
)  # that is the robot's
ROBOTS = ("proprio", "camera", "depth")  # entries of the observation that are the robot's

_NUMBERS = (float, int, np.floating, np.integer)


class Task(Protocol):
    """Where the robot is put, what it is paid for and when an episode ends."""

    @property
    def spaces(self) -> Mapping[str, spaces.Space[Any]]:
        """Entries of the observation beside camera and proprioception, under names of their own."""
        ...

    @property
    def successes(self) -> tuple[str, ...]:
        """The ends that mean that the task is done."""
        ...

    def start(self, rng: np.random.Generator) -> Place:
        """Begin an episode; all that is random in it comes from ``rng``."""
        ...

    def advance(self, pose: Pose, dt: float) -> tuple[float, str | None]:
        """Return the reward of a control step of ``dt`` s that led to a pose, and why it ended.

        A fall need not be looked for: every task ends by it, unless it ended by itself.
        """
        ...

    def observe(self, pose: Pose) -> dict[str, NDArray[Any]]:
        """Return the entries of ``spaces``."""
        ...

    def info(self, pose: Pose) -> dict[str, Any]:
        """Return what else is worth telling, under names that the robot's info has not."""
        ...


def checked_task(task: Any) -> Task:
    """Return a task if it has what ``Task`` has.

    Raises:
        ValueError: it is a class, lacks a member, or has one of another kind.
    """
    wanted = f"an instance with {', '.join(MEMBERS)}"
    if isinstance(task, type):
        raise _checks.refuse("task", wanted, task)
    absent = [name for name in MEMBERS if not hasattr(task, name)]
    if absent:
        came = _checks.Words(f"{task!r} without {', '.join(absent)}")
        raise _checks.refuse("task", wanted, came)
    for name in MEMBERS[2:]:
        if not callable(getattr(task, name)):
            raise _checks.refuse(f"task.{name}", "a method", getattr(task, name))
    entries = task.spaces
    if not isinstance(entries, Mapping) or not all(
        isinstance(name, str) and isinstance(space, spaces.Space)
        for name, space in cast("Mapping[Any, Any]", entries).items()
    ):
        raise _checks.refuse("task.spaces", "a dict of names and spaces", entries)
    for name in ROBOTS:
        if name in entries:
            raise _checks.refuse("task.spaces", f"names other than {', '.join(ROBOTS)}", name)
    ends = task.successes
    if (
        isinstance(ends, str)
        or not isinstance(ends, Collection)
        or not all(isinstance(end, str) for end in cast("Collection[Any]", ends))
    ):
        raise _checks.refuse("task.successes", "a tuple of strings", ends)
    return task


def started(task: Task, rng: np.random.Generator) -> Place:
    """Begin an episode of a task.

    Raises:
        ValueError: it gives no place.
    """
    return _checks.instance("task.start", task.start(rng), Place, "to return a Place")


def observed(task: Task, pose: Pose) -> dict[str, NDArray[Any]]:
    """Return a task's entries of the observation.

    Raises:
        ValueError: they are others than ``spaces``.
    """
    entries: Any = task.observe(pose)
    if not isinstance(entries, dict) or entries.keys() != task.spaces.keys():
        wanted = f"to return a dict with the keys {list(task.spaces)}"
        raise _checks.refuse("task.observe", wanted, entries)
    return entries


def told(task: Task, pose: Pose) -> dict[str, Any]:
    """Return a task's part of info.

    Raises:
        ValueError: it is no dict, or has one of the names of the robot's info.
    """
    entries: Any = task.info(pose)
    if not isinstance(entries, dict) or not INFO.isdisjoint(entries):
        wanted = f"to return a dict without the robot's keys {sorted(INFO)}"
        raise _checks.refuse("task.info", wanted, entries)
    return entries


def outcome(came: Any) -> tuple[float, str | None]:
    """Return what ``Task.advance`` gave if it is a reward and an end.

    Raises:
        ValueError: it is not.
    """
    # At every control step: names and casts would cost more than what they check.
    if isinstance(came, tuple) and len(came) == 2:
        reward: Any = came[0]
        end: Any = came[1]
        ended = end is None or isinstance(end, str)
        if ended and isinstance(reward, _NUMBERS) and math.isfinite(reward):
            return float(reward), end
    raise _checks.refuse("task.advance", "to return (finite reward, end or None)", came)
