"""Classes given by their names, so that arguments can be kept as JSON."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from iap_gym import _checks


def named_class(argument: str, value: Any, base: type, home: ModuleType) -> Any:
    """Return the class that ``value`` is or names.

    Args:
        argument: its name, for the error.
        value: a class, "module:Name", or "Name" of something in ``home``.
        base: what the class must be derived from.
        home: where short names are looked up.

    Raises:
        ValueError: there is no such class.
    """
    wanted = (
        f'a subclass of {base.__name__}, "module:Name" of one, or the name of one in '
        f"{home.__name__}"
    )
    found = value
    if isinstance(value, str):
        module, _, name = value.rpartition(":")
        try:
            found = getattr(importlib.import_module(module) if module else home, name)
        except (ImportError, AttributeError) as error:
            raise _checks.refuse(argument, wanted, value) from error
    if not isinstance(found, type) or not issubclass(found, base):
        raise _checks.refuse(argument, wanted, value)
    return found
