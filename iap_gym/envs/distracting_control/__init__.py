"""Distracting Control: the DeepMind control suite behind moving pictures, cameras and colours.

Importing this package loads no simulator: which one is right, and how it renders, is settled when
an environment is made, before the simulator is imported.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from iap_gym._optional import require
from iap_gym.envs import _gl
from iap_gym.envs.distracting_control.versions import check_pair

if TYPE_CHECKING:
    from iap_gym.envs.distracting_control.env import DistractingControlEnv

__all__ = ["make_distracting_control"]

_EXTRA = "distracting"


def make_distracting_control(domain: str, task: str, **kwargs: Any) -> DistractingControlEnv:
    """Make an environment; the entry point of every ``iap_gym/Distracting...`` id.

    Args:
        domain: a domain of ``dm_control.suite``.
        task: one of its tasks.
        **kwargs: arguments of ``DistractingControlEnv``.

    Raises:
        gymnasium.error.DependencyNotInstalled: the extra ``distracting`` is not installed.
        ImportError: a pair of dm_control and mujoco is installed that does not work.
        RuntimeError: the environment renders and nothing here can, or ``MUJOCO_GL`` is wrong.
        ValueError: a wrong argument.
    """
    check_pair()
    if kwargs.get("observation") != "state" or kwargs.get("render_mode") is not None:
        _gl.choose_backend()
        _import_simulator()
    else:
        with _gl.not_needed():
            _import_simulator()
    from iap_gym.envs.distracting_control.env import DistractingControlEnv

    return DistractingControlEnv(domain, task, **kwargs)


# Gymnasium reads it off the entry point, to add its window and its list of pictures.
make_distracting_control.metadata = {"render_modes": ["rgb_array"]}  # type: ignore[attr-defined]


def _import_simulator() -> None:
    try:
        with warnings.catch_warnings():
            # Without MUJOCO_GL dm_control tries GLFW, which warns where there is no display.
            warnings.simplefilter("ignore")
            for module in ("mujoco", "dm_control", "dm_control.suite", "shimmy", "PIL"):
                require(module, _EXTRA)
    # What an unusable OpenGL raises inside dm_control depends on the backend and on PyOpenGL.
    except Exception as error:
        if _gl.from_opengl(error):
            raise _gl.rendering_failed(error) from error
        raise
