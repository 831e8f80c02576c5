"""The six environments that ``iap_gym`` registers, or makes vectors of."""

from __future__ import annotations

from iap_gym.envs.planar.billiard_ball import BilliardBall
from iap_gym.envs.planar.env import PlanarEnv
from iap_gym.envs.planar.robot_remote_control import RobotRemoteControl
from iap_gym.envs.planar.shepherd import Shepherd
from iap_gym.envs.planar.vector_env import PlanarVectorEnv


class BilliardBallEnv(PlanarEnv[BilliardBall]):
    """A ball that rolls over a pool table and may drop into a pocket; a world to predict.

    The published data came from a simulator that was not published. This one has what its pictures
    show: a table twice as long as wide, pockets in the corners and in the middles of the long
    sides, cushions that keep the tangential velocity and 0.466 of the normal one, and a speed that
    hardly falls between them. Cushions are met at their exact times, at any speed.

    ## Observation Space
    `Box(-1, 1, (2,), float32)`: x and y of the ball, each scaled by the table's half.

    ## Action Space
    `Discrete(1)`: the world takes no action. One that is not a finite number raises `ValueError`.

    ## Rewards
    0.

    ## Starting State
    Uniform on the table, 0.1 (in halves of its length) off the cushions; direction uniform, speed
    uniform in [0.02, 0.1] a step.

    ## Episode End
    Truncation after 50 steps.

    ## Info
    `pocketed`: the ball came within 0.1 of the middle of a pocket, where it lies from then on.
    `bounce`: it met a cushion in this step.

    ## Arguments
    `variant`: "code" or "paper", which do not differ here. `restitution`, `drag`, `pocket_radius`:
    see `BilliardBall`.

    Source: Gumbsch, Butz and Martius 2021, section 6.1 and B.2; the numbers were measured on the
    film that goes with their code, but for the range of speeds, the drag (the film shows less than
    0.1 % a step) and what a pocket does, which are choices.
    """

    world_class = BilliardBall


class BilliardBallVectorEnv(PlanarVectorEnv[BilliardBall]):
    """Many worlds of ``BilliardBallEnv`` in one array."""

    world_class = BilliardBall


class RobotRemoteControlEnv(PlanarEnv[RobotRemoteControl]):
    """An agent and a robot, each in a room of its own.

    After the agent has come near the computer its actions move the robot as well. Nothing of what
    is observed says whether that has happened.

    ## Observation Space
    `Box(-1, 1, (4,), float32)`
    | number | what | in the episode |
    |---|---|---|
    | 0, 1 | agent x, y in its room | [-0.95, 0.95] |
    | 2, 3 | robot x, y in its room | [-0.95, 0.95] |

    In the variant "code" the first observation may lie beyond the walls, up to 1.

    ## Action Space
    `Box(-1, 1, (2,), float32)`: 0.1 of it is the move along x and y. One with another shape or a
    number that is not finite raises `ValueError`; one out of range is clipped.

    ## Rewards
    1 when the robot is less than 0.1 from the goal, (0.5, -0.5) in its room; else 0.

    ## Starting State
    Agent and robot uniform in [-1, 1]², so that in 0.8 % of the episodes the robot starts in the
    goal and the first step ends them.

    ## Episode End
    Terminates with the reward; truncation after 50 steps.

    ## Info
    `controlled`: the agent has been less than 0.1 from the computer, (0.5, 0.5) in its room. From
    the step after that one on, the robot moves.

    ## Arguments
    `variant`: "code" (default, whose data sets and figures were published), or "paper": the start
    is clipped to the walls, as every later position is. `radius_factor`: times both radii; the
    published planner was given 1.5.

    Source: Gumbsch, Butz and Martius 2021, section 6.2 and B.3, and their published code.
    """

    world_class = RobotRemoteControl


class RobotRemoteControlVectorEnv(PlanarVectorEnv[RobotRemoteControl]):
    """Many worlds of ``RobotRemoteControlEnv`` in one array."""

    world_class = RobotRemoteControl


class ShepherdEnv(PlanarEnv[Shepherd]):
    """A sheep goes behind a wall; a lever at the other end opens the gate; a cage catches it.

    The sheep walks down at constant x until it is behind the wall. When the gate opens it comes
    out below, at the same x, which was last seen when it disappeared.

    ## Observation Space
    `Box(float32)` of shape (7,); the bounds hold for both starts and variants
    | number | what | in the episode |
    |---|---|---|
    | 0, 1 | agent (x - 1) / 2, (y + 0.5) / 2 | [-0.975, 0.975], [-0.225, 0.225] |
    | 2, 3 | cage, the same | the same |
    | 4, 5 | sheep x - 2, y; hidden: (0, 0) in "code", (-1, 1) in "paper" | ±0.95, [-1.05, 0.955] |
    | 6 | height of the wall | [0.35, 0.65] |

    In the variant "code" the first observation may lie beyond the walls: agent x down to -5 and
    up to 3, y in [-2, 0], and the cage 0.05 farther.

    ## Action Space
    `Box(-1, 1, (3,), float32)`: 0.1 of the first two is the move along x and y; above 0 the third
    holds the cage, and grasps it within 0.1. One with another shape or a number that is not finite
    raises `ValueError`; one out of range is clipped.

    ## Rewards
    1 when the sheep is caught: the gate is open and the cage, which is not carried, less than 0.1
    from the sheep; else 0.

    ## Starting State
    Agent x uniform in [1, 3] (`start="right"`) or [-5, 3] ("left"), y in [-2, 0]; the cage is
    carried, up to 0.05 away along x and y; sheep x uniform in [1.5, 2.5], y in [0.945, 0.955];
    height of the wall uniform in [0.35, 0.65].

    ## Episode End
    Terminates with the reward; truncation after 100 steps.

    ## Info
    `gate_open` (the agent has been less than 0.2 from the lever, (-0.85, 0)), `carried`, `caught`,
    `hidden`.

    ## Arguments
    `variant`: "code" (default, whose data sets and figures were published): the sheep walks 0.025
    a step; or "paper": uniform in [0.015, 0.035], a range that the paper does not give; a hidden
    sheep shows as something that it never shows else, and the start is clipped to the walls.
    `start`: "right" or "left". `radius_factor`: times the radius of the lever and of the cage; the
    published planner was given 1.2, the paper says 1.5.

    Source: Gumbsch, Butz and Martius 2021, section 6.3 and B.4, and their published code.
    """

    world_class = Shepherd


class ShepherdVectorEnv(PlanarVectorEnv[Shepherd]):
    """Many worlds of ``ShepherdEnv`` in one array."""

    world_class = Shepherd
