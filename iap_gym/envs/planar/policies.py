"""The policies that collected the published data, and ones that solve the tasks.

All act on n worlds at once: ``policy(t, state)`` takes the step, from 0, and the states (n, S), and
returns actions (n, A) in [-1, 1]. The random ones own their generator and remember, so that one
serves one rollout.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from iap_gym import _checks
from iap_gym.envs.planar import robot_remote_control as rrc
from iap_gym.envs.planar import shepherd
from iap_gym.envs.planar.world import VARIANTS, Array, World

Policy = Callable[[int, Array], Array]

ROBOT_STEPS = 50  # of a published rollout of Robot Remote Control
RAMP = (1e-4, 1.0)  # of the actions of "time", from the first step to the last
HOLD_FLIPS = 0.1  # probability a step that Shepherd's agent takes the other opinion of holding
BIAS_BEGINS = 0.02  # probability a step, for each direction


def roll_out(world: World, state: Array, policy: Policy, steps: int) -> tuple[Array, Array]:
    """Let n worlds go on for some steps, through their ends.

    Args:
        world: the rules.
        state: (n, S).
        policy: chooses the actions.
        steps: T.

    Returns:
        States (T + 1, n, S) and actions (T, n, A).
    """
    states, actions = [state], []
    for t in range(steps):
        actions.append(policy(t, state))
        state = world.step(state, actions[-1])[0]
        states.append(state)
    return np.stack(states), np.stack(actions)


def uniform_actions(rng: np.random.Generator, size: int) -> Policy:
    """Return a policy that draws each of ``size`` numbers uniform in [-1, 1] (D_rand)."""
    return lambda t, state: rng.uniform(-1.0, 1.0, (len(state), size))


def ramped_actions(rng: np.random.Generator, variant: str = "code") -> Policy:
    """Return the policy of D_time, whose actions grow with time.

    At step t of 50 an action is RAMP's t-th of 50 equal steps, times a unit vector of random
    direction ("code"), or times uniform numbers in [-1, 1] ("paper").

    Raises:
        ValueError: another variant.
    """
    _checks.one_of("variant", variant, VARIANTS)
    scale = np.linspace(*RAMP, ROBOT_STEPS)

    def policy(t: int, state: Array) -> Array:
        if variant == "paper":
            return scale[t] * rng.uniform(-1.0, 1.0, (len(state), 2))
        angles = rng.uniform(0.0, 2 * math.pi, len(state))
        return scale[t] * np.stack([np.cos(angles), np.sin(angles)], axis=1)

    return policy


def wandering_shepherd(rng: np.random.Generator, num_worlds: int, *, biased: bool) -> Policy:
    """Return the policy that collected Shepherd's data.

    Moves are uniform in [-1, 1]; the third number is in [0, 1] while the agent wants to hold the
    cage, as it does at first, and in [-1, 0] while not, and it changes its mind with probability
    0.1 a step.

    Args:
        rng: the source of randomness.
        num_worlds: n.
        biased: from a moment on, which comes with probability 0.02 a step, apart for up and for
            left, moves are squeezed into that half, until the gate opens.
    """
    holds = np.ones(num_worlds, np.bool_)
    pushed = np.zeros((num_worlds, 2), np.bool_)  # to the left, up
    direction = np.array([-0.5, 0.5])
    gate_open = shepherd.Shepherd.events["gate_open"]

    def policy(t: int, state: Array) -> Array:
        action = rng.uniform(-1.0, 1.0, (num_worlds, 3))
        action[:, 2] = 0.5 * action[:, 2] + np.where(holds, 0.5, -0.5)
        push = pushed & (state[:, gate_open] < 0.5)[:, None]
        action[:, :2] = np.where(push, 0.5 * action[:, :2] + direction, action[:, :2])
        # What changes does so for the next step: so do the published rates come out.
        holds[rng.random(num_worlds) < HOLD_FLIPS] ^= True
        if biased:
            pushed[rng.random((num_worlds, 2)) < BIAS_BEGINS] = True
        return action

    return policy


def solve_robot_remote_control(t: int, state: Array) -> Array:
    """Walk to the computer, then steer the robot to the goal; needs to see the state."""
    to_computer, to_goal = rrc.COMPUTER - state[:, :2], rrc.GOAL - state[:, 2:4]
    controlled = state[:, rrc.RobotRemoteControl.events["controlled"]] > 0.5
    return _towards(np.where(controlled[:, None], to_goal, to_computer))


def solve_shepherd(t: int, state: Array) -> Array:
    """Put the cage under the sheep, then go to the lever; needs to see the state."""
    carried = state[:, shepherd.Shepherd.events["carried"]] > 0.5
    # As high as the cage goes while the sheep is above, which it is behind the wall too.
    below = np.clip(state[:, 5] - 0.05, shepherd.AGENT_LOW[1], shepherd.AGENT_HIGH[1])
    to_sheep = np.stack([state[:, 4], below], axis=1) - state[:, 2:4]
    to_lever = shepherd.LEVER - state[:, :2]
    placed = (np.abs(to_sheep) < 0.5 * shepherd.CAGE_RADIUS).all(1)
    # It is dropped at the end of a step that has moved it.
    move = _towards(np.where(carried[:, None], to_sheep, to_lever))
    return np.column_stack([move, np.where(placed, -1.0, 1.0)])


def _towards(way: Array) -> Array:
    """Return the moves (n, 2) that go ``way``, or as far as one step goes."""
    return np.clip(way / rrc.MOVE, -1.0, 1.0)
