import pytest

from iap_gym.envs.quadruped.scenes.formats import find_scene
from tests.envs.quadruped.houses import FORMS, UUID, house, write_gibson, write_replica


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_told_by_their_files(tmp_path, form):
    FORMS[form](tmp_path / "scene")
    found = find_scene(tmp_path / "scene")
    assert found.form == form
    assert found.up == "z"
    assert found.seen == found.touched
    assert found.floors == ((0.1,) if form == "gibson" else ())
    names = {"replica": "mesh.ply", "matterport": f"{UUID}.obj"}
    assert found.seen.name == names.get(form, "mesh_z_up.obj")


def test_a_coarser_mesh_is_what_is_touched(tmp_path):
    write_gibson(tmp_path, storeys=2, downsampled=True)
    found = find_scene(tmp_path)
    assert found.seen.name == "mesh_z_up.obj"
    assert found.touched.name == "mesh_z_up_downsampled.obj"


def test_floors_are_sorted_and_each_has_its_map(tmp_path):
    write_gibson(tmp_path, storeys=2)
    (tmp_path / "floor_trav_1.png").rename(tmp_path / "floor_trav_no_obj_1.png")
    found = find_scene(tmp_path)
    assert found.floors == (0.1, 3.1)
    assert [path and path.name for path in found.maps] == [
        "floor_trav_0.png",
        "floor_trav_no_obj_1.png",
    ]
    (tmp_path / "floor_trav_no_obj_1.png").unlink()
    assert find_scene(tmp_path).maps[1] is None


def test_folders_inside_a_download_are_found(tmp_path):
    FORMS["matterport"](tmp_path / "scan" / "matterport_mesh" / UUID)
    assert find_scene(tmp_path / "scan").form == "matterport"
    (tmp_path / "room" / "habitat").mkdir(parents=True)
    write_replica(tmp_path / "room" / "habitat")
    (tmp_path / "room" / "habitat" / "mesh.ply").rename(
        tmp_path / "room" / "habitat" / "mesh_semantic.ply"
    )
    assert find_scene(tmp_path / "room").form == "replica"


@pytest.mark.parametrize(("suffix", "up"), [("obj", "z"), ("ply", "z"), ("stl", "z"), ("glb", "y")])
def test_any_mesh_file_or_a_folder_with_one(tmp_path, suffix, up):
    file = tmp_path / f"house.{suffix}"
    house().export(file)
    (tmp_path / "notes.txt").write_text("a house")
    for path in (file, tmp_path, str(tmp_path)):
        found = find_scene(path)
        assert (found.form, found.seen, found.up) == ("mesh", file, up)


def test_home_and_variables_are_expanded(tmp_path, monkeypatch):
    write_replica(tmp_path / "scene")
    monkeypatch.setenv("SCANS", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_scene("$SCANS/scene").form == "replica"
    assert find_scene("~/scene").form == "replica"


def test_a_folder_that_is_no_scene_says_what_was_looked_for_and_what_is_there(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"")
    (tmp_path / "more").mkdir()
    with pytest.raises(ValueError, match=r"scene: expected a folder with mesh_z_up.obj") as error:
        find_scene(tmp_path)
    for part in ("Gibson", "Replica", "Matterport", ".ply", str(tmp_path), "with more/, photo.jpg"):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda path: None, "which is empty"),
        (lambda path: [house().export(path / name) for name in ("a.obj", "b.ply")],
         "several meshes, give one of them: a.obj, b.ply"),
        (lambda path: [write_gibson(path / name) for name in ("Rs", "Beechwood")],
         "several scenes, give one of them: Beechwood, Rs"),
        (lambda path: [(path / f"{i:02d}.txt").touch() for i in range(12)], "07.txt and 4 more"),
    ],
)  # fmt: skip
def test_folders_with_nothing_or_too_much(tmp_path, prepare, message):
    prepare(tmp_path)
    with pytest.raises(ValueError, match=message):
        find_scene(tmp_path)


def test_paths_that_are_no_scene(tmp_path):
    with pytest.raises(ValueError, match="there is nothing at this path"):
        find_scene(tmp_path / "absent")
    (tmp_path / "film.mp4").touch()
    with pytest.raises(ValueError, match="scene: expected a folder with .* got .*film.mp4"):
        find_scene(tmp_path / "film.mp4")
    write_gibson(tmp_path)
    (tmp_path / "floors.txt").write_text("0.1\nnan\n")
    with pytest.raises(ValueError, match=r"one height in m a line in .*floors.txt"):
        find_scene(tmp_path)
