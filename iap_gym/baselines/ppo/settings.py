"""Settings that Stable-Baselines3 takes as they come, and then fails of or trains nonsense with."""

from __future__ import annotations

from typing import Any

from iap_gym import _checks


def check_settings(
    *,
    n_steps: int,
    n_envs: int,
    batch_size: int | None,
    n_epochs: int,
    gamma: float,
    gae_lambda: float,
    normalize_advantage: bool,
) -> None:
    """Check what an update is made of.

    Args:
        n_steps: of a rollout, for each environment, >= 1.
        n_envs: environments.
        batch_size: steps of a minibatch, >= 1; None is the whole rollout.
        n_epochs: >= 1.
        gamma: in [0, 1].
        gae_lambda: in [0, 1].
        normalize_advantage: whether advantages are divided by their standard deviation.

    Raises:
        ValueError: a number is out of its range, or a minibatch would have one step.
    """
    _checks.integer("n_steps", n_steps, 1)
    if batch_size is not None:
        _checks.integer("batch_size", batch_size, 1)
    _checks.integer("n_epochs", n_epochs, 1)
    _checks.real("gamma", gamma, 0.0, 1.0)
    _checks.real("gae_lambda", gae_lambda, 0.0, 1.0)
    if normalize_advantage:
        check_minibatches(n_steps * n_envs, batch_size)


def check_minibatches(steps: int, batch_size: int | None) -> None:
    """Refuse minibatches of one step, whose advantage has no standard deviation: NaN.

    Args:
        steps: of an update, all environments together.
        batch_size: steps of a minibatch; the last one has what is left. None is all.

    Raises:
        ValueError: there would be one.
    """
    batch = steps if batch_size is None else batch_size
    if 1 in (steps, batch, steps % batch):
        wanted = (
            f"minibatches of at least 2 of the {steps} steps of an update, whose advantages are "
            "divided by their standard deviation"
        )
        raise _checks.refuse("batch_size", wanted, batch_size)


def check_schedule(name: str, value: Any, minimum: float = 0.0, *, exclusive: bool = False) -> None:
    """Check a number that may be a function of the remaining progress, 1 to 0.

    Raises:
        ValueError: neither a function nor a finite number from ``minimum`` on.
    """
    if callable(value):
        return
    try:
        _checks.real(name, value, minimum, exclusive=exclusive)
    except ValueError:
        wanted = (
            f"a finite number {'>' if exclusive else '>='} {minimum:g}, or a schedule such as "
            "stable_baselines3.common.utils.LinearSchedule"
        )
        raise _checks.refuse(name, wanted, value) from None
