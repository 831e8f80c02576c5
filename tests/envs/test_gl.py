"""OpenGL: how the backend is chosen, and what is said where it cannot work."""

import dataclasses
import os
import subprocess
import sys

import pytest

from iap_gym.envs import _gl, _gl_backend

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="backends are chosen on Linux alone"
)
_MAKE = (
    "import os, sys\n"
    "from iap_gym.envs.distracting_control import make_distracting_control as make\n"
    "small = dict(height=16, width=16)\n"
)


def run(code, expect=0, **variables):
    """Run code in a new process with only the given OpenGL variables; return what it printed."""
    environment = {name: value for name, value in os.environ.items() if not _is_gl(name)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    if not expect:
        assert done.stderr == ""  # no noise, also at exit
    return done.stdout.split("\n")[:-1] if not expect else done.stderr


def _is_gl(name):
    return name in ("MUJOCO_GL", "PYOPENGL_PLATFORM", "MUJOCO_EGL_DEVICE_ID", "DISPLAY")


@pytest.fixture
def no_variables(monkeypatch):
    for name in filter(_is_gl, list(os.environ)):
        monkeypatch.delenv(name)
    # What choose_backend sets is undone as well.
    monkeypatch.setenv("MUJOCO_GL", "")


@pytest.fixture
def loadable(monkeypatch):
    def only(*backends):
        monkeypatch.setattr(_gl_backend, "library_loads", lambda backend: backend in backends)

    return only


@pytest.mark.parametrize(
    ("backends", "chosen"),
    [(("egl", "osmesa"), "egl"), (("osmesa",), "osmesa"), (("egl",), "egl")],
)
def test_first_backend_whose_library_loads(no_variables, loadable, backends, chosen):
    loadable(*backends)
    backend, reason = _gl.choose_backend()
    assert backend == os.environ["MUJOCO_GL"] == chosen
    assert "can be loaded" in reason


def test_no_library_names_the_packages(no_variables, loadable):
    loadable()
    with pytest.raises(_gl.RenderingError, match=r"libEGL.*libegl1 and libgl1-mesa-dri.*libosmesa"):
        _gl.choose_backend()
    assert not os.environ["MUJOCO_GL"]


@pytest.mark.parametrize(("value", "backend"), [("osmesa", "osmesa"), ("on", "glfw")])
def test_the_variable_is_respected(no_variables, monkeypatch, value, backend):
    monkeypatch.setenv("MUJOCO_GL", value)
    assert _gl.choose_backend() == (backend, f"MUJOCO_GL={value}")
    assert os.environ["MUJOCO_GL"] == value


@pytest.mark.parametrize("value", ["EGL", "cuda", " egl"])
def test_unknown_values_are_named(no_variables, monkeypatch, value):
    monkeypatch.setenv("MUJOCO_GL", value)
    with pytest.raises(_gl.RenderingError, match=rf"MUJOCO_GL: expected one of egl.*'{value}'"):
        _gl.choose_backend()


def test_switched_off(no_variables, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    with pytest.raises(_gl.RenderingError, match=r"switches rendering off.*unset MUJOCO_GL"):
        _gl.choose_backend()


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_platforms_are_left_alone(no_variables, monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    backend, _ = _gl.choose_backend()
    assert backend == ("cgl" if platform == "darwin" else "glfw")
    assert not os.environ["MUJOCO_GL"]


@pytest.mark.parametrize(("number", "why"), [("99", "between 0 and"), ("GPU-1", "got 'GPU-1'")])
def test_device_that_does_not_exist(number, why):
    error = run(
        _MAKE + "make('cheetah', 'run', **small).reset(seed=0)",
        expect=1,
        MUJOCO_GL="egl",
        MUJOCO_EGL_DEVICE_ID=number,
    )
    assert "RenderingError" in error
    assert why in error
    assert "unset MUJOCO_EGL_DEVICE_ID" in error


def test_import_chooses_nothing():
    code = "import os, sys, iap_gym, iap_gym.envs.distracting_control\n"
    code += "print(os.environ.get('MUJOCO_GL'), 'mujoco' in sys.modules, 'shimmy' in sys.modules)"
    assert run(code) == ["None False False"]


def test_headless_machine_renders_without_the_variable():
    code = _MAKE + "env = make('cheetah', 'run', **small)\nprint(os.environ['MUJOCO_GL'])\n"
    code += "print(env.reset(seed=0)[0].std() > 5)\nleft_open = env"
    assert run(code) == [_gl_backend_here(), "True"]


def _gl_backend_here():
    return "egl" if _gl_backend.library_loads("egl") else "osmesa"


@pytest.mark.parametrize("value", [None, "disable", "egl", "osmesa"])
def test_state_alone_needs_no_opengl(value):
    # Escape changes a height field at every reset, for which dm_control wants a context.
    code = _MAKE + "env = make('quadruped', 'escape', observation='state')\n"
    code += "print(env.reset(seed=0)[0].shape, os.environ.get('MUJOCO_GL'))\n"
    code += "print(env.step(env.action_space.low)[0].shape); env.close()\n"
    variables = {} if value is None else {"MUJOCO_GL": value}
    assert run(code, **variables) == [f"(101,) {value}", "(101,)"]


def test_pixels_after_dm_control_came_in_without_a_backend():
    code = _MAKE + "make('cheetah', 'run', observation='state').reset(seed=0)\n"
    code += "print(make('cheetah', 'run', **small).reset(seed=0)[0].std() > 5)\n"
    assert run(code) == ["True"]


def test_backend_that_fails_says_what_to_install():
    if _gl_backend.library_loads("osmesa"):
        pytest.skip("OSMesa is installed here")
    error = run(
        _MAKE + "make('cheetah', 'run', **small).reset(seed=0)", expect=1, MUJOCO_GL="osmesa"
    )
    last = error.strip().splitlines()[-1]
    assert "rendering with MUJOCO_GL=osmesa failed: libOSMesa.so.8 cannot be loaded" in last
    assert "install OSMesa" in last
    assert "libegl1" in last


def test_other_import_errors_keep_their_own_words():
    code = "import sys\nsys.modules['dm_env'] = None\n" + _MAKE + "make('cheetah', 'run', **small)"
    last = run(code, expect=1).strip().splitlines()[-1]
    assert "RenderingError" not in last
    assert "dm_env" in last


def test_window_backend_without_a_display():
    error = run(_MAKE + "make('cheetah', 'run', **small).reset(seed=0)", 1, MUJOCO_GL="glfw")
    assert "MUJOCO_GL=glfw failed" in error
    assert "unset MUJOCO_GL or set it to egl" in error


def test_frames_from_several_threads():
    code = _MAKE + (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "env = make('cheetah', 'run', **small)\n"
        "first = env.reset(seed=0)[0]\n"
        "with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as two:\n"
        "    for pool in (one, two, one):\n"
        "        print((pool.submit(env.reset, seed=0).result()[0] == first).all())\n"
        "    two.submit(env.close).result()\n"
    )
    assert run(code) == ["True"] * 3


_FORK = (
    _MAKE
    + "import signal\n"
    + "env = make('cheetah', 'run', render_mode='rgb_array', **small)\n"
    + "{before}\n"
    + "child = os.fork()\n"
    + "if child:\n"
    + "    status = os.waitpid(child, 0)[1]\n"
    + "    print('status', status)\n"
    + "    {after}\n"
    + "else:\n"
    + "    signal.alarm(60)\n"
    + "    calls = dict(reset=env.reset, render=env.render,\n"
    + "        step=lambda: env.step(env.action_space.low), close=env.close,\n"
    + "        new=lambda: make('walker', 'run', **small).reset(seed=0))\n"
    + "    for name, call in calls.items():\n"
    + "        try:\n"
    + "            call()\n"
    + "            print(name, 'works', flush=True)\n"
    + "        except Exception as error:\n"
    + "            print(name, type(error).__name__, 'forkserver or spawn' in str(error),\n"
    + "                  flush=True)\n"
    + "    sys.exit(0)\n"
)


def test_fork_of_a_process_that_renders_raises_and_does_not_hang():
    code = _FORK.format(
        before="env.reset(seed=0); kept = env.render()",
        after="print((env.render() == kept).all(), env.step(env.action_space.low)[1] >= 0)",
    )
    assert run(code) == [
        "reset RuntimeError True",
        "render RuntimeError True",
        "step RuntimeError True",
        "close works",
        "new RuntimeError True",
        "status 0",
        "True True",
    ]


def test_fork_before_the_first_frame_renders():
    code = _FORK.format(before="", after="print(env.reset(seed=0)[0].std() > 5)")
    assert run(code) == [
        "reset works",
        "render works",
        "step works",
        "close works",
        "new works",
        "status 0",
        "True",
    ]


def test_report_of_this_machine():
    report = _gl.rendering_report()
    assert report.working, report
    assert report.backend in ("egl", "osmesa", "glfw")
    assert report.device
    assert (report.error, report.fix) == (None, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.working = False


@pytest.mark.parametrize("value", ["disable", "nonsense", "glfw"])
def test_report_of_what_does_not_work(no_variables, monkeypatch, value):
    monkeypatch.setenv("MUJOCO_GL", value)
    report = _gl.rendering_report()
    assert not report.working
    assert value in report.error
    assert "unset MUJOCO_GL" in report.fix


def test_report_of_a_process_that_dies(monkeypatch):
    monkeypatch.setattr(_gl, "_PROBE", "import os; os.abort()")
    report = _gl.rendering_report()
    assert not report.working
    assert "-6" in report.error
    monkeypatch.setattr(_gl, "_PROBE", "import time; time.sleep(60)")
    monkeypatch.setattr(_gl, "_PROBE_SECONDS", 0.5)
    assert "no answer" in _gl.rendering_report().error


@pytest.mark.parametrize(
    "later",
    [
        "other = make('cartpole', 'balance', **small)\nother.reset(seed=0)",
        # dm_control alone, whose hook at the exit then comes before ours
        "from dm_control import suite\nsuite.load('cartpole', 'balance').physics.render(16, 16)",
    ],
    ids=["ours", "dm_control's"],
)
def test_what_renders_later_makes_no_noise_at_the_exit(later):
    code = (
        _MAKE
        + "from iap_gym.envs.fetch import make_fetch_pick_and_place as fetch\n"
        + "env = fetch(observation='pixels', **small)\n"
        + "env.reset(seed=0)\n"
        + later
        + "\nprint('rendered')"
    )
    assert run(code, MUJOCO_GL="egl")[-1] == "rendered"


def test_a_display_that_others_end_is_begun_anew():
    """As SDL does when Gymnasium's window closes."""
    code = (
        _MAKE
        + "from iap_gym.envs.fetch import make_fetch_pick_and_place as fetch\n"
        + "from mujoco import egl\n"
        + "kept = []\n"
        + "for ends in ('close', 'exit'):\n"
        + "    for _ in range(2):\n"
        + "        env = fetch(observation='pixels', **small)\n"
        + "        kept.append(env)\n"
        + "        print(env.reset(seed=0)[0].std() > 1)\n"
        + "        egl.EGL.eglTerminate(egl.EGL_DISPLAY)\n"
        + "        if ends == 'close': env.close()\n"
    )
    assert run(code, MUJOCO_GL="egl") == ["True"] * 4


@pytest.mark.slow  # gigabytes of pixels
def test_pictures_too_large_for_the_renderer_are_named():
    code = _MAKE + "make('cartpole', 'balance', height=20_000, width=20_000).reset(seed=0)"
    error = run(code, expect=1, MUJOCO_GL="egl")
    assert "framebuffer is not complete" in error
    assert "to fix it, ask for smaller pictures" in error
