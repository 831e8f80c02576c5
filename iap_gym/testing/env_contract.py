"""The contract that every environment of this package keeps, runnable on any other."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import pickle
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env as gymnasium_check_env
from gymnasium.utils.env_checker import data_equivalence

from iap_gym import _checks
from iap_gym._optional import require
from iap_gym.testing.episodes import Make, arrays, play, same

STEPS = 12  # long enough for physics to move, short enough for environments that render


@contextlib.contextmanager
def made(make: Make) -> Iterator[gymnasium.Env]:
    """Make an environment and close it whatever happens."""
    env = make()
    try:
        yield env
    finally:
        env.close()


@contextlib.contextmanager
def foreign_checker(name: str, *allowed: str) -> Iterator[None]:
    """Turn what another package's checker raises or warns into ``AssertionError``.

    Args:
        name: of the checker, for the message.
        allowed: regular expressions of warnings that are advice and no fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for message in (".*we recommend", *allowed):
            warnings.filterwarnings("ignore", message=f"(?i){message}")
        try:
            yield
        except (AssertionError, gymnasium.error.DependencyNotInstalled):
            raise
        except Exception as error:  # they raise whatever the environment does
            raise AssertionError(f"{name}: {error}") from error


def check_gymnasium(make: Make) -> None:
    """Gymnasium's own ``check_env`` passes without a warning, on the environment inside ``make``.

    Advice is let through, and an environment that is a wrapper is checked as it is.
    """
    allowed = [
        ".*different from the unwrapped version",
        # A space may be unbounded where the physics is.
        ".*Box observation space m(in|ax)imum value is",
    ]
    with made(make) as env:
        # What `gym.make` puts around an environment is not the subject here.
        outer = {"PassiveEnvChecker", "OrderEnforcing", "TimeLimit"}
        subject: gymnasium.Env = env
        while isinstance(subject, gymnasium.Wrapper) and type(subject).__name__ in outer:
            subject = subject.env
        if subject.spec is None:  # made without gym.make, so that none can be made again
            allowed.append(".*Not able to test alternative render modes")
        with foreign_checker("gymnasium.utils.env_checker", *allowed):
            gymnasium_check_env(subject)


def check_stable_baselines3(make: Make) -> None:
    """Stable-Baselines3's ``check_env`` passes; advice about actions and sizes is let through.

    So is advice to make pictures of float, such as depth, ones of uint8.
    """
    checker = require("stable_baselines3.common.env_checker", "baselines")
    allowed = [".*minimal resolution for an image"]
    with made(make) as env:
        space = env.observation_space
        parts = space.spaces.items() if isinstance(space, gymnasium.spaces.Dict) else [("", space)]
        allowed += [
            f".*your observation space {re.escape(key)} is an image but the upper and lower bounds"
            for key, part in parts
            if part.dtype is not None and np.issubdtype(part.dtype, np.floating)
        ]
        with foreign_checker("stable_baselines3 check_env", *allowed):
            checker.check_env(env)


def check_seeding(make: Make) -> None:
    """The same seed gives the same bits: in a new instance, in the next episode, after any past."""
    with made(make) as first, made(make) as second:
        one, two = play(first, 3, STEPS), play(second, 3, STEPS)
        assert same(one, two), "two instances, reset with the same seed, must agree to the bit"
        one, two = play(first, None, STEPS), play(second, None, STEPS)
        assert same(one, two), "the episode after a seeded one must agree to the bit too"
        used = play(first, 5, STEPS)
    with made(make) as fresh:
        assert same(used, play(fresh, 5, STEPS)), (
            "a seeded episode must not depend on the episodes before it"
        )


def check_seeds_differ(make: Make) -> None:
    """Different seeds, and episodes that follow one another, do not repeat."""
    with made(make) as env:
        episodes = [play(env, seed, STEPS) for seed in (0, 1, 2, None)]
    for index, episode in enumerate(episodes):
        for other in episodes[:index]:
            assert not same(episode, other), (
                "different seeds, and an unseeded reset, must give different episodes"
            )


def check_observations(make: Make) -> None:
    """Observations lie in the space with its dtype, C-contiguous, never shared between steps."""
    with made(make) as env:
        space = env.observation_space
        transitions = play(env, 0, STEPS)
        kept = copy.deepcopy([t.observation for t in transitions])
        transitions += play(env, None, STEPS)
        seen: list[tuple[str, np.ndarray]] = []
        for transition in transitions:
            observation = transition.observation
            assert observation in space, f"observation outside its space {space}: {observation}"
            for path, array in arrays(observation):
                assert array.flags.c_contiguous, (
                    f"{path} must be C-contiguous, its strides are {array.strides}"
                )
                for _, earlier in seen:
                    assert not np.shares_memory(array, earlier), (
                        f"{path} must not share memory with one returned before"
                    )
                seen.append((path, array))
            assert type(transition.terminated) is bool, "terminated must be a Python bool"
            assert type(transition.truncated) is bool, "truncated must be a Python bool"
        for before, transition in zip(kept, transitions, strict=False):
            assert data_equivalence(before, transition.observation, exact=True), (
                "an observation that was returned must never change afterwards"
            )


