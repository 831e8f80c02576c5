"""What the last ``info`` of an episode says of how it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from iap_gym.baselines.minigrid import is_minigrid, is_success

T = TypeVar("T")

SUCCESS = ("is_success", "success")  # entries that say it


def succeeded(env_id: str, total_reward: float, info: Mapping[str, Any]) -> bool | None:
    """Whether an episode was solved: what its last ``info`` says, else MiniGrid's rule.

    MiniGrid's only reward is that of the goal, so that a return above 0 is a success (so counts the
    GateL0RD paper too). None where neither says anything.
    """
    for name in SUCCESS:
        if name in info:
            return bool(info[name])
    return is_success(total_reward) if is_minigrid(env_id) else None


def known(values: Iterable[T | None]) -> tuple[T, ...] | None:
    """Return the values; None if one of them is not known."""
    listed = tuple(values)
    found = tuple(value for value in listed if value is not None)
    return found if len(found) == len(listed) else None


def why_ended(info: Mapping[str, Any]) -> str | None:
    """Return in a word why an episode ended; None where its last ``info`` does not say."""
    return str(info["end"]) if "end" in info else None


def path_efficiency(info: Mapping[str, Any]) -> float | None:
    """Return the part of SPL that an episode adds; None where its last ``info`` does not say."""
    return float(info["spl"]) if "spl" in info else None


def in_words(ends: Mapping[str, int]) -> str:
    """Say how often episodes ended in each way, the most frequent first."""
    return ", ".join(f"{end} {count}" for end, count in Counter(ends).most_common())
