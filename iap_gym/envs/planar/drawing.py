"""Pictures of the three worlds.

They show what is observed and no more, but for the gate of Shepherd: no sheep behind the wall, and
not whether the robot is controlled. The trail of the agent or of the ball is memory; a picture that
an agent learns from is drawn without one.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from iap_gym.envs.planar import billiard_ball as billiard
from iap_gym.envs.planar import robot_remote_control as rrc
from iap_gym.envs.planar import shepherd
from iap_gym.envs.planar.canvas import Canvas, Color, Point
from iap_gym.envs.planar.world import Array, World

Image = NDArray[np.uint8]

DARK: Color = (38, 40, 48)
FLOOR: Color = (236, 233, 224)
AGENT: Color = (31, 98, 214)
GREEN: Color = (52, 168, 83)
TRAIL_WIDTH = 0.025
_EYE, _HEAD = 0.015, 0.03  # of the robot and of the sheep


@functools.lru_cache(maxsize=8)
def _billiard_table(world: billiard.BilliardBall, size: tuple[int, int]) -> Canvas:
    canvas = Canvas(size, (-1.15, -0.65), (1.15, 0.65), DARK)
    canvas.box((0.0, 0.0), (1.12, 0.62), (110, 68, 38))
    canvas.box((0.0, 0.0), (1.0, 0.5), (28, 122, 78))
    if world.pocket_radius:
        for x, y in billiard.POCKETS.tolist():
            canvas.disc((x, y), world.pocket_radius, (14, 16, 18))
    return canvas


def draw_billiard_ball(
    state: Array,
    world: billiard.BilliardBall,
    size: tuple[int, int],
    past: Sequence[Array] = (),
) -> Image:
    """Return a picture of the table, its pockets and the ball."""
    canvas = _billiard_table(world, size).copy()
    _trail(canvas, [*past, state], 0, (235, 225, 150))
    canvas.disc((state[0], state[1]), 0.04, (250, 250, 245))
    return canvas.pixels


_ROBOT_ROOM = 2.3  # to the right of the agent's


@functools.lru_cache(maxsize=8)
def _two_rooms(world: rrc.RobotRemoteControl, size: tuple[int, int]) -> Canvas:
    canvas = Canvas(size, (-1.15, -1.15), (_ROBOT_ROOM + 1.15, 1.15), DARK)
    radius = rrc.RADIUS * world.radius_factor
    for x in (0.0, _ROBOT_ROOM):
        canvas.box((x, 0.0), (1.05, 1.05), FLOOR)
    x, y = rrc.COMPUTER
    canvas.disc((x, y), radius, (255, 205, 60), 0.6)
    canvas.box((x, y), (0.08, 0.06), (60, 64, 72))
    canvas.box((x, y), (0.055, 0.035), (120, 220, 235))
    x, y = rrc.GOAL
    canvas.disc((_ROBOT_ROOM + x, y), radius, GREEN)
    return canvas


def draw_robot_remote_control(
    state: Array,
    world: rrc.RobotRemoteControl,
    size: tuple[int, int],
    past: Sequence[Array] = (),
) -> Image:
    """Return a picture of the agent's room with the computer, and of the robot's with the goal."""
    canvas = _two_rooms(world, size).copy()
    _trail(canvas, [*past, state], 0, AGENT)
    canvas.disc((state[0], state[1]), 0.07, AGENT)
    x, y = _ROBOT_ROOM + state[2], state[3]
    canvas.box((x, y), (0.07, 0.07), (222, 88, 30))
    if canvas.shows(_EYE):
        for eye in (-0.028, 0.028):
            canvas.disc((x + eye, y + 0.02), _EYE, FLOOR)
    return canvas.pixels


@functools.lru_cache(maxsize=8)
def _pasture(world: shepherd.Shepherd, size: tuple[int, int]) -> Canvas:
    canvas = Canvas(size, (-1.15, -1.2), (3.15, 1.1), DARK)
    canvas.box((1.0, -0.52), (2.05, 0.52), FLOOR)  # the agent's
    canvas.box((2.0, -0.58), (1.05, 0.58), (203, 222, 176))  # the sheep's, below
    canvas.box((2.0, 0.52), (1.05, 0.52), (142, 190, 108))
    lever_radius = shepherd.LEVER_RADIUS * world.radius_factor
    canvas.disc(shepherd.LEVER, lever_radius, (255, 205, 60), 0.45)
    canvas.box(shepherd.LEVER, (0.06, 0.06), (214, 160, 0))
    return canvas


def draw_shepherd(
    state: Array,
    world: shepherd.Shepherd,
    size: tuple[int, int],
    past: Sequence[Array] = (),
) -> Image:
    """Return a picture of the agent, the cage, the wall with its gate, the lever and the sheep."""
    canvas = _pasture(world, size).copy()
    wall = state[6]
    canvas.box((2.0, wall / 2), (1.05, wall / 2), (176, 108, 74))
    if state[7] > 0.5:  # the gate is drawn aside, to the posts
        for x in (0.98, 3.02):
            canvas.box((x, 0.0), (0.05, 0.05), (84, 50, 34))
    else:
        canvas.box((2.0, 0.0), (1.07, 0.04), (84, 50, 34))
    low, high = shepherd.AGENT_LOW, shepherd.AGENT_HIGH  # the published start lies outside
    inside = [np.clip(each[:4], low * 2, high * 2) for each in (*past, state)]
    _trail(canvas, inside, 0, AGENT)
    agent_x, agent_y, cage_x, cage_y = inside[-1]
    canvas.disc((agent_x, agent_y), 0.07, AGENT)
    canvas.box((cage_x, cage_y), (0.09, 0.09), (140, 40, 160), line=0.035)
    if state[10] < 0.5:
        x, y = state[4], state[5]
        canvas.disc((x, y), 0.075, (252, 252, 250))
        if canvas.shows(_HEAD):
            canvas.disc((x, y - 0.055), _HEAD, (30, 30, 30))
    return canvas.pixels


def _trail(canvas: Canvas, states: Sequence[Array], column: int, color: Color) -> None:
    """Paint the way through two columns of the states, fading backwards."""
    points: list[Point] = [(float(s[column]), float(s[column + 1])) for s in states]
    for index, (start, end) in enumerate(itertools.pairwise(points), start=1):
        canvas.segment(start, end, TRAIL_WIDTH, color, 0.7 * index / len(points))


DRAWERS: dict[type[World], Callable[..., Image]] = {
    billiard.BilliardBall: draw_billiard_ball,
    rrc.RobotRemoteControl: draw_robot_remote_control,
    shepherd.Shepherd: draw_shepherd,
}
