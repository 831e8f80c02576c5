import gc
import importlib.util
import os

import numpy as np
import pytest
import trimesh

from iap_gym.envs.quadruped.scenes import mesh_view
from iap_gym.envs.quadruped.scenes.indoor import MeshSettings, read_map, scene_source
from iap_gym.envs.quadruped.scenes.mesh import load_mesh
from iap_gym.envs.quadruped.scenes.mesh_view import MeshFile, MeshView
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.surveying import floor_heights, survey
from iap_gym.envs.quadruped.scenes.traversable import TraversableMap
from iap_gym.raycast import Box, Mesh, MeshCaster, Scene, rotation_from_yaw_pitch
from tests.envs.quadruped.houses import DOOR, FLOOR, FORMS, HALF_X, HALF_Y, house, write_gibson


def loaded(storeys=1):
    built = house(storeys)
    return Mesh(built.vertices, built.faces)


def truth(resolution=0.05):
    """Return the map of the house, from its rectangles."""
    x, y = HALF_X, HALF_Y
    walls = [
        Rectangle(-x, -y, x, -y),
        Rectangle(-x, y, x, y),
        Rectangle(-x, -y, -x, y),
        Rectangle(x, -y, x, y),
        Rectangle(0.0, -y, 0.0, DOOR[0]),
        Rectangle(0.0, DOOR[1], 0.0, y),
    ]
    return TraversableMap.from_rectangles(walls, Rectangle(-x, -y, x, y), resolution)


def assert_like_truth(found):
    """Whatever is free lies a radius off the walls, up to a cell, and nearly all such cells are."""
    true, cell = truth(), found.resolution
    points = [found.point(index) for index in np.argwhere(found.free)]
    wide = TraversableMap.from_rectangles(
        [], Rectangle(-HALF_X, -HALF_Y, HALF_X, HALF_Y).grown(-0.3 + cell)
    )
    assert all(wide.is_free(point) for point in points)
    assert len(points) * cell**2 == pytest.approx(true.free.sum() * 0.05**2, rel=0.1)
    length = found.distances_to((2.0, -1.0))((-2.0, -1.0))
    assert length == pytest.approx(true.distances_to((2.0, -1.0))((-2.0, -1.0)), abs=0.15)


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_are_the_same_house(tmp_path, form):
    FORMS[form](tmp_path)
    scene = scene_source(str(tmp_path)).sample(np.random.default_rng(0))
    assert scene.floor_height == pytest.approx(FLOOR, abs=1e-5)
    assert scene.world.ground_height == scene.floor_height
    mesh = scene.view.mesh
    assert len(mesh.faces) == len(house().faces)
    np.testing.assert_allclose(mesh.vertices.min(axis=0), (-3.0, -2.0, 0.1), atol=1e-6)
    np.testing.assert_allclose(mesh.vertices.max(axis=0), (3.0, 2.0, 2.6), atol=1e-6)
    assert_like_truth(scene.traversable)
    down = scene.view.make_caster(9, 9, 60.0, 0.01, 10.0).rgb(
        (-1.5, 0.0, 1.0), rotation_from_yaw_pitch(0.0, np.pi / 2)
    )
    ahead = scene.view.make_caster(9, 9, 60.0, 0.01, 10.0).rgb((-1.5, 0.0, 1.0), np.eye(3))
    floor, wall = down[4, 4].astype(int), ahead[4, 4].astype(int)
    if form == "replica":
        assert (floor.tolist(), wall.tolist()) == ([200, 0, 0], [0, 200, 0])
    elif form == "matterport":  # JPG
        assert np.abs(floor - (0, 0, 200)).max() <= 3
        assert np.abs(wall - (200, 200, 0)).max() <= 3
    else:
        assert mesh.is_grey
        assert np.ptp(floor) == np.ptp(wall) == 0


