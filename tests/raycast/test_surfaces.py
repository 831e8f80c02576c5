"""Textures and light, to the texel."""

import numpy as np
import pytest

from iap_gym.raycast import Box, Ground, RayCaster, Scene, Texture, look_at
from tests.raycast.scenes import random_rotation

X, Y, Z = np.eye(3)
# The normal of a face, what is up on it, and its edges.
FACES = [(X, Z), (-X, Z), (Y, Z), (-Y, Z), (Z, Y), (-Z, -Y)]
PICTURE = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)


@pytest.fixture(params=["numba", "numpy"])
def backend(request):
    if request.param == "numba":
        pytest.importorskip("numba")
    return request.param


def brightness(scene, normal):
    """ambient + (1 - ambient) (1 + n·l) / 2."""
    light = np.array(scene.light)
    assert np.isclose(np.linalg.norm(light), 1)
    return scene.ambient + (1 - scene.ambient) * (1 + normal @ light) / 2


def assert_shaded(rgb, texels, factor):
    """Brightness is rounded to 256ths, and colors to integers."""
    expected = texels * (np.rint(factor * 256) / 256)
    assert np.abs(rgb - expected).max() <= 0.5


@pytest.mark.parametrize(("normal", "up"), FACES)
def test_a_face_shows_its_texture_upright_and_not_mirrored(backend, normal, up):
    """A face of 1.6 m by 1.2 m fills a picture of 16 by 12 pixels: pixel by pixel the texture."""
    depth = 1.5
    turned = random_rotation(np.random.default_rng(3))
    for rotation in (np.eye(3), turned):
        right = np.cross(up, normal)
        half = np.abs(0.8 * right + 0.6 * up + 0.7 * normal)
        box = Box((1, 2, 3), half, rotation, "picture")
        scene = Scene([box], textures={"picture": Texture(PICTURE, 1.6)}, ambient=0.4)
        fov = 2 * np.degrees(np.arctan(0.6 / depth))
        camera = RayCaster(scene, 16, 12, fov, backend=backend)
        place = np.array(box.center) + rotation @ (normal * (0.7 + depth))
        frame = camera.render(place, look_at(place, box.center, rotation @ up))
        np.testing.assert_allclose(frame.depth, depth, rtol=1e-6)
        assert_shaded(frame.rgb, PICTURE, brightness(scene, rotation @ normal))


def test_the_ground_shows_its_texture_from_the_origin_with_y_up(backend):
    scene = Scene(ground=Ground(0.5, "picture"), textures={"picture": Texture(PICTURE, 1.6)})
    fov = 2 * np.degrees(np.arctan(0.6))
    camera = RayCaster(scene, 16, 12, fov, backend=backend)
    for right, above in ((0, 0), (3, -2), (-1, 5)):
        place = np.array([1.6 * right + 0.8, 1.2 * above + 0.6, 1.5])
        rgb = camera.rgb(place, look_at(place, place - Z, Y))
        assert_shaded(rgb, PICTURE, brightness(scene, Z))


def test_textures_repeat_at_their_own_scale_from_the_upper_left_corner(backend):
    """On a wall of 4.1 m by 2.3 m, texels of a texture of 1 m by 0.75 m."""
    wall = Box((5, 0, 0), (0.1, 2.05, 1.15), texture=7)
    scene = Scene([wall], textures={7: PICTURE}, light=(0, 0, 1), ambient=1.0)
    camera = RayCaster(scene, 200, 120, 30, backend=backend)
    frame = camera.render((0, 0, 0), np.eye(3))
    half = 4.9 * np.tan(np.radians(15))
    rows, columns = np.nonzero(frame.ids == 0)
    y = half * 200 / 120 * (1 - 2 * (columns + 0.5) / 200)
    z = half * (1 - 2 * (rows + 0.5) / 120)
    right, down = (2.05 - y) % 1.0, (1.15 - z) % 0.75
    texels = PICTURE[(down / 0.75 * 12).astype(int), (right * 16).astype(int)]
    # A pixel's middle may fall on the border of two texels.
    same = (frame.rgb[rows, columns] == texels).all(axis=1)
    assert len(same) > 10_000
    assert same.mean() > 0.999


def test_a_texture_has_the_height_of_its_picture():
    assert Texture(PICTURE, 3.2).height == pytest.approx(2.4)


def test_faces_of_one_box_differ(backend):
    scene = Scene([Box((0, 0, 0), (1, 1, 1), 0.0, (200, 100, 50))])
    camera = RayCaster(scene, 1, 1, backend=backend)
    seen = []
    for normal, up in FACES:
        rgb = camera.rgb(3 * normal, look_at(3 * normal, (0, 0, 0), up))[0, 0]
        assert_shaded(rgb, np.array([200, 100, 50]), brightness(scene, normal))
        seen.append(tuple(rgb))
    assert len(set(seen)) == 6


def test_full_light_leaves_colors_as_they_are(backend):
    color = (255, 1, 128)
    scene = Scene([Box((3, 0, 0), (1, 9, 9), 0.0, color)], ambient=1.0)
    assert tuple(RayCaster(scene, 1, 1, backend=backend).rgb((0, 0, 0), np.eye(3))[0, 0]) == color
