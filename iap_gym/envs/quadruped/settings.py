"""Settings that do not fit each other: which of them an error is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from iap_gym import _checks


def misfit(
    settings: object, limits: Mapping[str, str], presets: Iterable[Mapping[str, Any]] = ()
) -> ValueError:
    """Build the error of settings that do not fit each other.

    It names the first of them that was written, as its value is neither the default nor a preset's.

    Args:
        settings: a dataclass with defaults.
        limits: what is wanted of each of its fields that has a part in it, as the others are.
        presets: values of fields that nobody writes.
    """
    kind, presets = type(settings), tuple(presets)
    for name in limits:
        shipped = [getattr(kind, name), *(preset[name] for preset in presets if name in preset)]
        if getattr(settings, name) not in shipped:
            break
    else:
        name = next(iter(limits))
    return _checks.refuse(name, limits[name], getattr(settings, name))
