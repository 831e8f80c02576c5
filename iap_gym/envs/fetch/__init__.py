"""Fetch Pick and Place under partial observability, with the model of gymnasium-robotics.

Importing this package loads no simulator: which versions are right, and how to render, is settled
when an environment is made.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from iap_gym import _checks, _optional
from iap_gym.envs import _gl
from iap_gym.envs.fetch.goal import GoalInterface
from iap_gym.envs.fetch.versions import check_pair

if TYPE_CHECKING:
    from iap_gym.envs.fetch.env import FetchPickAndPlaceEnv

__all__ = ["GoalInterface", "load_simulator", "make_fetch_pick_and_place"]

_EXTRA = "fetch"


def make_fetch_pick_and_place(*, goal_env: bool = False, **kwargs: Any) -> FetchPickAndPlaceEnv:
    """Make an environment; the entry point of ``iap_gym/FetchPickAndPlace-v0``.

    Args:
        goal_env: observe a dict with the goals, for hindsight replay.
        **kwargs: arguments of ``FetchPickAndPlaceEnv``.

    Raises:
        gymnasium.error.DependencyNotInstalled: the extra ``fetch`` is not installed.
        ImportError: versions of gymnasium-robotics and mujoco are installed that do not work.
        RuntimeError: the environment renders and nothing here can, or ``MUJOCO_GL`` is wrong.
        ValueError: a wrong argument.
    """
    _checks.boolean("goal_env", goal_env)
    renders = kwargs.get("observation", "state") != "state"
    load_simulator(renders=renders or kwargs.get("render_mode") is not None)
    from iap_gym.envs.fetch import env

    kind = env.FetchPickAndPlaceGoalEnv if goal_env else env.FetchPickAndPlaceEnv
    return kind(**kwargs)


# Gymnasium reads it off the entry point, to add its window and its list of pictures.
make_fetch_pick_and_place.metadata = {"render_modes": ["rgb_array"]}  # type: ignore[attr-defined]


def load_simulator(*, renders: bool = False) -> None:
    """Import MuJoCo, after a look at the versions, with a backend that can render where asked.

    Raises:
        gymnasium.error.DependencyNotInstalled, ImportError, RuntimeError: as above.
    """
    check_pair()
    # Its files alone are used, and importing it would print, and register a hundred ids.
    _optional.need(_EXTRA, "gymnasium_robotics")
    if renders:
        _gl.choose_backend()
    with contextlib.nullcontext() if renders else _gl.not_needed():
        try:
            _optional.require("mujoco", _EXTRA)
        # What an unusable OpenGL raises depends on the backend and on PyOpenGL.
        except Exception as error:
            if _gl.from_opengl(error):
                raise _gl.rendering_failed(error) from error
            raise
