"""Which files of a folder are a scanned scene: Gibson, Replica, Matterport, or any mesh."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from iap_gym import _checks

MESH_SUFFIXES = (".obj", ".ply", ".glb", ".gltf", ".stl", ".off")
# glTF's own axis; what the scans are published in.
_Y_UP_SUFFIXES = (".glb", ".gltf")
# In the order of choice: what is seen, and what is touched.
_GIBSON_SEEN = ("mesh_z_up.obj", "mesh_view_only_z_up.obj", "mesh_z_up_downsampled.obj")
_GIBSON_TOUCHED = ("mesh_z_up_downsampled.obj", "mesh_z_up.obj", "mesh_view_only_z_up.obj")
_GIBSON_MAPS = ("floor_trav_{}.png", "floor_trav_no_obj_{}.png", "floor_{}.png")
_REPLICA = ("mesh.ply", "habitat/mesh_semantic.ply")
_UUID = re.compile(r"[0-9a-f]{32}")
_ACCEPTED = (
    "a folder with mesh_z_up.obj (Gibson, iGibson), with mesh.ply (Replica), with <uuid>.obj and "
    f"JPG files (Matterport) or with one mesh, or a mesh file ({', '.join(MESH_SUFFIXES)})"
)
_NAMES_SHOWN = 8


@dataclass(frozen=True)
class SceneFiles:
    """The files of one scene.

    Attributes:
        form: "gibson" (Gibson v2, iGibson), "gibson_v1" (GibsonEnv), "replica", "matterport" or
            "mesh".
        seen: the mesh that the camera sees.
        touched: the mesh that stands in the robot's way, a coarser one where there is one.
        up: axis of the files that points up, "z" or "y".
        floors: heights in the files' unit, ascending; empty where no file tells them.
        maps: picture of where each floor can be walked on, None where there is none.
    """

    form: str
    seen: Path
    touched: Path
    up: str
    floors: tuple[float, ...] = ()
    maps: tuple[Path | None, ...] = ()


def find_scene(path: str | os.PathLike[str]) -> SceneFiles:
    """Say which form a scene has, by the names of its files, and which files it consists of.

    Args:
        path: of a folder or a mesh file; "~" and environment variables are expanded.

    Raises:
        ValueError: nothing is there, it is no scene or several, or floors.txt holds no heights.
    """
    place = Path(os.path.expandvars(os.fspath(path))).expanduser()
    if place.is_file():
        if place.suffix.lower() not in MESH_SUFFIXES:
            raise _checks.refuse("scene", _ACCEPTED, str(path))
        return _single(place)
    if not place.is_dir():
        raise _checks.refuse("scene", f"{_ACCEPTED}; there is nothing at this path", str(path))
    found = _in_folder(place)
    if found is None:
        raise ValueError(f"scene: expected {_ACCEPTED}, got {str(path)!r}{_content(place)}")
    return found


def _in_folder(folder: Path) -> SceneFiles | None:
    return _gibson(folder) or _replica(folder) or _matterport(folder) or _only_mesh(folder)


def _gibson(folder: Path) -> SceneFiles | None:
    seen, touched = _first(folder, _GIBSON_SEEN), _first(folder, _GIBSON_TOUCHED)
    if seen is None or touched is None:
        return None
    heights = _read_floors(folder / "floors.txt")
    maps = tuple(
        _first(folder, [name.format(floor) for name in _GIBSON_MAPS])
        for floor in range(max(len(heights), 1))
    )
    old = not heights and not any(maps)
    return SceneFiles("gibson_v1" if old else "gibson", seen, touched, "z", heights, maps)


def _replica(folder: Path) -> SceneFiles | None:
    mesh = _first(folder, _REPLICA)
    return None if mesh is None else SceneFiles("replica", mesh, mesh, "z")


def _matterport(folder: Path) -> SceneFiles | None:
    for place in (folder, *sorted(folder.glob("matterport_mesh/*"))):
        meshes = [each for each in place.glob("*.obj") if _UUID.fullmatch(each.stem)]
        if len(meshes) == 1 and any(place.glob("*.jpg")):
            return SceneFiles("matterport", meshes[0], meshes[0], "z")
    return None


def _only_mesh(folder: Path) -> SceneFiles | None:
    meshes = _meshes(folder)
    return _single(meshes[0]) if len(meshes) == 1 else None


def _single(mesh: Path) -> SceneFiles:
    up = "y" if mesh.suffix.lower() in _Y_UP_SUFFIXES else "z"
    return SceneFiles("mesh", mesh, mesh, up)


def _meshes(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if each.suffix.lower() in MESH_SUFFIXES)


def _first(folder: Path, names: tuple[str, ...] | list[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _read_floors(file: Path) -> tuple[float, ...]:
    if not file.is_file():
        return ()
    try:
        heights = [float(line) for line in file.read_text(encoding="utf-8").split()]
        return tuple(sorted(_checks.real("height", height) for height in heights))
    except ValueError:
        raise ValueError(f"scene: expected one height in m a line in {str(file)!r}") from None


def _content(folder: Path) -> str:
    """Say what is in a folder instead of a scene."""
    meshes = _meshes(folder)
    if len(meshes) > 1:
        return f" with several meshes, give one of them: {_some([each.name for each in meshes])}"
    entries = sorted(folder.iterdir())
    scenes = [each.name for each in entries if each.is_dir() and _in_folder(each)]
    if scenes:
        return f" with several scenes, give one of them: {_some(scenes)}"
    if not entries:
        return ", which is empty"
    return f" with {_some([each.name + '/' * each.is_dir() for each in entries])}"


def _some(names: list[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
