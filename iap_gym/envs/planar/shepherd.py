"""Shepherd: remember where the sheep went behind the wall, and have the cage there in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.planar.world import Array, Flags, World, by_columns, uniform

MOVE = 0.1  # length of a step for each unit of action
# Where agent and cage stay, and the sheep; until the gate opens the wall stops it at HIDDEN_Y.
AGENT_LOW, AGENT_HIGH = (-0.95, -0.95), (2.95, -0.05)
SHEEP_LOW, SHEEP_HIGH = (1.05, -1.05), (2.95, 0.95)
HIDDEN_Y = 0.0  # of a sheep behind the wall
LEVER = (-0.85, 0.0)
LEVER_RADIUS = 0.2
CAGE_RADIUS = 0.1  # for the agent to grasp it, and for the sheep to be caught

STARTS = ("right", "left")
START_X = {"right": (1.0, 3.0), "left": (-5.0, 3.0)}  # of the agent
START_Y = (-2.0, 0.0)
CAGE_OFFSET = 0.05  # |cage - agent| at the start along x and along y is below
SHEEP_START_X = (1.5, 2.5)
SHEEP_START_Y = (0.945, 0.955)
WALL_HEIGHT = (0.35, 0.65)
# A step of the sheep. The paper draws it at random and does not say from what: around the code's.
SPEED = {"code": (0.025, 0.025), "paper": (0.015, 0.035)}
MAX_SPEED = 0.1  # that a state may hold
# What is seen of a hidden sheep. The paper's lies outside its normal range and is not given.
HIDDEN_SEEN = {"code": (0.0, 0.0), "paper": (-1.0, 1.0)}
# Planning in the paper and in the code goes to worlds whose radii are this much larger.
PLANNING_RADIUS_FACTOR = {"code": 1.2, "paper": 1.5}

_SHEEP = slice(4, 6)
_SHEEP_Y, _WALL, _GATE, _CARRIED, _CAUGHT, _HIDDEN, _SPEED = 5, 6, 7, 8, 9, 10, 11
_SEEN = 7  # of the state: agent, cage, sheep, wall
_MIDDLE = np.array([1.0, -0.5, 1.0, -0.5, 2.0, 0.0, 0.0])  # is 0 in the observation
_SCALE = np.array([0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0])
# Of agent, cage and sheep. A closed wall is the sheep's floor already: what it hides is at 0.
_LOW, _HIGH = np.array(AGENT_LOW * 2 + SHEEP_LOW), np.array(AGENT_HIGH * 2 + SHEEP_HIGH)
_RADII = np.array([[LEVER_RADIUS], [CAGE_RADIUS], [CAGE_RADIUS]])


@dataclass(frozen=True)
class Shepherd(World):
    """The rules of Shepherd.

    State: agent x, y; cage x, y; sheep x, y; height of the wall; whether the gate is open, the
    cage carried, the sheep caught, the sheep hidden; speed of the sheep.

    Attributes:
        start: "right", where the sheep is, or "left", anywhere along the wall: half of those
            starts are at its left end, near the lever.
        radius_factor: times the radius of the lever and of the cage.
    """

    start: str = "right"
    radius_factor: float = 1.0

    state_names: ClassVar = (
        *("agent x", "agent y", "cage x", "cage y", "sheep x", "sheep y", "wall height"),
        *("gate open", "carried", "caught", "hidden", "sheep speed"),
    )
    events: ClassVar = {
        "gate_open": _GATE,
        "carried": _CARRIED,
        "caught": _CAUGHT,
        "hidden": _HIDDEN,
    }
    action_size: ClassVar = 3
    num_draws: ClassVar = 8

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        _checks.one_of("start", self.start, STARTS)
        _checks.real("radius_factor", self.radius_factor, 0.0, exclusive=True)

    @property
    def state_bounds(self) -> tuple[Array, Array]:
        """Lowest and highest state, (12,) each; those of either start."""
        (left, right), (bottom, top) = START_X["left"], START_Y
        off = CAGE_OFFSET
        low = [left, bottom, left - off, bottom - off, *SHEEP_LOW, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        high = [right, top, right + off, top + off, SHEEP_HIGH[0], SHEEP_START_Y[1], SHEEP_HIGH[1]]
        return np.array(low), np.array([*high, 1.0, 1.0, 1.0, 1.0, MAX_SPEED])

    def observation_space(self) -> spaces.Box:
        """Return the bounds of what either start and either variant can show."""
        low, high = (
            ((bound[:_SEEN] - _MIDDLE) * _SCALE).astype(np.float32) for bound in self.state_bounds
        )
        seen = np.array(list(HIDDEN_SEEN.values()), np.float32)
        low[_SHEEP] = np.minimum(low[_SHEEP], seen.min(0))
        high[_SHEEP] = np.maximum(high[_SHEEP], seen.max(0))
        return spaces.Box(low, high, dtype=np.float32)

    def initial(self, draws: Array) -> Array:
        """Return states with the cage carried; "paper" clips them to the walls at once."""
        state = by_columns(len(draws), len(self.state_names))
        agent_x, agent_y, cage_x, cage_y, sheep_x, sheep_y, wall, speed = draws.T
        state[:, 0] = uniform(*START_X[self.start], agent_x)
        state[:, 1] = uniform(*START_Y, agent_y)
        state[:, 2] = state[:, 0] + uniform(-CAGE_OFFSET, CAGE_OFFSET, cage_x)
        state[:, 3] = state[:, 1] + uniform(-CAGE_OFFSET, CAGE_OFFSET, cage_y)
        state[:, 4] = uniform(*SHEEP_START_X, sheep_x)
        state[:, 5] = uniform(*SHEEP_START_Y, sheep_y)
        state[:, _WALL] = uniform(*WALL_HEIGHT, wall)
        state[:, _GATE : _HIDDEN + 1] = 0.0
        state[:, _CARRIED] = 1.0
        state[:, _SPEED] = uniform(*SPEED[self.variant], speed)
        if self.variant == "paper":
            np.clip(state[:, :6], _LOW, _HIGH, out=state[:, :6])
        return state

    def step(self, state: Array, action: Array) -> tuple[Array, Array, Flags]:
        """Move the agent, the cage and the sheep, in this order; then gate, cage and catch."""
        new = state.copy("K")
        agent, cage, sheep, sheep_y = new[:, :2], new[:, 2:4], new[:, 4:6], new[:, _SHEEP_Y]
        gate, carried, caught = (state[:, _GATE : _CAUGHT + 1] > 0.5).T
        move = MOVE * action[:, :2]
        agent += move
        move *= state[:, _CARRIED, None]
        cage += move

        walks = ((sheep_y >= HIDDEN_Y) | gate) & ~caught
        sheep_y -= walks * state[:, _SPEED]
        hidden = (sheep_y < state[:, _WALL]) & ~(gate | caught)
        np.copyto(sheep_y, HIDDEN_Y, where=hidden)
        # One that is caught goes down with a cage that is carried on.
        np.minimum(sheep_y, new[:, 3], out=sheep_y, where=caught)
        bounded = new[:, :6]
        np.maximum(bounded, _LOW, out=bounded)
        np.minimum(bounded, _HIGH, out=bounded)

        ways = np.empty((3, 2, len(new)))
        np.subtract(agent, LEVER, out=ways[0].T)
        np.subtract(agent, cage, out=ways[1].T)
        np.subtract(sheep, cage, out=ways[2].T)
        ways *= ways
        radii = _RADII * self.radius_factor
        at_lever, graspable, at_cage = ways[:, 0] + ways[:, 1] < radii * radii
        gate = gate | at_lever
        carried = (carried | graspable) & (action[:, 2] > 0)
        catches = at_cage & gate & ~(carried | caught)
        ended = caught | catches
        for column, flags in enumerate((gate, carried, ended, hidden), start=_GATE):
            new[:, column] = flags
        return new, catches.astype(np.float64), ended

    def observe(self, state: Array) -> NDArray[np.float32]:
        """Return agent, cage, sheep and wall; a fixed place for a hidden sheep."""
        seen = state[..., :_SEEN] - _MIDDLE
        seen *= _SCALE
        observation = seen.astype(np.float32, order="C")
        hidden = state[..., _HIDDEN] > 0.5
        if hidden.any():
            observation[hidden, _SHEEP] = HIDDEN_SEEN[self.variant]
        return observation

    @staticmethod
    def places(observation: NDArray[Any]) -> Array:
        """Return where agent, cage and sheep are seen, x and y each, and the height of the wall.

        Args:
            observation: (..., 7).

        Returns:
            (..., 7) float64, in the lengths of the state.
        """
        return np.asarray(observation, np.float64) / _SCALE + _MIDDLE