def test_a_mesh_with_y_up_and_another_unit(tmp_path):
    built = house()
    turned = trimesh.Trimesh(built.vertices[:, [0, 2, 1]] * (100, 100, -100), built.faces)
    turned.export(tmp_path / "house.ply")
    mesh = load_mesh(tmp_path / "house.ply", "y", 0.01)
    points = {tuple(np.round(point, 3)) for point in mesh.vertices.tolist()}
    assert points == {tuple(np.round(point, 3)) for point in built.vertices.tolist()}
    built.apply_transform(trimesh.transformations.rotation_matrix(-np.pi / 2, (1, 0, 0)))
    built.export(tmp_path / "house.glb")
    scene = scene_source(str(tmp_path / "house.glb")).sample(np.random.default_rng(0))
    assert scene.floor_height == pytest.approx(FLOOR, abs=1e-5)


def test_floors_are_found_without_a_file():
    assert floor_heights(loaded()) == pytest.approx((0.1,), abs=1e-5)
    assert floor_heights(loaded(storeys=3)) == pytest.approx((0.1, 3.1, 6.1), abs=1e-5)
    inside_out = Mesh(house().vertices, house().faces[:, ::-1])
    assert floor_heights(inside_out) == pytest.approx((0.1,), abs=1e-5)
    sheet = Mesh([(0, 0, 0), (0, 1, 0), (0, 1, 1)], [(0, 1, 2)])
    with pytest.raises(ValueError, match="no floor found, give floor_height"):
        floor_heights(sheet)


@pytest.mark.parametrize(("storey", "resolution"), [(0, None), (1, 0.08)])
def test_survey_finds_walls_that_have_no_thickness(storey, resolution):
    assert_like_truth(survey(loaded(storeys=2), FLOOR + 3.0 * storey, resolution))


def test_survey_finds_low_and_hanging_things_and_passes_below_high_ones():
    def with_box(low, high):
        box = trimesh.creation.box((0.6, 0.6, high - low))
        box.apply_translation((1.5, 0.0, FLOOR + (low + high) / 2))
        both = trimesh.util.concatenate([house(), box])
        return survey(Mesh(both.vertices, both.faces), FLOOR)

    middle = (1.5, 0.0)
    for low, high in ((0.0, 0.2), (0.3, 0.5), (0.0, 2.0), (0.5, 2.0)):
        assert not with_box(low, high).is_free(middle)
    assert with_box(1.0, 1.2).is_free(middle)
    assert with_box(0.0, 0.05).is_free(middle)  # a doormat


def test_map_from_a_picture(tmp_path):
    write_gibson(tmp_path)
    found = read_map(tmp_path / "floor_trav_0.png", 0.05)
    assert found.origin == (-5.0, -4.0)
    assert found.free.shape == (160, 200)
    assert_like_truth(found)
    coarse = read_map(tmp_path / "floor_trav_0.png", 0.07)
    assert coarse.resolution == pytest.approx(0.07)
    assert_like_truth(coarse)
    double = read_map(tmp_path / "floor_trav_0.png", 0.1, scale=2.0)
    assert double.origin == (-10.0, -8.0)
    assert double.open.sum() == pytest.approx(found.open.sum())
    (tmp_path / "floor_trav_0.png").write_text("no picture")
    with pytest.raises(ValueError, match="floor_trav_0.png' cannot be read as a picture"):
        read_map(tmp_path / "floor_trav_0.png", 0.05)


def test_floors_are_chosen_by_number_or_height(tmp_path):
    write_gibson(tmp_path, storeys=2)
    rng = np.random.default_rng(0)
    for floor, height in ((0, 0.1), (1, 3.1)):
        scene = scene_source({"path": str(tmp_path), "floor": floor}).sample(rng)
        assert scene.floor_height == height
    scene = scene_source({"path": str(tmp_path), "floor_height": 0.12}).sample(rng)
    assert scene.floor_height == 0.12
    with pytest.raises(ValueError, match=r"floor: expected at most 1, .* at 0.10, 3.10 m, got 2"):
        scene_source({"path": str(tmp_path), "floor": 2})


def test_seen_and_touched_meshes_are_two_where_the_folder_has_both(tmp_path):
    write_gibson(tmp_path, downsampled=True)
    fine = house().subdivide()
    fine.export(tmp_path / "mesh_z_up.obj")
    spec = {"path": str(tmp_path), "max_triangles": 20}
    scene = scene_source(spec).sample(np.random.default_rng(0))
    assert len(scene.view.mesh.faces) == 4 * len(house().faces)
    text = scene.view.file.path.read_text().splitlines()
    assert sum(line.startswith("f ") for line in text) == len(house().faces)


