"""Triangle meshes through Embree, against closed forms and the camera of boxes."""

import itertools
import pickle
import sys

import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled

from iap_gym.raycast import (
    GROUND,
    MESH,
    NOTHING,
    Box,
    Ground,
    Mesh,
    MeshCaster,
    RayCaster,
    Scene,
    look_at,
    rotation_from_yaw_pitch,
)
from tests.raycast.scenes import random_place, random_rotation, random_scene

pytest.importorskip("embreex")

CORNERS = np.array(list(itertools.product((-1, 1), repeat=3)), float)
# Two triangles of each side.
SIDES = np.array(
    [
        [4, 6, 7], [4, 7, 5], [0, 1, 3], [0, 3, 2],
        [2, 3, 7], [2, 7, 6], [0, 4, 5], [0, 5, 1],
        [1, 5, 7], [1, 7, 3], [0, 2, 6], [0, 6, 4],
    ]
)  # fmt: skip
SQUARE = np.array([[2, 1, -1], [2, -1, -1], [2, -1, 1], [2, 1, 1]], float)  # 2 m ahead
TWO = np.array([[0, 1, 2], [0, 2, 3]])
AHEAD, ORIGIN = np.eye(3), np.zeros(3)
WHOLE = 2 * np.degrees(np.arctan(0.5))  # the square fills the picture


def mesh_of(scene):
    vertices = [CORNERS * box.half_extents @ box.matrix.T + box.center for box in scene.boxes]
    faces = [SIDES + 8 * index for index in range(len(vertices))]
    return Mesh(np.concatenate(vertices), np.concatenate(faces))


def test_no_ray_leaks_out_of_a_closed_box():
    rng = np.random.default_rng(0)
    camera = MeshCaster(Mesh(2 * CORNERS, SIDES), 128, 128, 100)
    for index in range(60):
        rotation = random_rotation(rng) if index % 2 else np.eye(3)
        # From the middle, many rays go exactly through edges and diagonals.
        place = rng.uniform(-1.5, 1.5, 3) if index % 3 else np.zeros(3)
        depth = camera.depth(place, rotation)
        assert depth.max() < 10
        if index < 4:
            assert (camera.render(place, rotation).ids == MESH).all()


def test_it_sees_boxes_as_the_camera_of_boxes_does():
    rng = np.random.default_rng(1)
    for _ in range(4):
        scene = random_scene(rng, ground=False)
        grey = Scene([Box(b.center, b.half_extents, b.rotation) for b in scene.boxes])
        one = MeshCaster(mesh_of(scene), 60, 50, 80)
        two = RayCaster(grey, 60, 50, 80)
        place, rotation = random_place(rng, scene), random_rotation(rng)
        a, b = one.render(place, rotation), two.render(place, rotation)
        np.testing.assert_array_equal(one.depth(place, rotation), a.depth)
        np.testing.assert_array_equal(one.rgb(place, rotation), a.rgb)
        same = (a.ids == MESH) == (b.ids >= 0)
        assert same.mean() > 0.999
        near = np.isclose(a.depth, b.depth, rtol=1e-5, atol=1e-5)
        assert near.mean() > 0.998
        assert (np.abs(a.rgb.astype(int) - b.rgb).max(axis=-1) <= 1).mean() > 0.995


def test_it_is_seen_from_both_sides_and_cut_by_near_and_far():
    mesh = Mesh(SQUARE, TWO)
    for faces in (TWO, TWO[:, ::-1]):
        frame = MeshCaster(Mesh(SQUARE, faces), 8, 8, WHOLE).render(ORIGIN, AHEAD)
        np.testing.assert_allclose(frame.depth, 2, rtol=1e-6)
        np.testing.assert_array_equal(frame.rgb, MeshCaster(mesh, 8, 8, WHOLE).rgb(ORIGIN, AHEAD))
    for options in ({"near": 2.1}, {"far": 1.9}):
        frame = MeshCaster(mesh, 8, 8, WHOLE, **options).render(ORIGIN, AHEAD)
        np.testing.assert_array_equal(frame.ids, NOTHING)
        np.testing.assert_array_equal(frame.depth, np.float32(options.get("far", 10)))


