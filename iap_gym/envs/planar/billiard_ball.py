"""Billiard Ball: one ball on a table with low friction, cushions and six pockets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.planar.world import Array, Flags, World, by_columns, uniform

# Lengths are in halves of the table's length, times in steps. The table is twice as long as wide,
# and observations scale x and y apart, each to [-1, 1].
HALF = np.array([1.0, 0.5])
POCKETS = np.array([(x, y) for y in (-0.5, 0.5) for x in (-1.0, 0.0, 1.0)])
SPEED = (0.02, 0.1)  # at the start
RESTITUTION = 0.466  # of the normal velocity at a cushion; the tangential one stays
DRAG = 0.001  # of the speed, lost in a step
POCKET_RADIUS = 0.1
MAX_SPEED = 1000.0  # along x or y, that a state may hold

_PLACE, _VELOCITY, _POCKETED, _BOUNCE = slice(0, 2), slice(2, 4), 4, 5


@dataclass(frozen=True)
class BilliardBall(World):
    """The rules of Billiard Ball.

    State: x, y, velocity along x and y, whether the ball is in a pocket, and whether it met a
    cushion in the last step. The ball is a point.

    Attributes:
        restitution: a cushion turns the normal velocity around and multiplies it by this, in
            [0, 1].
        drag: the velocity decays as v(t) = v(0) exp(-drag t) between cushions.
        pocket_radius: a ball that comes so near to a pocket lies still in its middle from there
            on; 0 for a table without pockets. Below 0.5.
    """

    restitution: float = RESTITUTION
    drag: float = DRAG
    pocket_radius: float = POCKET_RADIUS

    state_names: ClassVar = ("x", "y", "velocity x", "velocity y", "pocketed", "bounce")
    events: ClassVar = {"pocketed": _POCKETED, "bounce": _BOUNCE}
    action_size: ClassVar = 0
    num_draws: ClassVar = 4

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        _checks.real("restitution", self.restitution, 0.0, 1.0)
        _checks.real("drag", self.drag, 0.0)
        if _checks.real("pocket_radius", self.pocket_radius, 0.0) >= HALF[1]:
            raise _checks.refuse("pocket_radius", "a number in [0, 0.5)", self.pocket_radius)

    @property
    def state_bounds(self) -> tuple[Array, Array]:
        """Lowest and highest state, (6,) each."""
        high = np.array([*HALF, MAX_SPEED, MAX_SPEED, 1.0, 1.0])
        return np.array([*-high[:4], 0.0, 0.0]), high

    def observation_space(self) -> spaces.Box:
        """Return x and y, each scaled to [-1, 1]."""
        return spaces.Box(-1.0, 1.0, (2,), np.float32)

    def action_space(self) -> spaces.Discrete[Any]:
        """Return the one action, which does nothing: agents want a space with something in it."""
        return spaces.Discrete(1)

    def initial(self, draws: Array) -> Array:
        """Return balls uniform on the table but for a pocket's radius along the cushions."""
        state = by_columns(len(draws), len(self.state_names))
        x, y, turn, speed = draws.T
        length, width = HALF - self.pocket_radius
        state[:, 0], state[:, 1] = uniform(-length, length, x), uniform(-width, width, y)
        # Math's sine and cosine: NumPy's may differ in the last bit with the length of the array.
        angles = (2 * math.pi * turn).tolist()
        speed = uniform(*SPEED, speed)
        state[:, 2] = speed * np.array([math.cos(angle) for angle in angles])
        state[:, 3] = speed * np.array([math.sin(angle) for angle in angles])
        state[:, _POCKETED:] = 0.0
        return state

    def step(self, state: Array, action: Array) -> tuple[Array, Array, Flags]:
        """Let the balls roll for one step, from event to event; no reward and no end.

        Where v(t) = v exp(-drag t), the place is linear in s = (1 - exp(-drag t)) / drag, and as
        cushions act on the velocity by a factor, on v as well. So the step is a flight at the
        constant velocity v for s of t = 1, and v is multiplied by exp(-drag) at its end.
        """
        new = state.copy("K")
        new[:, _BOUNCE] = 0.0
        place, velocity = new[:, _PLACE], new[:, _VELOCITY]
        rolling = state[:, _POCKETED] < 0.5
        velocity *= rolling[:, None]
        reach = -math.expm1(-self.drag) / self.drag if self.drag else 1.0
        place += velocity * reach
        # A straight path meets something only if it leaves the table or comes as near to a long
        # cushion as pockets reach.
        beyond = np.abs(place)
        nearest = np.maximum(beyond[:, 1], np.abs(state[:, 1]))
        meets = (beyond[:, 0] > HALF[0]) | (nearest > HALF[1] - self.pocket_radius)
        meets &= rolling
        if meets.any():
            new[meets] = self._fly(state[meets], reach)
        velocity *= math.exp(-self.drag)
        return new, np.zeros(len(new)), np.zeros(len(new), np.bool_)

    def observe(self, state: Array) -> NDArray[np.float32]:
        """Return where the balls are."""
        return (state[..., _PLACE] / HALF).astype(np.float32, order="C")

    def _fly(self, state: Array, time: float) -> Array:
        """Return states after a flight without drag for ``time``, through every event.

        Args:
            state: (m, 6), which is used up.
            time: of the flight.
        """
        landed = np.empty_like(state)
        rows = np.arange(len(state))  # of ``landed``, whose balls are still flying
        flying, left = state, np.full(len(state), time)
        flying[:, _BOUNCE] = 0.0
        while rows.size:
            place, velocity = flying[:, _PLACE], flying[:, _VELOCITY]
            side = np.sign(velocity)
            with np.errstate(divide="ignore", over="ignore"):  # a ball along a cushion never meets
                meets = np.maximum((HALF - side * place) / np.abs(velocity), 0.0)
            until = np.minimum(meets.min(1), left)
            drops, pocket = self._enters_pocket(place, velocity, until)
            hits = (meets <= until[:, None]) & ~drops[:, None]
            place += velocity * until[:, None]
            np.clip(place, -HALF, HALF, out=place)
            np.copyto(place, side * HALF, where=hits)
            velocity[hits] *= -self.restitution
            bounces = hits.any(1)
            flying[bounces, _BOUNCE] = 1.0
            place[drops], velocity[drops] = POCKETS[pocket[drops]], 0.0
            flying[drops, _POCKETED] = 1.0
            landed[rows] = flying
            left -= until
            rows, flying, left = rows[bounces], flying[bounces], left[bounces]
        return landed

    def _enters_pocket(
        self, place: Array, velocity: Array, until: Array
    ) -> tuple[Flags, NDArray[np.intp]]:
        """Whether balls (m, 2) come into a pocket on the straight way before ``until``, and which.

        The time is the smaller root of |place + velocity t - pocket| = radius.
        """
        if not self.pocket_radius:
            return np.zeros(len(place), np.bool_), np.zeros(len(place), np.intp)
        away = place[:, None] - POCKETS  # (m, 6, 2)
        outside = (away * away).sum(2) - self.pocket_radius**2
        nearing = -(away * velocity[:, None]).sum(2)
        square = (velocity * velocity).sum(1)
        discriminant = nearing * nearing - square[:, None] * outside
        reaches = (nearing > 0) & (discriminant >= 0)
        times = np.full(outside.shape, np.inf)
        root = np.sqrt(discriminant, where=reaches, out=np.ones_like(times))
        np.divide(outside, nearing + root, where=reaches, out=times)
        times[outside <= 0] = 0.0
        pocket = times.argmin(1)
        return times.min(1) <= until, pocket
