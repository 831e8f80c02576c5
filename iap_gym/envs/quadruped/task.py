"""What is to be done on the robot: the part of an environment that differs from task to task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym.envs.quadruped.mover import Place, Pose


class Task(Protocol):
    """Where the robot is put, what it is paid for and when an episode ends."""

    @property
    def spaces(self) -> Mapping[str, spaces.Space[Any]]:
        """Entries of the observation beside camera and proprioception."""
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
        """Return what else is worth telling."""
        ...