def test_boxes_and_the_ground_stand_beside_it():
    before, behind = Box((1.5, -0.5, 0), (0.1, 0.3, 0.3)), Box((3, 0.5, 0), (0.1, 9, 0.3))
    scene = Scene([before, behind], Ground(-0.6), sky=(1, 2, 3))
    camera = MeshCaster(Mesh(SQUARE[:3], TWO[:1]), 40, 40, 60, scene=scene)
    frame = camera.render(ORIGIN, AHEAD)
    alone = RayCaster(scene, 40, 40, 60).render(ORIGIN, AHEAD)
    assert set(np.unique(frame.ids)) == {MESH, NOTHING, GROUND, 0, 1}
    other = frame.ids != MESH
    for mine, theirs in zip(frame, alone, strict=True):
        np.testing.assert_array_equal(mine[other], theirs[other])
    np.testing.assert_allclose(frame.depth[~other], 2, rtol=1e-6)
    assert (alone.depth[~other] > 2).all()
    np.testing.assert_array_equal(camera.depth(ORIGIN, AHEAD), frame.depth)
    camera.scene = Scene()
    assert set(np.unique(camera.render(ORIGIN, AHEAD).ids)) == {MESH, NOTHING}


def test_colors_of_vertices_are_interpolated():
    """On a square, linear ones are linear functions of the place."""
    colors = np.array([[0, 0, 10], [200, 0, 10], [200, 100, 10], [0, 100, 10]], np.uint8)
    mesh = Mesh(SQUARE, TWO, vertex_colors=colors)
    rgb = MeshCaster(mesh, 20, 20, WHOLE).rgb(ORIGIN, AHEAD)
    across = (np.arange(20) + 0.5) / 20
    assert np.abs(rgb[..., 0] - 200 * across).max() <= 0.51
    assert np.abs(rgb[..., 1] - 100 * (1 - across[:, None])).max() <= 0.51
    assert (rgb[..., 2] == 10).all()


def test_faces_have_colors():
    colors = np.array([[255, 0, 0], [0, 255, 0]], np.uint8)
    rgb = MeshCaster(Mesh(SQUARE, TWO, face_colors=colors), 8, 8, WHOLE).rgb(ORIGIN, AHEAD)
    # The diagonal goes from the lower left to the upper right.
    assert tuple(rgb[6, 5]) == (255, 0, 0)
    assert tuple(rgb[1, 2]) == (0, 255, 0)


def test_pictures_lie_upright_and_repeat():
    picture = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    square = SQUARE * [1, 16 / 12, 1]
    for uv in (corners, corners + np.array([3, -2])):
        mesh = Mesh(square, TWO, uv=uv, textures=picture)
        rgb = MeshCaster(mesh, 16, 12, WHOLE).rgb(ORIGIN, AHEAD)
        np.testing.assert_array_equal(rgb, picture)
    mesh = Mesh(square, TWO, uv=2 * corners, textures=picture)
    rgb = MeshCaster(mesh, 32, 24, WHOLE).rgb(ORIGIN, AHEAD)
    np.testing.assert_array_equal(rgb, np.tile(picture, (2, 2, 1)))


def test_faces_may_have_different_pictures():
    one, two = (np.full((2, 2, 3), value, np.uint8) for value in (10, 20))
    mesh = Mesh(
        SQUARE, TWO, uv=np.zeros((4, 2)), textures=[one, two], face_texture=np.array([1, 0])
    )
    rgb = MeshCaster(mesh, 8, 8, WHOLE).rgb(ORIGIN, AHEAD)
    assert (rgb[6, 5, 0], rgb[1, 2, 0]) == (20, 10)


def test_a_mesh_is_shared_and_pickled():
    mesh = Mesh(2 * CORNERS, SIDES)
    pose = (0.3, 0.2, 0.1), rotation_from_yaw_pitch(0.3, 0.2)
    depth = MeshCaster(mesh, 16, 16).depth(*pose)
    assert MeshCaster(mesh, 8, 8).depth(*pose).shape == (8, 8)
    copy = pickle.loads(pickle.dumps(mesh))
    np.testing.assert_array_equal(MeshCaster(copy, 16, 16).depth(*pose), depth)


def test_a_large_scene_far_from_the_origin():
    mesh = Mesh(SQUARE + np.array([200, 300, 0]), TWO)
    depth = MeshCaster(mesh, 8, 8, 20).depth((200, 300, 0), AHEAD)
    np.testing.assert_allclose(depth, 2, atol=1e-6 * 300)


