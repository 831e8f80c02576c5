"""``python -m iap_gym.zoo.train``: the zoo's training script with our algorithms."""

from __future__ import annotations

import rl_zoo3.train

from iap_gym.zoo.plugin import CoreExperiments, install


def main() -> None:
    """Run the zoo's script on ``sys.argv``."""
    install()
    rl_zoo3.train.ExperimentManager = CoreExperiments  # type: ignore[misc]
    rl_zoo3.train.train()


if __name__ == "__main__":
    main()
