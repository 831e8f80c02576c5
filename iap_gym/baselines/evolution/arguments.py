"""Which keyword arguments a class takes."""

from __future__ import annotations

import inspect


def keyword_names(kind: type) -> set[str]:
    """Return the keyword-only arguments of a class's constructor and those of its bases.

    A constructor that hands ``**kwargs`` on takes what the base takes.
    """
    return {
        parameter.name
        for base in kind.__mro__
        for parameter in inspect.signature(base.__init__).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
