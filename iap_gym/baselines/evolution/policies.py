"""The policies by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gymnasium import spaces

from iap_gym import _checks
from iap_gym.baselines.evolution.arguments import keyword_names
from iap_gym.baselines.evolution.hierarchy import HierarchicalPolicy
from iap_gym.baselines.evolution.networks import (
    NETWORKS,
    CnnPolicy,
    LinearPolicy,
    LstmPolicy,
    MlpPolicy,
)
from iap_gym.baselines.evolution.policy import EvolutionPolicy

__all__ = [
    "POLICIES",
    "CnnPolicy",
    "HierarchicalPolicy",
    "LinearPolicy",
    "LstmPolicy",
    "MlpPolicy",
    "make_policy",
]

SEED = "selector_seed"  # which the algorithm gives, not the caller

POLICIES: dict[str, type[EvolutionPolicy]] = {
    **NETWORKS,
    HierarchicalPolicy.__name__: HierarchicalPolicy,
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
    policy: Any = POLICIES[_checks.one_of("policy", name, POLICIES)]
    arguments = dict(policy_kwargs or {})
    known = keyword_names(policy)
    if policy is HierarchicalPolicy:
        high = _checks.one_of("high", arguments.get("high", "LinearPolicy"), NETWORKS)
        known |= keyword_names(NETWORKS[high])
    if unknown := sorted(set(arguments) - (known - {SEED})):
        raise _checks.refuse("policy_kwargs", f"keys among {sorted(known - {SEED})}", unknown)
    if SEED in known:
        arguments[SEED] = selector_seed
    return policy(observation_space, action_space, **arguments)
