"""What the published data sets were made of: worlds, policies, and which rollouts were taken.

From section 6 and appendix B of Gumbsch, Butz and Martius (2021) and from the generators and
loaders that their code came with. A rule says what has to hold at which states of a rollout, and
rollouts that break it are thrown away; nothing else is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from iap_gym import _checks
from iap_gym.envs.planar import BilliardBall, RobotRemoteControl, Shepherd, World
from iap_gym.envs.planar.policies import (
    ROBOT_STEPS,
    Policy,
    ramped_actions,
    uniform_actions,
    wandering_shepherd,
)
from iap_gym.envs.planar.world import VARIANTS

# Their order, and that of SPLITS, tells the streams of random numbers apart: append only.
NAMES = ("billiard", "rrc-time", "rrc-random", "shepherd")
SPLITS = ("train", "val", "test")

BILLIARD_WINDOW = 50  # steps
BILLIARD_STEPS = 150
SHEPHERD_STEPS = 100


class Condition(NamedTuple):
    """State ``step`` of a rollout, 0 being its start, has the event's flag, or has it not."""

    step: int
    event: str
    wanted: bool


@dataclass(frozen=True)
class Pool:
    """Rollouts of one kind.

    Attributes:
        name: of the kind.
        world: what is rolled out.
        policy: ``policy(rng, n)`` returns a new policy for n worlds.
        rule: what an accepted rollout fulfils, all of it.
        starts: a sequence is cut out of every rollout at each of these states.
    """

    name: str
    world: World
    policy: Callable[[np.random.Generator, int], Policy]
    rule: tuple[Condition, ...]
    starts: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Recipe:
    """One data set, all its splits.

    Attributes:
        name: of ``NAMES``.
        env_id: the environment of the same world.
        variant: of its world and, where it has variants, of its policy.
        pools: what it is made of; every sequence of every pool is as frequent.
        steps: T of a sequence, which has T + 1 states.
        rollout_steps: of a rollout; it may end after the last sequence that is cut out of it.
        action_names: of the numbers of an action.
        sizes: sequences of the published splits.
    """

    name: str
    env_id: str
    variant: str
    pools: tuple[Pool, ...]
    steps: int
    rollout_steps: int
    action_names: tuple[str, ...]
    sizes: dict[str, int]

    @property
    def categories(self) -> tuple[str, ...]:
        """Names of the kinds of sequences; number i of a data set is of kind i modulo their number.

        A kind is a pool, or where several are cut out of a rollout, ``pool@start``.
        """
        several = any(len(pool.starts) > 1 for pool in self.pools)
        return tuple(
            f"{pool.name}@{start}" if several else pool.name
            for pool in self.pools
            for start in pool.starts
        )


def make_recipe(name: str, variant: str = "code") -> Recipe:
    """Return the recipe of a published data set.

    Args:
        name: "billiard", "rrc-time" (D_time), "rrc-random" (D_rand) or "shepherd".
        variant: "code" or "paper", of the world and of the actions of "rrc-time".

    Raises:
        ValueError: another name or variant.
    """
    _checks.one_of("name", name, NAMES)
    _checks.one_of("variant", variant, VARIANTS)
    if name == "billiard":
        return _billiard(variant)
    return _shepherd(variant) if name == "shepherd" else _robot(name, variant)


def _billiard(variant: str) -> Recipe:
    """Windows out of six pools of runs, 16 kinds of them.

    In 3 kinds the ball drops, in 1 it lies in a pocket from the start, in 12 it rolls on; the
    later a window starts the slower it is.
    """
    world = BilliardBall(variant)
    thirds = tuple(range(0, BILLIARD_STEPS, BILLIARD_WINDOW))

    def pool(name: str, rule: tuple[Condition, ...], starts: tuple[int, ...] = thirds) -> Pool:
        return Pool(name, world, lambda rng, n: uniform_actions(rng, 0), rule, starts)

    def drops(last: int) -> tuple[Condition, ...]:
        first = last - BILLIARD_WINDOW
        return Condition(first, "pocketed", False), Condition(last, "pocketed", True)

    rolls_on = (Condition(BILLIARD_STEPS, "pocketed", False),)
    return Recipe(
        name="billiard",
        env_id="iap_gym/BilliardBall-v0",
        variant=variant,
        pools=(
            pool("pocket_drop_50", drops(50), (0,)),
            *(pool(f"pocket_drop_{last}", drops(last)) for last in (100, 150)),
            *(pool(f"no_pocket_drop_{number}", rolls_on) for number in (1, 2, 3)),
        ),
        steps=BILLIARD_WINDOW,
        rollout_steps=BILLIARD_STEPS,
        action_names=(),
        sizes={"train": 12_800, "val": 3_200, "test": 3_200},
    )


def _robot(name: str, variant: str) -> Recipe:
    """Half of the sequences with control, half without.

    The published generator took a 50th action whose outcome was not stored, but counted: "code".
    In "paper" the half is one of what is stored.
    """
    world = RobotRemoteControl(variant)
    last = ROBOT_STEPS if variant == "code" else ROBOT_STEPS - 1

    def policy(rng: np.random.Generator, n: int) -> Policy:
        if name == "rrc-time":
            return ramped_actions(rng, variant)
        return uniform_actions(rng, world.action_size)

    def pool(kind: str, wanted: bool) -> Pool:
        return Pool(kind, world, policy, (Condition(last, "controlled", wanted),))

    return Recipe(
        name=name,
        env_id="iap_gym/RobotRemoteControl-v0",
        variant=variant,
        pools=(pool("controlled", True), pool("not controlled", False)),
        steps=ROBOT_STEPS - 1,
        rollout_steps=ROBOT_STEPS,
        action_names=("move x", "move y"),
        sizes=dict.fromkeys(SPLITS, 6_400),
    )


def _shepherd(variant: str) -> Recipe:
    """A quarter each of four kinds, of which one leaves the gate closed and one gets the sheep."""
    opens = Condition(30, "gate_open", False), Condition(70, "gate_open", True)

    def pool(name: str, start: str, *rule: Condition) -> Pool:
        def policy(rng: np.random.Generator, n: int) -> Policy:
            return wandering_shepherd(rng, n, biased=start == "right")

        return Pool(name, Shepherd(variant, start=start), policy, rule)

    last = SHEPHERD_STEPS
    return Recipe(
        name="shepherd",
        env_id="iap_gym/Shepherd-v0",
        variant=variant,
        pools=(
            pool("gate closed, start left", "left", Condition(last, "gate_open", False)),
            pool("gate opens, start left", "left", *opens),
            pool("gate opens, start right", "right", *opens, Condition(last, "caught", False)),
            pool("sheep caught, start right", "right", Condition(last, "caught", True)),
        ),
        steps=SHEPHERD_STEPS,
        rollout_steps=SHEPHERD_STEPS,
        action_names=("move x", "move y", "hold"),
        sizes={"train": 12_800, "val": 6_400, "test": 12_800},
    )
