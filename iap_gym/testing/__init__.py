"""Contracts that anyone can run on an environment or on a wrapper, ours or their own.

Each check is a plain function that raises ``AssertionError`` saying what the contract asks and what
the environment did; ``check_env`` and ``check_wrapper`` run them all.
"""

from iap_gym.testing.env_contract import ENV_CHECKS, check_env
from iap_gym.testing.wrapper_contract import check_wrapper

__all__ = ["ENV_CHECKS", "check_env", "check_wrapper"]
