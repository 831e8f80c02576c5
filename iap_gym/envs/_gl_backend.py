"""Which OpenGL backend MuJoCo renders with, chosen before dm_control is imported."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import traceback
from collections.abc import Iterator

# What dm_control accepts in MUJOCO_GL, by the backend that each value stands for.
_VALUES = {
    "egl": ("egl",),
    "osmesa": ("osmesa",),
    "glfw": ("glfw", "on", "enable", "enabled", "true", "1"),
    "disabled": ("off", "disable", "disabled", "false", "0"),
}
_LIBRARIES = {"egl": "libEGL.so.1", "osmesa": "libOSMesa.so.8"}
FIXES = {
    "egl": (
        "install EGL (on Debian and Ubuntu the packages libegl1 and libgl1-mesa-dri), or install "
        "libosmesa6 and set MUJOCO_GL=osmesa"
    ),
    "osmesa": (
        "install OSMesa (on Debian and Ubuntu the package libosmesa6), or install libegl1 and "
        "libgl1-mesa-dri and set MUJOCO_GL=egl"
    ),
    "glfw": (
        "give GLFW a display, or unset MUJOCO_GL or set it to egl (on Debian and Ubuntu the "
        "packages libegl1 and libgl1-mesa-dri) or osmesa (libosmesa6)"
    ),
    "disabled": "unset MUJOCO_GL, or set it to egl or osmesa",
}
_MODULES = ("OpenGL", "glfw", "dm_control._render", "mujoco.egl", "mujoco.osmesa", "mujoco.glfw")
_DEVICE_VARIABLE = "MUJOCO_EGL_DEVICE_ID"
_DEVICE_FIX = f"unset {_DEVICE_VARIABLE} or give it the number of a device that exists"


class RenderingError(RuntimeError):
    """Rendering cannot work as things stand.

    Args:
        why: what is wrong.
        fix: what the user can do.
    """

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(f"{why}; to fix it, {fix}")
        self.why, self.fix = why, fix


def check_variable() -> str | None:
    """Return the backend that ``MUJOCO_GL`` names, None where it is unset or empty.

    Raises:
        RenderingError: it has a value that dm_control does not know.
    """
    value = os.environ.get("MUJOCO_GL", "")
    if not value:
        return None
    for backend, values in _VALUES.items():
        if value in values:
            return backend
    known = ", ".join(value for values in _VALUES.values() for value in values)
    raise RenderingError(f"MUJOCO_GL: expected one of {known}, got {value!r}", FIXES["disabled"])


def choose_backend() -> tuple[str, str]:
    """Choose how MuJoCo renders, and tell dm_control where it is not imported yet.

    ``MUJOCO_GL`` is respected. Without it, on Linux, ``egl`` and then ``osmesa`` is taken, the
    first whose library can be loaded, and ``MUJOCO_GL`` is set to it, so that child processes and
    dm_control agree. Elsewhere nothing is touched and MuJoCo's own default holds.

    Returns:
        The backend ("egl", "osmesa", "glfw" or "cgl"), and how it was chosen.

    Raises:
        RenderingError: ``MUJOCO_GL`` is wrong or switches rendering off, or nothing can render.
    """
    backend, reason = check_variable(), f"MUJOCO_GL={os.environ.get('MUJOCO_GL')}"
    if backend == "disabled":
        raise RenderingError(f"{reason} switches rendering off", FIXES["disabled"])
    if backend is None and sys.platform.startswith("linux"):
        for name, library in _LIBRARIES.items():
            if library_loads(name):
                os.environ["MUJOCO_GL"] = name
                backend, reason = name, f"{library} can be loaded"
                break
        else:
            if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
                tried = " nor ".join(_LIBRARIES.values())
                raise RenderingError(f"neither {tried} can be loaded", FIXES["egl"])
    if backend == "egl":
        _check_device_variable()
    if backend is None or (backend == "glfw" and sys.platform == "darwin"):
        backend = "cgl" if sys.platform == "darwin" else "glfw"
        reason = f"the default of MuJoCo on {sys.platform}"
    return backend, reason


@contextlib.contextmanager
def not_needed() -> Iterator[None]:
    """Let dm_control be imported for an environment that never renders.

    ``MUJOCO_GL`` may name a backend that this machine lacks; dm_control would fail on it.

    Raises:
        RenderingError: ``MUJOCO_GL`` has a value that dm_control does not know.
    """
    backend = check_variable()
    if backend is None or library_loads(backend):
        yield
        return
    value, os.environ["MUJOCO_GL"] = os.environ["MUJOCO_GL"], "disabled"
    try:
        yield
    finally:
        os.environ["MUJOCO_GL"] = value


def library_loads(backend: str) -> bool:
    """Return whether the library of ``backend`` can be loaded; True where none is known."""
    try:
        return backend not in _LIBRARIES or bool(ctypes.CDLL(_LIBRARIES[backend]))
    except OSError:
        return False


def from_opengl(error: BaseException) -> bool:
    """Return whether an error came out of a module that loads OpenGL."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_globals.get("__name__", "").startswith(_MODULES) for frame, _ in frames)


def rendering_failed(error: BaseException) -> RenderingError:
    """Build the error for a backend that was chosen and does not work."""
    backend = check_variable() or "glfw"
    why, fix = str(error) or type(error).__name__, FIXES[backend]
    if _DEVICE_VARIABLE in why:
        fix = _DEVICE_FIX
    elif "framebuffer is not complete" in why:  # MuJoCo's words
        fix = "ask for smaller pictures"
    elif not library_loads(backend):
        why = f"{_LIBRARIES[backend]} cannot be loaded ({why})"
    return RenderingError(f"rendering with MUJOCO_GL={backend} failed: {why}", fix)


def _check_device_variable() -> None:
    value = os.environ.get(_DEVICE_VARIABLE)
    if value is not None and not value.isdecimal():
        raise RenderingError(
            f"{_DEVICE_VARIABLE}: expected the number of a device, got {value!r}", _DEVICE_FIX
        )
