"""A surrogate of the walking robot: a unicycle that turns as the gait does, without dynamics.

A high level learns on it what takes an episode of physics a third of a second in a few
milliseconds. It is made for transfer, not for likeness.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.envs.quadruped import a1
from iap_gym.envs.quadruped.control import STEERING_GAIN, LatentControl, Smoothing
from iap_gym.envs.quadruped.gait import PRESETS, TURN_TIME
from iap_gym.envs.quadruped.low_level import LowLevel
from iap_gym.envs.quadruped.mover import Place, Pose
from iap_gym.envs.quadruped.navigation_steering import RIGHT, SWING
from iap_gym.envs.quadruped.pmtg import GAIT_ACTIONS
from iap_gym.envs.quadruped.rectangles import Rectangle
from iap_gym.raycast import rotation_from_yaw_pitch

Array = NDArray[np.float64]

CONTROL_DT = 0.01  # s, of the control step that it stands for
GAIT = "trot"
# Of this gait on flat ground, measured (tests/envs/quadruped/test_kinematic.py).
SPEED = 0.97  # m/s
YAW_RATE = 2.0  # rad/s per turn, at full speed
YAW_RATE_SLOW = 10.0  # rad/s per turn, of a robot that does not get ahead yet: its feet slip
LARGEST_YAW_RATE_SLOW = 3.0  # rad/s, of that
START_DELAY = 0.6  # s in which the gait comes up and the robot stays where it is
START_TIME = 0.5  # s, time constant with which it then comes up to its speed
TRUNK_HEIGHT = 0.26  # m above the floor
# Of the trunk, rad: factors of cosine and sine of the gait's phase, of twice the phase for pitch.
ROLL_SWAY, PITCH_SWAY, YAW_SWAY = (-0.025, 0.009), (-0.007, -0.017), (-0.010, 0.058)
LEAN = 0.22  # rad of roll per turn
LARGEST_TURN = 0.5  # of PMTGController, for an action of 1
SWING_TURN = 0.25  # turn that is as good as inner legs that swing around a place further back by 1
SLIP = 5.0  # part of the speed that is lost per swing that has just been commanded
LEAST_GRIP = 0.35  # part of the speed that is left

# The robot from above: discs along its body, legs included.
RADIUS = 0.17  # m
DISCS = (-0.14, 0.0, 0.14)  # m ahead of the trunk's origin
GYRATION = 0.2  # m, radius of, of a body that is pushed off obstacles
FRICTION = 0.7
CLEARANCE = 0.45  # m above the floor; what hangs higher is no obstacle
NEAR = 0.5  # m around it, beyond which it does not look while it walks so far
STEP = 0.04  # m above the floor; what is lower is stepped over

_PUSHES = 3
_TOUCH = 1e-6  # m
_TURN = GAIT_ACTIONS.index("turn")


class KinematicMover:
    r"""Moves as the trotting robot does on average; implements ``Mover`` for "latent".

    With the turn u and the residuals of swing s that the low level makes of a latent command, and
    r of 1 for right legs and -1 for left ones, each control step dt is

    .. math::
        z &= \tfrac14 \cdot \tfrac14 \textstyle\sum_{legs} r s, \quad c = \tfrac12 u + z \\
        \tau &\leftarrow \tau + (c - \tau)(1 - e^{-dt / T}), \quad
            \zeta \leftarrow \zeta + (z - \zeta)(1 - e^{-dt / T}) \\
        v &\leftarrow v + (V g - v)(1 - e^{-dt / T_v}), \quad
            g = \max(1 - 5 |z - \zeta|, 0.35) \\
        \psi &\leftarrow \psi + (f (k \tau\, v / V + w (1 - v / V)) + d)\, dt, \quad
            w = \max(-3, \min(k_0 \tau, 3)) \\
        (x, y) &\leftarrow (x, y) + v\, dt\, (\cos \psi, \sin \psi)

    with T = 0.2 s, the gait's own low-pass; V = 0.97 m/s and T_v = 0.5 s; k = 2 rad/s and
    k_0 = 10 rad/s, as the robot turns faster before it gets ahead; g is what slipping leaves of the
    speed while swings change; f and d the ``turn_factor`` and ``turn_drift`` of the place. In the
    first 0.6 s only the first two lines hold. The trunk is turned off its way by the gait of phase
    p, as the robot's is:

    .. math::
        \mathrm{roll} &= -0.025 \cos p + 0.009 \sin p + 0.22 \tau \\
        \mathrm{pitch} &= -0.007 \cos 2p - 0.017 \sin 2p \\
        \mathrm{yaw} &= \psi - 0.010 \cos p + 0.058 \sin p

    Where its middle leaves the floor it falls and lies, and where it touches obstacles for longer
    than the place's ``endurance``. Until then it is pushed off and turned as a rigid body is, of
    radius of gyration R = 0.2 m: the deepest contact of a disc, h deep along the unit vector n from
    the obstacle, at a from the middle of the robot, moves it by

    .. math::
        \lambda = h / (1 + (a \times n)^2 / R^2), \quad
        (x, y) \leftarrow (x, y) + \lambda n, \quad
        \psi \leftarrow \psi + \lambda\, (a \times n) / R^2

    and friction, by the same rule along the obstacle, takes back how far the contact has slipped
    in this step, with 0.7 of this lambda at most. Three contacts are resolved in a step; where
    that does not free it, it stays where it was.

    Of a low level only what it makes of the command is used, and of that only turn and swing.

    Args:
        latent_size: numbers in a command.
        command_time: s, time constant of a low-pass that commands go through first; 0 is none.

    Attributes:
        controller: has the low level, as the robot's has.
    """

    control_dt = CONTROL_DT

    def __init__(self, latent_size: int = 1, command_time: float = 0.0) -> None:
        self.command_size = _checks.integer("latent_size", latent_size, 1)
        self.controller = LatentControl(GAIT, LowLevel.steering(latent_size, STEERING_GAIN))
        self._smoothed = Smoothing(command_time)
        self._frequency = PRESETS[GAIT].frequency
        self._joints = a1.neutral_pose()
        self._start_steps = round(START_DELAY / CONTROL_DT)
        self._turn_gain = 1.0 - math.exp(-CONTROL_DT / TURN_TIME)
        self._speed_gain = 1.0 - math.exp(-CONTROL_DT / START_TIME)

    def reset(self, place: Place) -> None:
        """Stand at the start of a place.

        Raises:
            ValueError: the place has a mesh, which this mover does not feel.
        """
        world = place.world
        if world.mesh is not None:
            raise _checks.refuse("physics", '"bullet" in a scene of a mesh', "kinematic")
        low, high = place.floor_height + STEP, place.floor_height + CLEARANCE
        blocks = world.boxes
        self._floors = [Rectangle.of(block) for block in blocks[: place.num_floors]]
        self._obstacles = [
            Rectangle.of(block)
            for block in blocks[place.num_floors :]
            if block.center[2] - block.half_extents[2] < high
            and block.center[2] + block.half_extents[2] > low
        ]
        ground = world.ground_height
        self._endless = ground is not None and abs(ground - place.floor_height) < STEP
        self._floor = place.floor_height
        self._x, self._y, _ = place.position
        self._yaw = place.yaw
        self._turn = self._swing = self._speed = 0.0
        self._follow()
        self._steps = 0
        self._smoothed.reset()
        self._bears = place.endurance / CONTROL_DT + 1e-6  # control steps
        self._touched = 0  # of these
        self._turn_factor, self._turn_drift = place.turn_factor, place.turn_drift
        self._known = 0.0  # m that it may walk before it looks for what is near
        self._fell = self._collided = False
        self._free = self._free_way()

    def step(self, command: Array) -> None:
        """Move for one control step by a command (command_size,) in [-1, 1]."""
        self._steps += 1
        if self._fell:
            return
        turn, swing = self._wanted(self._smoothed(command, CONTROL_DT))
        self._turn += (turn + swing - self._turn) * self._turn_gain
        self._swing += (swing - self._swing) * self._turn_gain
        if self._steps <= self._start_steps:
            return
        grip = max(1.0 - SLIP * abs(swing - self._swing), LEAST_GRIP)
        self._speed += (SPEED * grip - self._speed) * self._speed_gain
        ahead = self._speed / SPEED
        limit = LARGEST_YAW_RATE_SLOW
        slow = min(max(YAW_RATE_SLOW * self._turn, -limit), limit)
        rate = YAW_RATE * self._turn * ahead + slow * (1.0 - ahead)
        way = self._speed * CONTROL_DT
        before = self._x, self._y, self._yaw
        self._yaw += (rate * self._turn_factor + self._turn_drift) * CONTROL_DT
        self._x += way * math.cos(self._yaw)
        self._y += way * math.sin(self._yaw)
        self._free -= way
        self._known -= way
        if self._free <= 0.0:
            self._collided = self._clearance() < 0.0
            if self._collided:
                self._touched += 1
                if self._touched > self._bears:
                    self._fell = True
                elif not self._pushed_off(*before):
                    self._x, self._y = before[:2]
            self._fell = self._fell or not self._supported()
            self._free = self._free_way()

    def pose(self) -> Pose:
        """Return where the trunk is: swaying at its height, or on the floor once it fell."""
        roll, pitch, sway = (0.0, 0.0, 0.0) if self._fell else self._sway()
        height = self._floor + (0.0 if self._fell else TRUNK_HEIGHT)
        yaw = math.remainder(self._yaw + sway, 2.0 * math.pi)
        rotation = rotation_from_yaw_pitch(yaw, pitch, roll)
        return Pose(np.array([self._x, self._y, height]), rotation, roll, pitch, yaw)

    def _sway(self) -> tuple[float, float, float]:
        """Return roll, pitch and yaw of the trunk by which it leaves its way, rad."""
        phase = self._phase()
        cosine, sine = math.cos(phase), math.sin(phase)
        double_cosine, double_sine = cosine * cosine - sine * sine, 2.0 * sine * cosine
        return (
            ROLL_SWAY[0] * cosine + ROLL_SWAY[1] * sine + LEAN * self._turn,
            PITCH_SWAY[0] * double_cosine + PITCH_SWAY[1] * double_sine,
            YAW_SWAY[0] * cosine + YAW_SWAY[1] * sine,
        )

    def _phase(self) -> float:
        return 2.0 * math.pi * self._frequency * CONTROL_DT * self._steps

    def joint_angles(self) -> Array:
        """Return the neutral pose, (12,) rad: the legs do not move."""
        return self._joints.copy()

    def proprioception(self) -> Array:
        """Return zeros for IMU and motors, and the phase that the gait would have, (18,)."""
        phase = self._phase()
        felt = np.zeros(4 + len(a1.JOINT_NAMES) + 2)
        felt[-2:] = 0.5 * (math.cos(phase) + 1.0), 0.5 * (math.sin(phase) + 1.0)
        return felt

    def collides(self) -> bool:
        """Whether the last step led into an obstacle."""
        return self._collided

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _wanted(self, command: Array) -> tuple[float, float]:
        """Return the turn that the low level makes of a command, by strides and by swing."""
        if self.controller.low_level is not self._followed:
            self._follow()
        turn = LARGEST_TURN * min(max(float(self._turns @ command), -1.0), 1.0)
        if self._swings is None:
            return turn, 0.0
        swings = np.clip(self._swings @ command, -1.0, 1.0)
        return turn, SWING_TURN * float(np.mean(RIGHT * swings))

    def _follow(self) -> None:
        """Read off the low level how it turns."""
        self._followed = self.controller.low_level
        weight = self._followed.weight[:, : self.command_size]
        self._turns = weight[_TURN]
        self._swings = weight[SWING] if weight[SWING].any() else None

    def _clearance(self) -> float:
        """Return how far the nearest obstacle is from the discs, m; negative where they touch."""
        cosine, sine = math.cos(self._yaw), math.sin(self._yaw)
        return min(
            (
                obstacle.distance(self._x + ahead * cosine, self._y + ahead * sine) - RADIUS
                for obstacle in self._near
                for ahead in DISCS
            ),
            default=math.inf,
        )

    def _pushed_off(self, x: float, y: float, yaw: float) -> bool:
        """Resolve contacts, the deepest first, of a step from a pose; say whether it is free."""
        for _ in range(_PUSHES):
            cosine, sine = math.cos(self._yaw), math.sin(self._yaw)
            deepest, contact = -_TOUCH, None
            for obstacle in self._near:
                for ahead in DISCS:
                    away = obstacle.offset(self._x + ahead * cosine, self._y + ahead * sine)
                    clearance = math.hypot(*away) - RADIUS
                    if clearance < deepest:
                        deepest, contact = clearance, (ahead, *away)
            if contact is None:
                return True
            ahead, dx, dy = contact
            distance = math.hypot(dx, dy)
            if distance == 0.0:
                return False
            dx, dy = dx / distance, dy / distance
            pressed = self._push(-deepest, dx, dy, ahead)
            slipped_x = self._x - x - (self._yaw - yaw) * ahead * sine
            slipped_y = self._y - y + (self._yaw - yaw) * ahead * cosine
            slipped = slipped_y * dx - slipped_x * dy
            dx, dy = math.copysign(1.0, slipped) * dy, -math.copysign(1.0, slipped) * dx
            self._push(abs(slipped), dx, dy, ahead, FRICTION * pressed)
        return self._clearance() >= -_TOUCH

    def _push(
        self, way: float, dx: float, dy: float, ahead: float, most: float = math.inf
    ) -> float:
        """Move the point so far ahead of the middle; return by how much the middle moved, m."""
        lever = ahead * (math.cos(self._yaw) * dy - math.sin(self._yaw) * dx)
        push = min(way / (1.0 + (lever / GYRATION) ** 2), most)
        self._x += push * dx
        self._y += push * dy
        self._yaw += push * lever / GYRATION**2
        return push

    def _supported(self) -> bool:
        return self._endless or any(floor.depth(self._x, self._y) >= 0.0 for floor in self._floors)

    def _free_way(self) -> float:
        """Return how far it may walk, m, wherever it turns, before it has to look again."""
        x, y = self._x, self._y
        reach = max(DISCS) + RADIUS
        if self._known <= 0.0:
            self._near = [o for o in self._obstacles if o.distance(x, y) - reach < NEAR]
            self._known = NEAR
        free = min((each.distance(x, y) - reach for each in self._near), default=self._known)
        free = min(free, self._known)
        if self._endless:
            return free
        return min(free, max((floor.depth(x, y) for floor in self._floors), default=0.0))
