"""Roll out, keep what a recipe's rules accept, and lay it out as one data set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iap_gym.data.recipes import NAMES, SPLITS, Pool, Recipe

Array = NDArray[np.float32]
Progress = Callable[[int, int], None]

# Worlds that step together, so many that their arrays stay in a core's cache. A constant and no
# argument, since another number would make other data of the same seed.
CHUNK = 2048


class Count(NamedTuple):
    """How many rollouts of a pool were tried, how many of them were accepted, and kept."""

    tried: int
    accepted: int
    kept: int


def collect(
    recipe: Recipe, split: str, seed: int, sequences: int, progress: Progress | None = None
) -> tuple[dict[str, Array], dict[str, Count]]:
    """Collect one split.

    Sequence i is of category i modulo their number, so that every part of a data set is balanced
    and a smaller one is the beginning of a larger one of the same seed.

    Args:
        recipe: what to collect.
        split: of ``SPLITS``; each has random numbers of its own.
        seed: at least 0.
        sequences: N, a multiple of the number of categories.
        progress: called with how many rollouts have been kept, and how many it will be.

    Returns:
        ``observations`` (N, T + 1, O), ``actions`` (N, T, A), ``rewards`` (N, T) and ``info``
        (N, T + 1, K), the flags of the world's events, all float32; and the counts of each pool.
    """
    data = _allocate(recipe, sequences)
    categories = len(recipe.categories)
    each = sequences // categories
    counts: dict[str, Count] = {}
    category = 0
    for number, pool in enumerate(recipe.pools):
        tried = accepted = kept = 0
        for generator in _generators(recipe, split, seed, number):
            rollouts = roll_out_chunk(recipe, pool, generator)
            found = len(rollouts["rewards"])
            taken = min(found, each - kept)
            for offset, start in enumerate(pool.starts):
                rows = slice(category + offset, None, categories)
                for name, array in data.items():
                    window = slice(start, start + array.shape[1])
                    array[rows][kept : kept + taken] = rollouts[name][:taken, window]
            tried, accepted, kept = tried + CHUNK, accepted + found, kept + taken
            if progress is not None:
                progress(number * each + kept, len(recipe.pools) * each)
            if kept == each:
                break
        counts[pool.name] = Count(tried, accepted, kept)
        category += len(pool.starts)
    return data, counts


def roll_out_chunk(recipe: Recipe, pool: Pool, rng: np.random.Generator) -> dict[str, Array]:
    """Roll out ``CHUNK`` worlds and return the m rollouts of L steps that the rule accepts.

    Returns:
        ``observations`` (m, L + 1, O), ``actions`` (m, L, A), ``rewards`` (m, L) and ``info``
        (m, L + 1, K).
    """
    world = pool.world
    states = [world.initial(rng.random((CHUNK, world.num_draws)))]
    policy = pool.policy(rng, CHUNK)
    actions, rewards = [], []
    for t in range(recipe.rollout_steps):
        action = policy(t, states[t])
        state, reward, _ = world.step(states[t], action)
        states.append(state)
        actions.append(action)
        rewards.append(reward)
    accepted = np.ones(CHUNK, np.bool_)
    for step, event, wanted in pool.rule:
        accepted &= world.read_events(states[step])[event] == wanted
    rows = np.flatnonzero(accepted)
    kept = [state[rows] for state in states]
    info = [np.stack(list(world.read_events(state).values()), axis=1) for state in kept]
    parts = {
        "observations": [world.observe(state) for state in kept],
        "actions": [action[rows] for action in actions],
        "rewards": [reward[rows] for reward in rewards],
        "info": info,
    }
    return {name: np.stack(steps, axis=1).astype(np.float32) for name, steps in parts.items()}


def _allocate(recipe: Recipe, sequences: int) -> dict[str, Array]:
    world, steps = recipe.pools[0].world, recipe.steps
    shapes = {
        "observations": (steps + 1, *world.observation_space().shape),
        "actions": (steps, world.action_size),
        "rewards": (steps,),
        "info": (steps + 1, len(world.events)),
    }
    return {name: np.empty((sequences, *shape), np.float32) for name, shape in shapes.items()}


def _generators(recipe: Recipe, split: str, seed: int, pool: int) -> Iterator[np.random.Generator]:
    """Yield the generator of each chunk of a pool; no other data set or split has the same."""
    place = (NAMES.index(recipe.name), SPLITS.index(split), pool)
    for chunk in itertools.count():
        yield np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(*place, chunk)))
