"""The attention kernels of IAP fig. 6, as arguments of ``PatchSelector``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Compared:
    """One bar, or one curve."""

    name: str  # of files
    label: str  # of the figure
    selector: dict[str, Any]


def _hybrid(m: int, r: int) -> Compared:
    arguments = {"kernel": "hybrid", "num_samples": m, "num_sign_samples": r}
    return Compared(f"hybrid-{m}-{r}", f"({m},{r})", arguments)


COMPARED = (
    Compared("relu", "ReLU", {"kernel": "relu"}),
    *(_hybrid(m, r) for m, r in ((3, 2), (6, 3), (10, 5), (16, 8))),
    # The same kernel without features. Its rows are not normalised, as nowhere in IAP.
    Compared("brute-force", "brute force", {"kernel": "softmax"}),
)