def test_meshes_that_cannot_be_used(tmp_path):
    house().export(tmp_path / "house.obj")
    with pytest.raises(ValueError, match="max_triangles=15 triangles, got 16 in .*decimate"):
        load_mesh(tmp_path / "house.obj", "z", 1.0, 15)
    (tmp_path / "empty.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\n")
    with pytest.raises(ValueError, match="mesh .*empty.obj' is empty, it holds no triangles"):
        load_mesh(tmp_path / "empty.obj", "z", 1.0)
    for name in ("broken.ply", "broken.glb"):
        (tmp_path / name).write_text("this is no mesh")
        with pytest.raises(ValueError, match=f"{name}' cannot be read as a mesh"):
            load_mesh(tmp_path / name, "z", 1.0)
    (tmp_path / "nan.obj").write_text("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(ValueError, match="nan.obj' has vertices that are not finite"):
        load_mesh(tmp_path / "nan.obj", "z", 1.0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"path": "x", "up": "x"}, "up: expected one of None, 'z', 'y', got 'x'"),
        ({"path": "x", "scale": 0.0}, "scale: expected"),
        ({"path": "x", "floor": -1}, "floor: expected"),
        ({"path": "x", "floor_height": "low"}, "floor_height: expected"),
        ({"path": "x", "max_triangles": 0}, "max_triangles: expected"),
        ({"path": "x", "resolution": 0.001}, "resolution: expected"),
        ({"path": 3}, "scene: expected a path"),
        ({"path": ""}, "scene: expected a path, got ''"),
        ("", "scene: expected a path, got ''"),
        ({"path": "x", "size": 3}, "scene: expected one of 'path', .* got 'size'"),
        ({"folder": "x"}, 'scene: expected None, an Apartment, {"apartment"'),
        ({"apartment": {}, "path": "x"}, r"scene: expected None, .* got {'apartment': {}, 'path'"),
        (3, 'scene: expected None, an Apartment, {"apartment"'),
    ],
)
def test_bad_specs(spec, message):
    with pytest.raises(ValueError, match=message):
        scene_source(spec)


def test_specs_of_apartments():
    rng = np.random.default_rng(0)
    scene = scene_source({"apartment": {"rooms": 2, "size": [6.0, 5.0]}}).sample(rng)
    assert len(scene.rooms) == 2
    assert scene_source(None).sample(rng).world != scene.world


def test_file_for_pybullet_goes_with_its_object_but_not_in_a_fork():
    file = MeshFile(loaded())
    path = file.path
    mesh_view._remove(str(path.parent), os.getpid() + 1)
    assert path.is_file()
    read = trimesh.load_mesh(path, process=False)
    np.testing.assert_allclose(read.vertices, house().vertices, atol=1e-6)
    assert np.array_equal(read.faces, house().faces)
    del file
    gc.collect()
    assert not path.parent.exists()


def test_tiny_renderer_stands_in_for_embree(monkeypatch):
    view = MeshView(loaded(), MeshFile(loaded()))
    fast = view.make_caster(32, 24, 60.0, 0.01, 10.0)
    assert isinstance(fast, MeshCaster)
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "embreex" else found(name)
    )
    slow = view.make_caster(32, 24, 60.0, 0.01, 10.0)
    assert not isinstance(slow, MeshCaster)
    position, rotation = (-2.0, 0.3, 0.5), rotation_from_yaw_pitch(0.4, 0.0)
    for caster in (fast, slow):  # something else beside the mesh
        caster.scene = Scene((Box((-1.2, 0.4, 0.5), (0.1, 0.1, 0.4), texture=(9, 9, 9)),))
    one, other = fast.depth(position, rotation), slow.depth(position, rotation)
    assert one.min() < 0.9
    slow.close()
    assert np.median(np.abs(one - other)) < 0.05
    assert np.mean(np.abs(one - other) > 0.5) < 0.1
    assert MeshSettings("x").max_triangles == 500_000
