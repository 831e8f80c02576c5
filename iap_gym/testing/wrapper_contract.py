"""The contract of an observation wrapper: an environment in its own right that changes no task."""

from __future__ import annotations

from collections.abc import Callable

import gymnasium

from iap_gym.testing.env_contract import STEPS, as_make, check_env, made
from iap_gym.testing.episodes import Make, play

Wrap = Callable[[gymnasium.Env], gymnasium.Env]


def check_task_unchanged(make: Make, wrap: Wrap) -> None:
    """Rewards and ends are those of the wrapped environment, which stays reachable below."""
    with made(make) as bare, made(lambda: wrap(make())) as wrapped:
        assert type(wrapped.unwrapped) is type(bare.unwrapped), "unwrapped must reach the inside"
        plain, seen = play(bare, 4, STEPS), play(wrapped, 4, STEPS)
        for before, after in zip(plain, seen, strict=True):
            assert before.reward == after.reward, "an observation wrapper must not change rewards"
            assert (before.terminated, before.truncated) == (after.terminated, after.truncated), (
                "an observation wrapper must not change when episodes end"
            )
        missing = set(plain[-1].info) - set(seen[-1].info)
        assert not missing, f"the wrapper lost {sorted(missing)} of info"


def check_wrapper(make: str | Make, wrap: Wrap, *, skip: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Run the environment contract on the wrapped environment, and that its task is unchanged.

    Args:
        make: an id, or a callable that returns a new environment.
        wrap: puts the wrapper around an environment; nothing random may happen in it.
        skip: names of ``ENV_CHECKS`` to leave out.

    Returns:
        The names of the checks that ran.

    Raises:
        AssertionError: the wrapper breaks the contract; the message says where.
    """
    bare = as_make(make)
    ran = check_env(lambda: wrap(bare()), skip=skip)
    check_task_unchanged(bare, wrap)
    return (*ran, "task_unchanged")