def test_without_embree(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match=r'embreex .* "iap-gym\[meshes\]"'):
        MeshCaster(Mesh(SQUARE, TWO))
    assert "embreex" in sys.modules


COLORS = np.zeros((4, 3), np.uint8)
UV = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vertices": SQUARE[:, :2]}, r"vertices: expected finite numbers of shape \(n, 3\), got"),
        ({"vertices": SQUARE * np.nan}, "vertices: expected finite numbers"),
        ({"vertices": np.zeros((0, 3))}, r"vertices: expected finite numbers of shape \(n, 3\)"),
        ({"vertices": "cube"}, "vertices: expected finite numbers"),
        (
            {"faces": np.zeros((0, 3), int)},
            r"faces: expected integers \('m', 3\), at least one row",
        ),
        ({"faces": TWO + 1}, "faces: expected integers from 0 to 3, got 4"),
        ({"faces": TWO - 1}, "faces: expected integers from 0 to 3, got -1"),
        ({"faces": TWO / 2}, "faces: expected integers"),
        ({"faces": np.zeros((2, 4), int)}, "faces: expected integers"),
        ({"vertex_colors": COLORS[:3]}, r"vertex_colors: expected uint8 \(4, 3\)"),
        ({"vertex_colors": COLORS / 255}, r"vertex_colors: expected uint8 \(4, 3\), got float64"),
        ({"face_colors": COLORS}, r"face_colors: expected uint8 \(2, 3\)"),
        ({"vertex_colors": COLORS, "face_colors": COLORS[:2]}, "mesh: expected at most one"),
        ({"uv": UV}, "uv: expected to come together with textures"),
        ({"textures": COLORS[None]}, "uv: expected to come together with textures"),
        ({"textures": [], "uv": UV}, "textures: expected a picture"),
        ({"textures": 5, "uv": UV}, "textures: expected a picture or a sequence of them, got 5"),
        ({"textures": True, "uv": UV}, "textures: expected a picture or .* got True"),
        ({"face_texture": [0, 0]}, r"face_texture: expected None without textures, got \[0, 0\]"),
        ({"face_texture": [0, 0], "face_colors": COLORS[:2]}, "face_texture: expected None"),
        ({"vertex_colors": [[0, 0, 0], [0]]}, r"vertex_colors: expected uint8 \(4, 3\), got"),
        ({"faces": [[0, 1, 2], [0]]}, r"faces: expected integers \('m', 3\), at least one row"),
        (
            {"textures": COLORS[None], "uv": UV[:3]},
            r"uv: expected finite numbers of shape \(4, 2\)",
        ),
        ({"textures": [UV], "uv": UV}, r"textures\[0\]: expected uint8"),
        ({"textures": [COLORS[None]] * 2, "uv": UV}, "face_texture: expected to come with several"),
        (
            {"textures": [COLORS[None]] * 2, "uv": UV, "face_texture": [0, 2]},
            "face_texture: expected integers from 0 to 1, got 2",
        ),
    ],
)
def test_bad_meshes(options, message):
    with pytest.raises(ValueError, match=message):
        Mesh(**{"vertices": SQUARE, "faces": TWO, **options})


def test_bad_casters_and_poses():
    with pytest.raises(ValueError, match="mesh: expected a Mesh, got None"):
        MeshCaster(None)
    with pytest.raises(ValueError, match=r"width: expected an integer in \[1, 8192\], got 0"):
        MeshCaster(Mesh(SQUARE, TWO), 0)
    camera = MeshCaster(Mesh(SQUARE, TWO))
    for method in (camera.render, camera.rgb, camera.depth):
        with pytest.raises(ValueError, match="position: expected finite numbers"):
            method((0, 0, np.nan), AHEAD)
        with pytest.raises(ValueError, match="rotation: expected orthonormal columns"):
            method(ORIGIN, 2 * AHEAD)


def test_the_camera_looks_where_it_is_told():
    mesh = Mesh(SQUARE, TWO)
    place = np.array([-1.0, 3.0, 2.0])
    frame = MeshCaster(mesh, 9, 9, 20).render(place, look_at(place, (2, 0, 0)))
    assert frame.ids[4, 4] == MESH
    assert frame.depth[4, 4] == pytest.approx(np.linalg.norm([3, 3, 2]), rel=1e-6)
