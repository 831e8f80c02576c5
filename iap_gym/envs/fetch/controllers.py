"""Scripted controllers of the gripper: grasp and lift, push, slide, flick; each with noise.

A controller is a generator: it is sent readings (11,) and yields actions (4,) float32 in [-1, 1].
It reads nothing but what is observed. The data sets of Gumbsch, Butz and Martius (2021) were made
with other ones, which were not published.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reading = NDArray[Any]
Action = NDArray[np.float32]
Controller = Generator[Action, Reading, None]
Phase = Generator[Action, Reading, Reading]

# m that the gripper moves within a step for an action of 1 of this step, the one before, and that
# before: least squares on random actions, which leave 0.03 mm (x), 0.01 mm (y), 0.08 mm (z).
RESPONSE = (0.0291, 0.0033, -0.0005)
SPEED = 0.03  # m a step, which the gripper reaches along each axis
CUBE = 0.025  # m, half of its side
TABLE = 0.425  # m, z of the cube on the table
OVER = (0.48, 0.53)  # m, z from which a gripper passes over the cube
LOW = (0.418, 0.435)  # m, z at which fingers touch the cube's sides


class Hand:
    """Turns wanted moves into actions, with the gripper's lag taken into account."""

    def __init__(self) -> None:
        self._last = self._before = np.zeros(3)

    def move(self, step: NDArray[np.float64], fingers: float) -> Action:
        """Return the action (4,) after which the gripper has moved by ``step`` (3,), in m."""
        now, one, two = RESPONSE
        wanted = np.clip((step - one * self._last - two * self._before) / now, -1, 1)
        self._last, self._before = wanted, self._last
        return np.array([*wanted, min(1.0, max(-1.0, fingers))], np.float32)


def grasp_and_lift(
    rng: np.random.Generator, reading: Reading, arrival: int, release: float = 0.0
) -> Controller:
    """Be over the cube after ``arrival`` steps, go down, close, and carry it somewhere.

    Args:
        rng: owner of the noise.
        reading: at the start.
        arrival: steps, at least 1, after which the gripper's x and y are those of the cube.
        release: probability of letting go on the way.
    """
    hand = Hand()
    opening, closing = rng.uniform(0.3, 1), rng.uniform(-1, -0.4)
    over = rng.uniform(*OVER)
    for left in range(arrival, 0, -1):
        step = (_above(reading, over) - reading[:3]) / left
        # Noise on the way is made good by later steps; that of the last one stays.
        step += rng.normal(0, 0.004 if left > 1 else 0.00015, 3) * (1, 1, 0.3)
        reading = yield hand.move(step, opening + rng.normal(0, 0.1))
    low = rng.uniform(*LOW)
    for left in range(int(rng.integers(2, 5)), 0, -1):
        step = (_above(reading, low) - reading[:3]) / left + rng.normal(0, 0.0005, 3)
        reading = yield hand.move(step, opening + rng.normal(0, 0.1))
    for _ in range(int(rng.integers(2, 5))):
        reading = yield hand.move(rng.normal(0, 0.0005, 3), closing + rng.normal(0, 0.1))
    place = reading[:3] + rng.uniform((-0.1, -0.1, 0.04), (0.1, 0.1, 0.3))
    speed = rng.uniform(0.008, SPEED)
    held = rng.integers(3, 30) if rng.random() < release else np.inf
    while True:
        step = _towards(place, reading, speed) + rng.normal(0, 0.002, 3)
        held -= 1
        fingers = closing if held > 0 else opening
        reading = yield hand.move(step, fingers + rng.normal(0, 0.1))


def push(rng: np.random.Generator, reading: Reading) -> Controller:
    """Come down beside the cube with closed fingers and shove it along, slowly."""
    hand, direction = Hand(), _direction(rng)
    yield from _strike(
        rng,
        hand,
        reading,
        direction,
        speed=rng.uniform(0.006, 0.018),
        reach=rng.uniform(0.03, 0.12),
    )


def slide(rng: np.random.Generator, reading: Reading) -> Controller:
    """Hit the cube at full speed and stop, so that it slides on by itself."""
    hand, direction = Hand(), _direction(rng)
    reach = rng.uniform(0, 0.05)
    yield from _strike(rng, hand, reading, direction, speed=0.04, reach=reach, back=True)


