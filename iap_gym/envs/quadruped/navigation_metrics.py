"""How well a robot navigates: success rate and SPL over episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iap_gym import _checks


@dataclass(frozen=True)
class Outcome:
    """What came of one episode.

    Attributes:
        success: whether the goal was reached.
        shortest: length of the shortest way from the start to the goal, m.
        path_length: what was walked, m.
        end: why the episode ended: "goal", "fall" or "time".
        collisions: control steps in which the robot touched what it should not.
    """

    success: bool
    shortest: float
    path_length: float
    end: str
    collisions: int

    @classmethod
    def of(cls, info: Mapping[str, Any]) -> Outcome:
        """Read the outcome from the ``info`` of an episode's last step.

        Raises:
            ValueError: it is not from a last step, or from another environment.
        """
        names = ("success", "shortest", "path_length", "end", "collisions")
        if any(name not in info for name in names):
            wanted = f"the info of the last step of a navigation, with {', '.join(names)}"
            raise _checks.refuse("info", wanted, sorted(info))
        return cls(**{name: info[name] for name in names})

    @property
    def efficiency(self) -> float:
        """S l / max(p, l): 0 without success, else at most 1, for a walk as short as possible."""
        return path_efficiency(self.success, self.shortest, self.path_length)


def path_efficiency(success: bool, shortest: float, path_length: float) -> float:
    """Return what an episode adds to SPL, in [0, 1]; lengths in m."""
    return success * shortest / max(path_length, shortest)


def success_rate(outcomes: Sequence[Outcome]) -> float:
    """Return the part of the episodes in which the goal was reached.

    Raises:
        ValueError: no outcomes.
    """
    return _mean([float(outcome.success) for outcome in outcomes])


def spl(outcomes: Sequence[Outcome]) -> float:
    r"""Return success weighted by path length.

    .. math:: \mathrm{SPL} = \frac{1}{N} \sum_{i=1}^{N} S_i \frac{\ell_i}{\max(p_i, \ell_i)}

    with S the success, l the length of the shortest way from start to goal and p that of the
    walked one (Anderson et al. 2018, "On Evaluation of Embodied Navigation Agents",
    arXiv:1807.06757, section 3.2).

    Raises:
        ValueError: no outcomes.
    """
    return _mean([outcome.efficiency for outcome in outcomes])


def _mean(numbers: Sequence[float]) -> float:
    if not numbers:
        raise _checks.refuse("outcomes", "at least one episode", numbers)
    return sum(numbers) / len(numbers)
