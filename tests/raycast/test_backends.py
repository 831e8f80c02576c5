"""The compiled kernel against numpy, and when it is there."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from hypothesis import given, settings
from hypothesis import strategies as st

import iap_gym
from iap_gym._compiled.availability import import_kernels
from iap_gym.raycast import Box, Ground, RayCaster, Scene, caster
from tests.raycast.scenes import random_rotation, random_scene

POSE = (0, 0, 1), np.eye(3)


def test_both_see_the_same():
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    pixels = others = 0
    for _ in range(30):
        scene = random_scene(rng)
        width, height = rng.integers(1, 70, 2).tolist()
        options = {"fov": rng.uniform(20, 120), "far": rng.uniform(3, 10)}
        one = RayCaster(scene, width, height, backend="numba", **options)
        two = RayCaster(scene, width, height, backend="numpy", **options)
        for _ in range(4):
            pose = rng.uniform([-4, -4, -1], [4, 4, 2]), random_rotation(rng)
            a, b = one.render(*pose), two.render(*pose)
            same = (a.ids == b.ids) & (a.rgb == b.rgb).all(axis=-1)
            np.testing.assert_allclose(a.depth[same], b.depth[same], rtol=1e-6)
            pixels += same.size
            others += int((~same).sum())
    # Ties, which rounding may decide one way or the other.
    assert pixels > 100_000
    assert others <= pixels * 1e-4


NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
SIZES = st.floats(1e-9, 1e9)


@settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=12, max_size=12))
def test_any_numbers_make_a_frame_or_an_error(numbers):
    scene = random_scene(np.random.default_rng(0))
    for backend in ("auto", "numpy"):
        camera = RayCaster(scene, 5, 4, backend=backend)
        message = "position: expected or rotation: expected"
        try:
            frame = camera.render(numbers[:3], np.reshape(numbers[3:], (3, 3)))
            assert np.isfinite(frame.depth).all()
        except ValueError as error:
            message = str(error)
        assert message.startswith(("position: expected", "rotation: expected"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(SIZES, min_size=3, max_size=3),
    st.lists(st.floats(-1e9, 1e9), min_size=6, max_size=6),
    st.floats(1e-3, 179.999),
    st.floats(1e-6, 1e3),
    st.floats(2, 1e6),
    st.floats(1e-9, 1e9),
    st.integers(0, 2**32 - 1),
)
def test_any_pose_in_any_scene_is_seen(half_extents, places, fov, near, reach, width, seed):
    rng = np.random.default_rng(seed)
    picture = rng.integers(0, 256, (3, 5, 3), dtype=np.uint8)
    box = Box(places[:3], half_extents, random_rotation(rng), "t")
    textures = {"t": iap_gym.raycast.Texture(picture, width)}
    scene = Scene([box, Box((3, 0, 0), (1, 1, 1), texture="t")], Ground(0, "t"), textures=textures)
    for place in (places[3:], np.zeros(3), np.add(box.center, [1, 0, 0])):
        place = np.clip(place, -1e9, 1e9)
        for backend in ("auto", "numpy"):
            camera = RayCaster(scene, 5, 4, fov, near, near * reach, backend=backend)
            frame = camera.render(place, random_rotation(rng))
            assert set(np.unique(frame.ids)) <= {-2, -1, 0, 1}
            assert (frame.depth >= np.float32(near) * (1 - 1e-6)).all()
            assert (frame.depth <= np.float32(near * reach) * (1 + 1e-6)).all()
            np.testing.assert_array_equal(
                frame.rgb[frame.ids == -2], np.broadcast_to(scene.sky, ((frame.ids == -2).sum(), 3))
            )


@pytest.fixture
def fresh(monkeypatch):
    """Look for numba anew, and again after the test."""
    import_kernels.cache_clear()
    yield monkeypatch
    monkeypatch.undo()
    import_kernels.cache_clear()


def test_without_numba_numpy_sees(fresh):
    scene = random_scene(np.random.default_rng(0))
    expected = RayCaster(scene, backend="numpy").rgb(*POSE)
    fresh.setitem(sys.modules, "numba", None)
    fresh.setattr("importlib.util.find_spec", lambda name: None)
    assert caster.compiled_calls() is None
    np.testing.assert_array_equal(RayCaster(scene).rgb(*POSE), expected)
    with pytest.raises(DependencyNotInstalled, match=r'pip install "iap-gym\[fast\]"'):
        RayCaster(scene, backend="numba")


LOOK = """
import sys
import numpy as np
from iap_gym.raycast import Box, RayCaster, Scene
lazy = ("numba", "embreex", "iap_gym.raycast.compiled.kernels")
camera = RayCaster(Scene([Box((3, 0, 0), (1, 9, 9))]))
print(*(name in sys.modules for name in lazy))
assert (camera.depth((0, 0, 0), np.eye(3)) == 2).all()
print(*(name in sys.modules for name in lazy))
"""


@pytest.mark.parametrize(
    ("switched_off", "after"), [("0", "True False True"), ("1", "True False False")]
)
def test_numba_is_imported_by_the_first_look(switched_off, after):
    pytest.importorskip("numba")
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": switched_off,
        "PYTHONPATH": str(Path(iap_gym.__file__).parents[1]),
    }
    command = [sys.executable, "-W", "error", "-c", LOOK]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ["False False False", after]


def test_kept_code_depends_on_every_source():
    pytest.importorskip("numba")
    from iap_gym.raycast.compiled import kernels

    enclosed = [cell.cell_contents for cell in kernels.render.py_func.__closure__]
    assert kernels.SOURCES in enclosed


def test_all_poses_and_scenes_share_one_compilation():
    pytest.importorskip("numba")
    from iap_gym.raycast.compiled import kernels

    rng = np.random.default_rng(0)
    frozen = np.eye(3)
    frozen.flags.writeable = False
    scenes = [
        Scene(),
        Scene(ground=Ground()),
        random_scene(rng, 1, ground=False),
        random_scene(rng),
    ]
    for scene in scenes:
        camera = RayCaster(scene, 1, 3, backend="numba")
        for pose in (POSE, (frozen[0], frozen), (np.zeros(6)[::2], np.asfortranarray(np.eye(3)))):
            camera.render(*pose)
            camera.depth(*pose)
            camera.rgb(*pose)
    assert len(kernels.render.signatures) == 1
