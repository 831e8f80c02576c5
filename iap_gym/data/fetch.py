"""Data sets of Fetch Pick and Place: who moves the gripper, and which rollouts are taken.

After section 6 and appendix D of Gumbsch, Butz and Martius (2021). Their sets were collected with
a planner (APEX) that was not published; the rules by which they were chosen are known, and so are
their sizes. Here scripted controllers move the gripper.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym.data.collection import Array
from iap_gym.data.fetch_rules import (
    grasps_first_between,
    is_lifted,
    is_shoved,
    read_events,
)
from iap_gym.data.parts import Part, Task
from iap_gym.envs.fetch import load_simulator
from iap_gym.envs.fetch.controllers import CONTROLLERS, Controller, Reading, grasp_and_lift
from iap_gym.envs.fetch.goal import distance, reward_at

# Their order, and that of SPLITS, tells the streams of random numbers apart: append only.
NAMES = ("fetch-grasp", "fetch-diverse")
SPLITS = ("train", "val", "test", "gen")
STREAM = 100  # what tells them from the planar ones

ENV_ID = "iap_gym/FetchPickAndPlace-v0"
OBSERVATION_NAMES = (
    *(f"gripper {axis}" for axis in "xyz"),
    *(f"cube {axis}" for axis in "xyz"),
    *(f"cube minus gripper {axis}" for axis in "xyz"),
    "right finger",
    "left finger",
)
ACTION_NAMES = ("move x", "move y", "move z", "fingers")
MOST_TRIES = 10_000  # for one sequence

# From readings (t + 1, 11) up to the present and T: whether the rollout may still be taken.
Rule = Callable[[Reading, int], bool]


class Category(NamedTuple):
    """Rollouts of one kind: ``make(rng, first reading)`` moves, ``rule`` chooses."""

    name: str
    make: Callable[[np.random.Generator, Reading], Controller]
    rule: Rule


@dataclass(frozen=True)
class FetchRecipe:
    """One split of a data set; sequence i is of category i modulo their number."""

    name: str
    split: str
    steps: int
    categories: tuple[Category, ...]


# Sequences of the published splits.
SIZES: dict[str, dict[str, int]] = {
    "fetch-grasp": {"train": 3_200, "val": 640, "test": 640, "gen": 3_200},
    "fetch-diverse": {"train": 12_800, "val": 6_400, "test": 6_400},
}
STEPS = {"fetch-grasp": 25, "fetch-diverse": 50}
ARRIVALS = (5, 5), (6, 10)  # first and last step of the first grasp: training, generalisation
DIVERSE_ARRIVALS = (5, 15)


def make_fetch_recipe(name: str, split: str) -> FetchRecipe:
    """Return what one split is made of.

    Raises:
        ValueError: another name, or a split that the data set has not.
    """
    _checks.one_of("name", name, NAMES)
    _checks.one_of("split", split, tuple(SIZES[name]))
    if name == "fetch-grasp":
        arrivals = ARRIVALS[split == "gen"]
        first, last = arrivals
        label = "grasp at 5" if split != "gen" else "grasp at 6 to 10"
        rule = functools.partial(grasps_first_between, first=first, last=last)
        categories = (Category(label, _grasping(arrivals), rule),)
    else:
        categories = (
            Category("grasp", _grasping(DIVERSE_ARRIVALS, release=0.5), is_lifted),
            *(Category(kind, make, is_shoved) for kind, make in CONTROLLERS.items()),
        )
    return FetchRecipe(name, split, STEPS[name], categories)


class Collector(Task, Protocol):
    """A task that knows the versions of what its sequences depend on."""

    @property
    def versions(self) -> tuple[tuple[str, str], ...]:
        """Pairs of name and version."""
        ...


@dataclass(frozen=True)
class FetchTask:
    """The sequences of one split, each the first of its own rollouts that the rule accepts.

    Args:
        name: of ``NAMES``.
        split: of the data set.
        seed: at least 0.
        versions: of what the sequences depend on.
    """

    name: str
    split: str
    seed: int
    versions: tuple[tuple[str, str], ...]
    part_size: int = 64

    def key(self) -> dict[str, Any]:
        """Return all that the sequences depend on, as JSON."""
        return {
            "dataset": self.name,
            "split": self.split,
            "seed": self.seed,
            "versions": dict(self.versions),
        }

    def collect(self, first: int, count: int) -> Part:
        """Collect sequences ``first`` to ``first + count - 1``.

        Raises:
            RuntimeError: no rollout of very many was accepted.
        """
        recipe = make_fetch_recipe(self.name, self.split)
        simulation = _simulation()
        kinds = len(recipe.categories)
        tried = dict.fromkeys((category.name for category in recipe.categories), 0)
        found: list[dict[str, Array]] = []
        for sequence in range(first, first + count):
            category = recipe.categories[sequence % kinds]
            for attempt in range(MOST_TRIES):
                rng = self.generator(sequence, attempt)
                rollout = roll_out(simulation, category, recipe.steps, rng)
                tried[category.name] += 1
                if rollout is not None:
                    found.append(rollout)
                    break
            else:
                raise RuntimeError(f"none of {MOST_TRIES} rollouts of {category.name} was accepted")
        arrays = {name: np.stack([rollout[name] for rollout in found]) for name in found[0]}
        return Part(arrays, tried)

    def generator(self, sequence: int, attempt: int) -> np.random.Generator:
        """Return the random numbers of one rollout, which no other one has."""
        place = (NAMES.index(self.name), SPLITS.index(self.split), sequence, attempt)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(STREAM, *place)))


def roll_out(
    simulation: Any, category: Category, steps: int, rng: np.random.Generator
) -> dict[str, Array] | None:
    """Play one rollout; it is given up as soon as the rule cannot be fulfilled.

    Args:
        simulation: ``iap_gym.envs.fetch.simulation.Simulation``.
        category: who moves, and what is accepted.
        steps: T.
        rng: start, goal and noise come from it.

    Returns:
        ``observations`` (T + 1, 11), ``actions`` (T, 4), ``rewards`` (T,), of the sparse kind, and
        ``info`` (T + 1, 3), float32; None where the rule refuses it.
    """
    goal = simulation.begin(rng).astype(np.float32)
    readings, actions = np.empty((steps + 1, 11), np.float32), np.empty((steps, 4), np.float32)
    readings[0] = simulation.read()
    controller = category.make(rng, readings[0])
    action = next(controller)
    for t in range(steps):
        actions[t] = action
        simulation.step(actions[t])
        readings[t + 1] = simulation.read()
        if not category.rule(readings[: t + 2], steps):
            return None
        action = controller.send(readings[t + 1])
    return as_sequence(readings, actions, goal)


def as_sequence(
    readings: NDArray[np.float32], actions: NDArray[np.float32], goal: NDArray[np.float32]
) -> dict[str, Array]:
    """Return the arrays of a rollout, as of ``roll_out``, with rewards and events computed."""
    rewards = reward_at(distance(readings[1:, 3:6], goal), "sparse")
    info = np.stack(list(read_events(readings).values()), axis=1)
    return {
        "observations": readings,
        "actions": actions,
        "rewards": rewards.astype(np.float32),
        "info": info.astype(np.float32),
    }


def _grasping(
    arrivals: tuple[int, int], release: float = 0.0
) -> Callable[[np.random.Generator, Reading], Controller]:
    def make(rng: np.random.Generator, reading: Reading) -> Controller:
        arrival = int(rng.integers(arrivals[0], arrivals[1] + 1))
        return grasp_and_lift(rng, reading, arrival, release)

    return make


@functools.cache
def _simulation() -> Any:
    """Return this process's own simulation; every rollout resets it wholly."""
    load_simulator()
    from iap_gym.envs.fetch.simulation import Simulation

    return Simulation()
