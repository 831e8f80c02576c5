"""``python -m iap_gym.zoo.enjoy``: the zoo's script that shows a trained agent, with ours."""

from __future__ import annotations

from rl_zoo3.enjoy import enjoy

from iap_gym.zoo.plugin import install


def main() -> None:
    """Run the zoo's script on ``sys.argv``."""
    install()
    enjoy()


if __name__ == "__main__":
    main()