def check_global_randomness(make: Make) -> None:
    """Nothing is drawn from the global generators of Python, NumPy or torch."""

    def states() -> list[Any]:
        numpy_state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
        found: list[Any] = [random.getstate(), (numpy_state["key"], numpy_state["pos"])]
        if "torch" in sys.modules:
            found.append(sys.modules["torch"].get_rng_state().numpy())
        return found

    with made(make) as env:  # importing is not drawing: the first one settles what is loaded
        play(env, 0, 1)
    before = copy.deepcopy(states())
    with made(make) as env:
        play(env, 0, STEPS)
        play(env, None, 1)
    names = ("random", "numpy.random", "torch")
    for name, old, new in zip(names, before, states(), strict=False):
        assert _equal_state(old, new), f"the environment drew from the global generator of {name}"


def _equal_state(old: Any, new: Any) -> bool:
    if isinstance(old, tuple):
        return all(np.array_equal(a, b) for a, b in zip(old, new, strict=True))
    return np.array_equal(old, new)


def check_spec(make: Make) -> None:
    """The spec survives JSON and pickle, and what they make plays the same episode."""
    with made(make) as env:
        spec = env.spec
        assert spec is not None, "an environment made without gym.make has no spec to record"
        expected = play(env, 1, 3)
    try:
        from_json = EnvSpec.from_json(spec.to_json())
    except (TypeError, ValueError) as error:
        raise AssertionError(
            "the spec must survive JSON, so kwargs are of JSON types and wrappers record theirs "
            f"(gymnasium.utils.RecordConstructorArgs): {error}"
        ) from error
    for name, restored in (("JSON", from_json), ("pickle", pickle.loads(pickle.dumps(spec)))):
        with made(lambda restored=restored: gymnasium.make(restored)) as again:
            assert same(expected, play(again, 1, 3)), f"the spec restored from {name} differs"


def check_close(make: Make) -> None:
    """``close`` may come twice, and before the first reset."""
    make().close()
    env = make()
    env.reset(seed=0)
    env.close()
    env.close()


def check_actions(make: Make) -> None:
    """A continuous action that is not finite, or has a wrong shape, raises ``ValueError``.

    Out of range is clipped; and a refused action leaves the episode where it was.
    """
    with made(make) as env, made(make) as twin:
        space = env.action_space
        if not isinstance(space, gymnasium.spaces.Box):
            return
        env.reset(seed=0)
        twin.reset(seed=0)
        zero = np.zeros(space.shape, space.dtype)
        bad = [np.full_like(zero, np.nan), np.full_like(zero, np.inf), np.zeros((*space.shape, 2))]
        for action in bad:
            # Gymnasium's passive checker may warn about the same mistake first.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    env.step(action)
                except ValueError:
                    continue
            raise AssertionError(f"the action {action} must raise ValueError")
        high = np.broadcast_to(space.high, space.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clipped, bounded = env.step(high + 1), twin.step(high.astype(space.dtype))
        assert data_equivalence(clipped[0], bounded[0], exact=True), (
            "an action out of range must act as the bound does"
        )


ENV_CHECKS: Mapping[str, Callable[[Make], None]] = {
    "gymnasium": check_gymnasium,
    "stable_baselines3": check_stable_baselines3,
    # First: one buffer for all observations makes episodes look alike as well.
    "observations": check_observations,
    "seeding": check_seeding,
    "seeds_differ": check_seeds_differ,
    "global_randomness": check_global_randomness,
    "spec": check_spec,
    "close": check_close,
    "actions": check_actions,
}


def as_make(env: str | Make, **kwargs: Any) -> Make:
    """Return a callable that makes environments.

    Raises:
        ValueError: ``env`` is neither an id nor a callable.
    """
    if isinstance(env, str):
        return lambda: gymnasium.make(env, **kwargs)
    if not callable(env):
        raise _checks.refuse("env", "an id or a callable that returns a new environment", env)
    return env


def check_env(env: str | Make, *, skip: tuple[str, ...] = (), **kwargs: Any) -> tuple[str, ...]:
    """Run every check of the contract.

    Args:
        env: an id that ``gymnasium.make`` knows, or a callable that returns a new environment.
            Its spec is not asked for where it has none, as ``gymnasium.make`` did not make it.
        skip: names of ``ENV_CHECKS`` to leave out, such as ``"seeds_differ"`` for an environment
            without randomness.
        **kwargs: handed to ``gymnasium.make`` with an id.

    Returns:
        The names of the checks that ran. Those of a package that is not installed
        (Stable-Baselines3) are not among them.

    Raises:
        AssertionError: the environment breaks the contract; the message says where.
        ValueError: ``env`` is neither an id nor a callable, or ``skip`` names no check.
        gymnasium.error.DependencyNotInstalled: the environment needs a package that is absent, to
            render for example.
    """
    if isinstance(skip, str) or set(skip) - set(ENV_CHECKS):
        raise _checks.refuse("skip", f"names among {list(ENV_CHECKS)}", skip)
    make = as_make(env, **kwargs)
    left_out = set(skip)
    with made(make) as first:
        if first.spec is None:
            left_out.add("spec")
    ran: list[str] = []
    for name, check in ENV_CHECKS.items():
        if name in left_out:
            continue
        try:
            check(make)
        except gymnasium.error.DependencyNotInstalled:
            if name != "stable_baselines3" or importlib.util.find_spec("stable_baselines3"):
                raise
            continue
        ran.append(name)
    return tuple(ran)
