"""OpenGL for MuJoCo: one offscreen context per environment, and a report of what works.

dm_control fixes its own backend while it is imported. The contexts here are made apart from it, on
first use, so that an environment can still render after dm_control came in without a backend, and
that a process which only looked at the spaces of an environment can be forked.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import dataclasses
import functools
import importlib
import json
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from iap_gym.envs._gl_backend import (
    FIXES,
    RenderingError,
    check_variable,
    choose_backend,
    from_opengl,
    not_needed,
    rendering_failed,
)

__all__ = [
    "Context",
    "RenderingError",
    "RenderingReport",
    "check_process",
    "check_variable",
    "choose_backend",
    "from_opengl",
    "not_needed",
    "rendering_failed",
    "rendering_report",
]

_FORKED = (
    "this process was forked from one that already renders with OpenGL, and rendering here would "
    "hang; start worker processes with the forkserver or spawn method, for example "
    'gymnasium.vector.AsyncVectorEnv(env_fns, context="forkserver")'
)
_PROBE_SECONDS = 60
_PROBE = "from iap_gym.envs import _gl; _gl._probe()"

_process: int | None = None  # the one that made the first context; a fork of it cannot render
_live: weakref.WeakSet[Context] = weakref.WeakSet()


def check_process() -> None:
    """Raise where OpenGL would hang.

    Raises:
        RuntimeError: this process is a fork of one that already renders.
    """
    if _process not in (None, os.getpid()):
        raise RuntimeError(_FORKED)


class Context:
    """One offscreen OpenGL context with MuJoCo's resources of one model in it.

    Args:
        model: a ``mujoco.MjModel``; its textures, meshes and height fields are uploaded here, and
            its ``vis.quality`` and offscreen size are read here and not again.

    Raises:
        RenderingError: the backend does not work.
        RuntimeError: this process is a fork of one that already renders.
    """

    def __init__(self, model: Any) -> None:
        global _process
        check_process()
        self._backend, _ = choose_backend()
        size = model.vis.global_.offwidth, model.vis.global_.offheight
        _process = os.getpid()
        self._gl: Any = None
        self._mjr: Any = None
        try:
            mujoco: Any = importlib.import_module("mujoco")
            backend: Any = importlib.import_module(f"mujoco.{self._backend}")
            # Anew, where there is a display that somebody has ended; else this does nothing.
            if self._backend == "egl" and backend.EGL_DISPLAY:
                backend.EGL.eglInitialize(backend.EGL_DISPLAY, None, None)
            with _previous_kept(self._backend):
                self._gl = backend.GLContext(*size)
                _close_first()
                self._gl.make_current()
                self._mjr = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150)
                mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._mjr)
        # PyOpenGL's failures have many classes, AttributeError and its own Error among them.
        except Exception as error:
            raise rendering_failed(error) from error
        _live.add(self)

    @contextlib.contextmanager
    def current(self) -> Iterator[Any]:
        """Make the context current, and afterwards the one that was current before.

        Yields:
            The ``mujoco.MjrContext``.

        Raises:
            RuntimeError: in a forked process, or after ``close``.
        """
        check_process()
        if self._mjr is None:
            raise RuntimeError("the rendering context is closed")
        with _previous_kept(self._backend):
            self._gl.make_current()
            yield self._mjr

    def close(self) -> None:
        """Free everything; a second call does nothing, and a forked process frees nothing."""
        if self._mjr is not None and _process == os.getpid():
            try:
                with _previous_kept(self._backend):
                    self._gl.make_current()
                    self._mjr.free()
                    self._gl.free()
            except Exception as error:
                # Others end the display under us, as SDL does when its window closes.
                if not from_opengl(error):
                    raise
                self.abandon()
        self._gl = self._mjr = None

    def abandon(self) -> None:
        """Keep the native objects from ever being freed: in a fork, freeing them hangs."""
        for native in (self._mjr, self._gl):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(native))


@dataclass(frozen=True)
class RenderingReport:
    """What a fresh process found when it rendered one pixel."""

    backend: str | None  # None: none could be chosen
    chosen_by: str
    device: str | None  # OpenGL's name of the renderer
    working: bool
    error: str | None
    fix: str | None


def rendering_report() -> RenderingReport:
    """Try rendering in a process of its own, so that a crash or a hang there does no harm here."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _failed_report(f"no answer within {_PROBE_SECONDS} s")
    lines = done.stdout.splitlines()
    try:
        return RenderingReport(**json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return _failed_report(f"the process ended with status {done.returncode}: {last}")


def _failed_report(error: str) -> RenderingReport:
    backend = os.environ.get("MUJOCO_GL") or None
    fix = FIXES.get(backend or "egl", FIXES["disabled"])
    return RenderingReport(backend, "a separate process", None, False, error, fix)


def _probe() -> None:
    """Print the report of this process as one line of JSON."""
    backend, chosen_by, device, error, fix = None, "nothing", None, None, None
    try:
        backend, chosen_by = choose_backend()
        mujoco: Any = importlib.import_module("mujoco")
        context = Context(mujoco.MjModel.from_xml_string("<mujoco/>"))
        with context.current():
            gl = importlib.import_module("OpenGL.GL")
            device = gl.glGetString(gl.GL_RENDERER).decode()
        context.close()
    # Whatever goes wrong is what the report is about.
    except Exception as caught:
        failure = caught if isinstance(caught, RenderingError) else rendering_failed(caught)
        error, fix = failure.why, failure.fix
    report = RenderingReport(backend, chosen_by, device, error is None, error, fix)
    sys.stdout.write(json.dumps(dataclasses.asdict(report)) + "\n")


@contextlib.contextmanager
def _previous_kept(backend: str) -> Iterator[None]:
    """Afterwards have the context current on this thread that is current now, or none.

    dm_control remembers which of its contexts is current and would draw into ours; and a context
    that stays current on one thread cannot be used on another.
    """
    restore = _restorer(backend)
    try:
        yield
    finally:
        restore()


def _restorer(backend: str) -> Callable[[], object]:
    if backend == "egl":
        egl: Any = importlib.import_module("mujoco.egl")
        gl = egl.EGL
        # Which context is current is asked for one API; making and freeing contexts resets it.
        gl.eglBindAPI(gl.EGL_OPENGL_API)
        display, context = gl.eglGetCurrentDisplay(), gl.eglGetCurrentContext()
        draw, read = (gl.eglGetCurrentSurface(kind) for kind in (gl.EGL_DRAW, gl.EGL_READ))

        def restore() -> None:
            gl.eglBindAPI(gl.EGL_OPENGL_API)
            if context:
                gl.eglMakeCurrent(display, draw, read, context)
            elif gl.eglGetCurrentContext():
                nothing = gl.EGL_NO_SURFACE
                gl.eglMakeCurrent(egl.EGL_DISPLAY, nothing, nothing, gl.EGL_NO_CONTEXT)

        return restore
    if backend == "glfw":
        glfw: Any = importlib.import_module("glfw")
        window = glfw.get_current_context()
        return lambda: glfw.make_context_current(window or None)
    return lambda: None  # osmesa and cgl: dm_control runs these on threads of its own


def _close_first() -> None:
    """Have contexts closed before anything else that has been asked for at the exit by now.

    MuJoCo's backend and dm_control's, which may be imported later, end the display there.
    """
    _abandon_in_forks()
    atexit.unregister(_close_all)
    atexit.register(_close_all)


@functools.cache
def _abandon_in_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_abandon_all)


def _close_all() -> None:
    for context in list(_live):
        context.close()


def _abandon_all() -> None:
    for context in list(_live):
        context.abandon()
    atexit.unregister(_close_all)
    if "mujoco.egl" in sys.modules:
        atexit.unregister(sys.modules["mujoco.egl"].EGL.eglTerminate)
