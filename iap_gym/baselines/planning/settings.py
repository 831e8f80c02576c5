"""How much is spent on planning an action."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from iap_gym import _checks


@dataclass(frozen=True)
class PlannerSettings:
    """Settings of iCEM; the defaults are those that it was published with.

    Attributes:
        horizon: steps of a candidate.
        num_samples: candidates of the first iteration.
        iterations: of a plan.
        noise_beta: exponent of the noise's spectrum.
        steps: T, of an episode or of a sequence of data.
    """

    horizon: int = 30
    num_samples: int = 256
    iterations: int = 3
    noise_beta: float = 3.0
    steps: int = 50

    def __post_init__(self) -> None:
        for name, least in (("horizon", 1), ("num_samples", 2), ("iterations", 1), ("steps", 1)):
            _checks.integer(name, getattr(self, name), least)
        _checks.real("noise_beta", self.noise_beta, 0)

    def arguments(self) -> dict[str, Any]:
        """Return what ``ICEM`` takes of them."""
        return {name: value for name, value in asdict(self).items() if name != "steps"}
