"""Errors that name the argument, what was wanted and what came."""

import numpy as np
import pytest

from iap_gym.raycast import Box, Ground, RayCaster, Scene, Texture

SCENE = Scene([Box((3, 0, 0), (1, 1, 1))])
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, r"width: expected an integer in \[1, 8192\], got 0"),
        ({"height": -3}, r"height: expected an integer in \[1, 8192\], got -3"),
        ({"width": 2.5}, "width: expected an integer"),
        ({"width": 100_000}, r"width: expected an integer in \[1, 8192\], got 100000"),
        ({"height": 8193}, r"height: expected an integer in \[1, 8192\], got 8193"),
        ({"fov": 0}, "fov: expected"),
        ({"fov": 180}, "fov: expected an angle below 180 degrees, got 180"),
        ({"fov": NAN}, "fov: expected"),
        ({"near": 0}, "near: expected"),
        ({"near": 2, "far": 2}, r"near: expected less than far \(2\), got 2"),
        ({"far": INF}, "far: expected"),
        ({"backend": "torch"}, "backend: expected one of 'auto', 'numba', 'numpy', got 'torch'"),
        ({"scene": None}, "scene: expected a Scene, got None"),
    ],
)
def test_casters(options, message):
    with pytest.raises(ValueError, match=message):
        RayCaster(**{"scene": SCENE, **options})


@pytest.mark.parametrize("backend", ["auto", "numpy"])
@pytest.mark.parametrize("method", ["render", "rgb", "depth"])
@pytest.mark.parametrize(
    ("position", "rotation", "message"),
    [
        ((0, 0), np.eye(3), r"position: expected numbers of shape \(3,\), got \(0, 0\)"),
        ((0, NAN, 0), np.eye(3), "position: expected finite numbers"),
        ((0, 0, INF), np.eye(3), "position: expected finite numbers"),
        ((0, 0, 1e300), np.eye(3), "position: expected finite numbers below"),
        ("here", np.eye(3), "position: expected numbers"),
        ((0, 0, 0), np.eye(4), r"rotation: expected numbers of shape \(3, 3\)"),
        ((0, 0, 0), None, r"rotation: expected numbers of shape \(3, 3\), got None"),
        ((0, 0, 0), np.eye(3) * 1j, r"rotation: expected numbers of shape \(3, 3\), got array"),
        (np.zeros(3, complex), np.eye(3), r"position: expected numbers of shape \(3,\), got array"),
        ((True, False, True), np.eye(3), "position: expected numbers"),
        ((0, 0, 0), 2 * np.eye(3), "rotation: expected orthonormal columns"),
        ((0, 0, 0), np.full((3, 3), NAN), "rotation: expected orthonormal columns"),
        ((0, 0, 0), np.diag([1, 1, -1]), "rotation: expected orthonormal columns"),
        ((0, 0, 0), np.eye(3)[[1, 0, 2]], "rotation: expected orthonormal columns"),
        ((0, 0, 0), np.eye(3) + 1e-3 * np.eye(3, k=1), "rotation: expected orthonormal"),
    ],
)
def test_poses(backend, method, position, rotation, message):
    with pytest.raises(ValueError, match=message):
        getattr(RayCaster(SCENE, backend=backend), method)(position, rotation)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": (0, 0)}, r"center: expected three numbers, got \(0, 0\)"),
        ({"center": (0, 0, NAN)}, r"center\[2\]: expected a finite number"),
        ({"center": 3}, "center: expected three numbers, got 3"),
        ({"half_extents": (1, -1, 1)}, r"half_extents\[1\]: expected a finite number.*got -1"),
        ({"half_extents": (1, 0, 1)}, r"half_extents\[1\]: expected a finite number.*got 0"),
        ({"half_extents": (1, 1, INF)}, r"half_extents\[2\]: expected a finite number"),
        ({"rotation": NAN}, "rotation: expected a finite number"),
        ({"rotation": None}, r"rotation: expected an angle, or a rotation \(3, 3\), got None"),
        ({"rotation": 1j}, "rotation: expected an angle, or a rotation"),
        ({"rotation": np.eye(3) * 1j}, r"rotation: expected a rotation \(3, 3\)"),
        ({"rotation": "left"}, r"rotation: expected a rotation \(3, 3\), got 'left'"),
        ({"rotation": np.ones((3, 3))}, r"rotation: expected a rotation \(3, 3\)"),
        ({"rotation": [1, 2]}, r"rotation: expected a rotation \(3, 3\), got \[1, 2\]"),
        ({"texture": (0, 0, 256)}, r"texture\[2\]: expected an integer in \[0, 255\], got 256"),
        ({"texture": 1.5}, "texture: expected the name of a texture or a color"),
        ({"texture": (0.5, 0, 0)}, r"texture\[0\]: expected an integer"),
    ],
)
def test_boxes(options, message):
    with pytest.raises(ValueError, match=message):
        Box(**{"center": (0, 0, 0), "half_extents": (1, 1, 1), **options})


PICTURE = np.zeros((2, 2, 3), np.uint8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boxes": Box((0, 0, 0), (1, 1, 1))}, r"boxes: expected a sequence of boxes, got Box"),
        ({"boxes": None}, "boxes: expected a sequence of boxes, got None"),
        ({"textures": [1]}, r"textures: expected a dict of textures, got \[1\]"),
        ({"textures": None}, "textures: expected a dict of textures, got None"),
        ({"boxes": [3]}, r"boxes\[0\]: expected a Box, got 3"),
        (
            {"boxes": [Box((0, 0, 0), (1, 1, 1), 0, "wood")]},
            r"boxes\[0\].texture: expected .* got 'wood'",
        ),
        ({"boxes": [Box((0, 0, 0), (1, 1, 1), 0, 4)]}, r"boxes\[0\].texture: expected .* got 4"),
        ({"ground": 0.0}, "ground: expected a Ground or None, got 0.0"),
        ({"ground": Ground(0, "grass")}, r"ground.texture: expected .* \['t'\], got 'grass'"),
        ({"sky": "blue"}, r"sky: expected a color \(r, g, b\), got 'blue'"),
        (
            {"textures": {"t": PICTURE / 255}},
            r"pixels: expected .* got float64 \(2, 2, 3\)$",
        ),
        ({"textures": {"t": PICTURE[..., 0]}}, r"pixels: expected uint8 \(h, w, 3\)"),
        ({"textures": {"t": PICTURE[:0]}}, r"pixels: expected uint8 \(h, w, 3\) with at least one"),
        ({"textures": {"t": [[1]]}}, r"pixels: expected uint8 .* got \[\[1\]\]"),
        ({"light": (0, 0, 0)}, r"light: expected a direction, got \(0, 0, 0\)"),
        ({"ambient": 1.5}, r"ambient: expected a finite number in \[0, 1\], got 1.5"),
    ],
)
def test_scenes(options, message):
    with pytest.raises(ValueError, match=message):
        Scene(**{"textures": {"t": PICTURE}, **options})


def test_ground_and_texture():
    with pytest.raises(ValueError, match="height: expected a finite number"):
        Ground(NAN)
    with pytest.raises(ValueError, match="width: expected a finite number > 0, got 0"):
        Texture(PICTURE, 0)
