"""Robot Remote Control: reach the computer, and your actions move a robot in another room too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.planar.world import Array, Flags, World, by_columns, uniform

# Each room has coordinates of its own, with the origin in its middle.
MOVE = 0.1  # length of a step for each unit of action
WALL = 0.95  # |coordinate| that nothing passes
START = 1.0  # |coordinate| at the start is below
COMPUTER = (0.5, 0.5)  # in the agent's room
GOAL = (0.5, -0.5)  # in the robot's room
RADIUS = 0.1  # of the computer and of the goal
# Planning in the paper goes to a world whose radii are this much larger; so it is in the code.
PLANNING_RADIUS_FACTOR = {"code": 1.5, "paper": 1.5}

_CONTROLLED = 4
_TARGETS = np.array([*COMPUTER, *GOAL])


@dataclass(frozen=True)
class RobotRemoteControl(World):
    """The rules of Robot Remote Control.

    State: agent x, agent y, robot x, robot y, and whether the robot is controlled.

    Attributes:
        radius_factor: times the radius of the computer and of the goal.
    """

    radius_factor: float = 1.0

    state_names: ClassVar = ("agent x", "agent y", "robot x", "robot y", "controlled")
    events: ClassVar = {"controlled": _CONTROLLED}
    action_size: ClassVar = 2
    num_draws: ClassVar = 4

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        _checks.real("radius_factor", self.radius_factor, 0.0, exclusive=True)

    @property
    def state_bounds(self) -> tuple[Array, Array]:
        """Lowest and highest state, (5,) each."""
        return np.array([-START] * 4 + [0.0]), np.array([START] * 4 + [1.0])

    def observation_space(self) -> spaces.Box:
        """Return agent x, y and robot x, y in [-1, 1]."""
        return spaces.Box(-START, START, (4,), np.float32)

    def initial(self, draws: Array) -> Array:
        """Return states with agent and robot anywhere; "paper" clips them to the room at once."""
        state = by_columns(len(draws), len(self.state_names))
        state[:, :4] = uniform(-START, START, draws)
        if self.variant == "paper":
            np.clip(state[:, :4], -WALL, WALL, out=state[:, :4])
        state[:, _CONTROLLED] = 0.0
        return state

    def step(self, state: Array, action: Array) -> tuple[Array, Array, Flags]:
        """Move, and learn whether the computer and the goal have been reached."""
        move = MOVE * action
        new = state.copy("K")
        agent, robot, positions = new[:, :2], new[:, 2:4], new[:, :4]
        agent += move
        # The flag of earlier steps: reaching the computer moves the robot from the next one on.
        move *= state[:, _CONTROLLED:]
        robot += move
        np.maximum(positions, -WALL, out=positions)
        np.minimum(positions, WALL, out=positions)
        away = positions - _TARGETS
        away *= away
        radius = RADIUS * self.radius_factor
        near = away[:, ::2] + away[:, 1::2] < radius * radius
        controlled, reached = new[:, _CONTROLLED], near[:, 1]
        np.maximum(controlled, near[:, 0], out=controlled)
        return new, reached.astype(np.float64), reached

    def observe(self, state: Array) -> NDArray[np.float32]:
        """Return where agent and robot are."""
        return state[..., :4].astype(np.float32, order="C")
