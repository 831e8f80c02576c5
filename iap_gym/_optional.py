"""Import a module that an extra brings, or say which pip command brings it."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from gymnasium.error import DependencyNotInstalled


def require(module: str, extra: str, hint: str = "") -> ModuleType:
    """Import ``module``; when it is not installed, name the extra of iap-gym that brings it.

    Only the absence of the module itself is translated. A module that is installed but fails while
    it is imported keeps its own error, so that a broken install never reads as an absent one.

    Args:
        module: dotted name of the module to import.
        extra: the extra of ``iap-gym`` that installs it.
        hint: a sentence for the error's end, of why that command may not do.

    Returns:
        The imported module.

    Raises:
        gymnasium.error.DependencyNotInstalled: the module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top_level = module.partition(".")[0]
        if error.name != top_level:
            raise
        raise _absent(top_level, extra, hint) from None


def need(extra: str, *modules: str) -> None:
    """Check that modules are installed, without importing them, before a package does.

    Args:
        extra: the extra of ``iap-gym`` that installs them.
        *modules: top-level names.

    Raises:
        gymnasium.error.DependencyNotInstalled: the first that is not.
    """
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise _absent(module, extra)


def _absent(module: str, extra: str, hint: str = "") -> DependencyNotInstalled:
    command = f'{module} is not installed, run `pip install "iap-gym[{extra}]"`'
    return DependencyNotInstalled(f"{command}; {hint}" if hint else command)
