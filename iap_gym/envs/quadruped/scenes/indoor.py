"""Where indoor scenes come from: an apartment for each episode, or the user's own scan."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym._optional import require
from iap_gym.envs.quadruped.scenes.apartment import Apartment
from iap_gym.envs.quadruped.scenes.formats import SceneFiles, find_scene
from iap_gym.envs.quadruped.scenes.mesh import MAX_TRIANGLES, load_mesh
from iap_gym.envs.quadruped.scenes.mesh_view import MeshFile, MeshView
from iap_gym.envs.quadruped.scenes.rectangle import Rectangle
from iap_gym.envs.quadruped.scenes.surveying import RESOLUTION, floor_heights, survey
from iap_gym.envs.quadruped.scenes.traversable import TraversableMap
from iap_gym.envs.quadruped.world import UP_AXES, World
from iap_gym.raycast import Mesh, Scene

_PIXEL = 0.01  # m, of the pictures of Gibson's floors
_FREE = 255
Spec = str | os.PathLike[str] | Mapping[str, Any] | Apartment


@dataclass(frozen=True)
class IndoorScene:
    """One floor that a robot walks on.

    Attributes:
        world: what can be touched.
        view: what can be seen: boxes, or a mesh.
        traversable: where the robot can walk.
        floor_height: m.
        rooms: floors of the rooms; empty where they are not known.
    """

    world: World
    view: Scene | MeshView
    traversable: TraversableMap
    floor_height: float = 0.0
    rooms: tuple[Rectangle, ...] = ()


class SceneSource(Protocol):
    """Gives each episode its scene."""

    def sample(self, rng: np.random.Generator) -> IndoorScene:
        """Return a scene; all that is random in it comes from ``rng``."""
        ...


class Apartments:
    """A new apartment for each episode.

    Args:
        apartment: what they are like.
    """

    def __init__(self, apartment: Apartment) -> None:
        self.apartment = apartment

    def sample(self, rng: np.random.Generator) -> IndoorScene:
        """Draw an apartment."""
        layout = self.apartment.sample(rng)
        world = World(layout.boxes, ground_height=0.0)
        return IndoorScene(world, layout.scene(), layout.traversable(), 0.0, layout.rooms)


@dataclass(frozen=True)
class MeshSettings:
    """How the user's scene is to be read.

    Attributes:
        path: of a folder or a mesh file, see ``find_scene``.
        up: axis that points up, "z" or "y"; None is the form's own (glTF: y, others: z).
        scale: factor from the file's lengths to metres.
        floor: which floor, 0 is the lowest.
        floor_height: its height in m; None for the one of floors.txt, or one that is searched for.
        max_triangles: more in what the robot can touch are refused.
        resolution: side of a cell of the map, m; None for 0.05, coarser where the scene is large.

    Raises:
        ValueError: one of them is not so.
    """

    path: str | os.PathLike[str]
    up: str | None = None
    scale: float = 1.0
    floor: int = 0
    floor_height: float | None = None
    max_triangles: int = MAX_TRIANGLES
    resolution: float | None = None

    def __post_init__(self) -> None:
        _checks.instance("scene", self.path, str | os.PathLike, "a path")  # type: ignore[arg-type]
        if not os.fspath(self.path):
            raise _checks.refuse("scene", "a path", self.path)
        _checks.one_of("up", self.up, (None, *UP_AXES))
        _checks.real("scale", self.scale, 0.0, exclusive=True)
        _checks.integer("floor", self.floor)
        if self.floor_height is not None:
            _checks.real("floor_height", self.floor_height)
        _checks.integer("max_triangles", self.max_triangles, 1)
        if self.resolution is not None:
            _checks.real("resolution", self.resolution, 0.01, 0.3)


class MeshScene:
    """One floor of a scanned scene, the same in every episode.

    What the robot touches is the mesh, concave, and a plane just above its bumpy floor; where it
    can walk is read from the scene's picture of that floor, or found by casting rays.

    Args:
        settings: which scene and how it is read.

    Raises:
        ValueError: it is no scene, cannot be read, is empty or too large, or has no such floor.
        gymnasium.error.DependencyNotInstalled: a package of the extra ``meshes`` is absent.
    """

    def __init__(self, settings: MeshSettings) -> None:
        self.files = find_scene(settings.path)
        up = settings.up or self.files.up
        touched = load_mesh(self.files.touched, up, settings.scale, settings.max_triangles)
        seen = touched
        if self.files.seen != self.files.touched:
            seen = load_mesh(self.files.seen, up, settings.scale)
        height = _floor_height(settings, self.files, touched)
        picture = self.files.maps[settings.floor] if settings.floor < len(self.files.maps) else None
        if picture is None:
            traversable = survey(touched, height, settings.resolution)
        else:
            traversable = read_map(picture, settings.resolution or RESOLUTION, settings.scale)
        file = MeshFile(touched)  # lives as long as the view
        world = World(ground_height=height, mesh=str(file.path))
        self.scene = IndoorScene(world, MeshView(seen, file), traversable, height)

    def sample(self, rng: np.random.Generator) -> IndoorScene:
        """Return the scene, whatever ``rng``."""
        return self.scene


def scene_source(spec: Spec | None) -> SceneSource:
    """Return the source of scenes that a JSON value stands for.

    Args:
        spec: None for apartments; ``{"apartment": {...}}`` with settings of ``Apartment``; the path
            of a scanned scene; or ``{"path": ..., ...}`` with settings of ``MeshSettings``.

    Raises:
        ValueError: none of these, or what ``Apartment`` or ``MeshScene`` refuse.
    """
    if spec is None or isinstance(spec, Apartment):
        return Apartments(Apartment.from_spec(spec))
    if isinstance(spec, str | os.PathLike):
        return MeshScene(MeshSettings(spec))
    if isinstance(spec, Mapping) and set(spec) == {"apartment"}:
        return Apartments(Apartment.from_spec(spec["apartment"]))
    if isinstance(spec, Mapping) and "path" in spec and "apartment" not in spec:
        known = [field.name for field in dataclasses.fields(MeshSettings)]
        for setting in spec:
            _checks.one_of("scene", setting, known)
        return MeshScene(MeshSettings(**spec))
    wanted = 'None, an Apartment, {"apartment": {...}}, a path or {"path": ...}'
    raise _checks.refuse("scene", wanted, spec)


def read_map(picture: Path, resolution: float, scale: float = 1.0) -> TraversableMap:
    """Read where a floor can be walked on, as Gibson and iGibson publish it.

    The picture has 0.01 m a pixel, its middle at the world's (0, 0), rows along y, columns along x;
    255 is free. A cell is open where all its pixels are.

    Args:
        picture: path of an 8-bit picture.
        resolution: side of a cell, m; rounded to whole pixels.
        scale: factor from the picture's lengths to metres.

    Raises:
        ValueError: it cannot be read, or there is no place for the robot.
    """
    image = require("PIL.Image", "meshes")
    try:
        with image.open(picture) as opened:
            pixels: NDArray[np.uint8] = np.asarray(opened.convert("L"))
    except OSError as error:
        raise ValueError(f"scene: {str(picture)!r} cannot be read as a picture: {error}") from error
    side = max(1, round(resolution / (_PIXEL * scale)))
    rows, columns = (-(-length // side) for length in pixels.shape)
    free = np.zeros((rows * side, columns * side), np.bool_)
    free[: pixels.shape[0], : pixels.shape[1]] = pixels == _FREE
    open_ = np.asarray(free.reshape(rows, side, columns, side).all(axis=(1, 3)))
    origin = (-pixels.shape[1] / 2 * _PIXEL * scale, -pixels.shape[0] / 2 * _PIXEL * scale)
    return TraversableMap.from_open(open_, side * _PIXEL * scale, origin)


def _floor_height(settings: MeshSettings, files: SceneFiles, mesh: Mesh) -> float:
    if settings.floor_height is not None:
        return float(settings.floor_height)
    floors = tuple(height * settings.scale for height in files.floors) or floor_heights(mesh)
    if settings.floor >= len(floors):
        heights = ", ".join(f"{height:.2f}" for height in floors)
        wanted = f"at most {len(floors) - 1}, there are floors at {heights} m"
        raise _checks.refuse("floor", wanted, settings.floor)
    return floors[settings.floor]
