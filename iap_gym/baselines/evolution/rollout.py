"""One episode of a policy in an environment."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import gymnasium

from iap_gym.baselines.evolution.observations import add_axis
from iap_gym.baselines.non_finite import NonFiniteRewardError


class Actor(Protocol):
    """Anything that acts on batches: an ``EvolutionPolicy``, or what is to be compared with one."""

    def act(
        self, observations: Any, state: Any = None, episode_start: Any = None
    ) -> tuple[Any, Any]:
        """Return actions and the next state; a state of None is the start of an episode."""
        ...


class Episode(NamedTuple):
    """What came of an episode."""

    total_reward: float  # undiscounted sum of the rewards
    length: int  # steps taken


def run_episode(
    env: gymnasium.Env[Any, Any],
    policy: Actor,
    seed: int | None = None,
    max_steps: int | None = None,
    blind: bool = False,
    watch: Callable[[Any, float], None] | None = None,
) -> Episode:
    """Run one episode from a seeded reset to its end.

    Before the reset a policy that has a method ``prepare`` is given the environment.

    Args:
        env: a single environment.
        policy: what acts, on a batch of one.
        seed: seed of the reset, which fixes the episode; None goes on with the environment's own
            randomness.
        max_steps: end the episode after so many steps; None waits for the environment.
        blind: feed the policy the first observation in every step. What a policy reaches blind it
            does not owe to what it sees.
        watch: called with the batch that the policy saw and the sum of the rewards so far, after
            each choice of an action and before that action is taken: ``env.render()`` then shows
            the same moment.

    Returns:
        The sum of the rewards and the number of steps.

    Raises:
        NonFiniteRewardError: a reward was NaN or infinite.
    """
    prepare = getattr(policy, "prepare", None)
    if prepare is not None:
        prepare(env)
    observation, _ = env.reset(seed=None if seed is None else int(seed))
    state = None
    total, length = 0.0, 0
    limit = math.inf if max_steps is None else max_steps
    batch = add_axis(observation)
    while length < limit:
        actions, state = policy.act(batch, state)
        if watch is not None:
            watch(batch, total)
        observation, reward, terminated, truncated, _ = env.step(actions[0])
        length += 1
        if not math.isfinite(reward):
            wanted = f"reward: expected finite numbers, got {reward} at step {length} (seed {seed})"
            error = NonFiniteRewardError(wanted, [0])
            error.outside_rollouts = True
            raise error
        total += float(reward)
        if terminated or truncated:
            break
        if not blind:
            batch = add_axis(observation)
    return Episode(total, length)