def flick(rng: np.random.Generator, reading: Reading) -> Controller:
    """Come close to the cube's side along y and open the fingers against it."""
    hand = Hand()
    side = 1.0 if rng.random() < 0.5 else -1.0
    direction = np.array([0.0, side, 0.0])
    beside = -direction * rng.uniform(0.052, 0.06) + (rng.uniform(-0.012, 0.012), 0, 0)
    reading = yield from _come_down(rng, hand, reading, beside)
    speed, strength = rng.uniform(0, SPEED / 2), rng.uniform(0.02, 0.12)
    for _ in range(int(rng.integers(2, 4))):
        step = speed * direction + rng.normal(0, 0.001, 3) * (1, 1, 0.3)
        reading = yield hand.move(step, strength + rng.normal(0, 0.01))
    yield from _hover(rng, hand, reading, rng.uniform(-1, 0))


CONTROLLERS: dict[str, Callable[[np.random.Generator, Reading], Controller]] = {
    "push": push,
    "slide": slide,
    "flick": flick,
}


def _strike(
    rng: np.random.Generator,
    hand: Hand,
    reading: Reading,
    direction: NDArray[np.float64],
    *,
    speed: float,
    reach: float,
    back: bool = False,
) -> Controller:
    """Come down behind the cube, move through where it was for ``reach`` m, and leave it."""
    across = np.array([-direction[1], direction[0], 0])
    behind = -direction * rng.uniform(0.06, 0.09) + across * rng.uniform(-0.01, 0.01)
    reading = yield from _come_down(rng, hand, reading, behind)
    start = reading[:3].copy()
    length = np.linalg.norm(reading[3:5] - start[:2]) - CUBE + reach
    while np.linalg.norm(reading[:2] - start[:2]) < length - speed / 2:
        step = speed * direction + rng.normal(0, 0.001, 3) * (1, 1, 0.3)
        reading = yield hand.move(step, -1 + abs(rng.normal(0, 0.1)))
    if back:
        for _ in range(3):
            step = -SPEED * direction + rng.normal(0, 0.001, 3)
            reading = yield hand.move(step, -1 + abs(rng.normal(0, 0.1)))
    yield from _hover(rng, hand, reading, rng.uniform(-1, 0))


def _come_down(
    rng: np.random.Generator, hand: Hand, reading: Reading, offset: NDArray[np.float64]
) -> Phase:
    """Go, with closed fingers, to a low place at ``offset`` from the cube, from above."""
    for height, noise in ((rng.uniform(*OVER), 0.003), (rng.uniform(*LOW), 0.0005)):
        place = _above(reading, height) + offset * (1, 1, 0)
        steps = int(np.ceil(np.abs(place - reading[:3]).max() / SPEED)) + int(rng.integers(0, 2))
        for left in range(steps, 0, -1):
            step = (place - reading[:3]) / left + rng.normal(0, noise, 3) * (1, 1, 0.3)
            reading = yield hand.move(step, -1 + abs(rng.normal(0, 0.2)))
    return reading


def _hover(rng: np.random.Generator, hand: Hand, reading: Reading, fingers: float) -> Controller:
    """Stay, or rise, with some noise."""
    rise = rng.uniform(0, 0.01) * (rng.random() < 0.5)
    while True:
        step = rng.normal(0, 0.002, 3)
        if reading[2] < OVER[1]:
            step[2] += rise
        reading = yield hand.move(step, fingers + rng.normal(0, 0.1))


def _above(reading: Reading, height: float) -> NDArray[np.float64]:
    return np.array([reading[3], reading[4], height], np.float64)


def _towards(place: Sequence[float] | Reading, reading: Reading, speed: float) -> Any:
    way = np.asarray(place, np.float64) - reading[:3]
    far = np.linalg.norm(way)
    return way * min(1.0, speed / far) if far > 0 else way


def _direction(rng: np.random.Generator) -> NDArray[np.float64]:
    angle = rng.uniform(-np.pi, np.pi)
    return np.array([np.cos(angle), np.sin(angle), 0.0])
