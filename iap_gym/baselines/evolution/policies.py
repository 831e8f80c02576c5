"""The three policies by name: what lies between the features and the actions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from gymnasium import spaces

from iap_gym import _checks
from iap_gym.baselines.evolution.controllers import Controller, FeedForward, Lstm
from iap_gym.baselines.evolution.policy import EvolutionPolicy


class LinearPolicy(EvolutionPolicy):
    """A linear map of the features, with the velocity of the selected places among them."""

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        velocity: str | None = "previous",
        **kwargs: Any,
    ) -> None:
        super().__init__(observation_space, action_space, velocity=velocity, **kwargs)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return FeedForward(inputs, outputs)


class MlpPolicy(EvolutionPolicy):
    """A tanh network of the features, with the velocity of the selected places among them.

    Args:
        observation_space: see ``EvolutionPolicy``, as all others.
        action_space: see there.
        hidden_size: units of the hidden layer, or a list for several layers.
        velocity: see there.
        **kwargs: see there.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        hidden_size: int | Sequence[int] = 16,
        velocity: str | None = "previous",
        **kwargs: Any,
    ) -> None:
        sizes = [hidden_size] if isinstance(hidden_size, int) else list(hidden_size)
        self._hidden_sizes = [_checks.integer("hidden_size", size, 1) for size in sizes]
        super().__init__(observation_space, action_space, velocity=velocity, **kwargs)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return FeedForward(inputs, outputs, self._hidden_sizes)


class LstmPolicy(EvolutionPolicy):
    """An LSTM over the features; it can find velocities itself, so none are among them.

    Args:
        observation_space: see ``EvolutionPolicy``, as all others.
        action_space: see there.
        hidden_size: units of the LSTM.
        two_biases: two biases for its gates, as torch has; the functions are the same.
        **kwargs: see there.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        hidden_size: int = 16,
        two_biases: bool = False,
        **kwargs: Any,
    ) -> None:
        self._hidden_size = _checks.integer("hidden_size", hidden_size, 1)
        self._two_biases = _checks.boolean("two_biases", two_biases)
        super().__init__(observation_space, action_space, **kwargs)

    def _make_controller(self, inputs: int, outputs: int) -> Controller:
        return Lstm(inputs, outputs, self._hidden_size, self._two_biases)


POLICIES: dict[str, type[EvolutionPolicy]] = {
    policy.__name__: policy for policy in (LinearPolicy, MlpPolicy, LstmPolicy)
}


def make_policy(
    name: str,
    observation_space: spaces.Space[Any],
    action_space: spaces.Space[Any],
    policy_kwargs: Mapping[str, Any] | None = None,
    selector_seed: int = 0,
) -> EvolutionPolicy:
    """Return the policy of a name.

    Raises:
        ValueError: an unknown name or argument, or what the policy itself refuses.
    """
    policy = POLICIES[_checks.one_of("policy", name, POLICIES)]
    arguments = dict(policy_kwargs or {})
    known = {
        parameter.name
        for function in (EvolutionPolicy.__init__, policy.__init__)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    } - {"selector_seed"}
    if unknown := sorted(set(arguments) - known):
        raise _checks.refuse("policy_kwargs", f"keys among {sorted(known)}", unknown)
    return policy(observation_space, action_space, selector_seed=selector_seed, **arguments)
