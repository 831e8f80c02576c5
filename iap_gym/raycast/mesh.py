"""Triangles and what they look like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iap_gym import _checks
from iap_gym._optional import require
from iap_gym.raycast.scene import Pixels, checked_picture

Floats = NDArray[np.float32]


class Hits(NamedTuple):
    """Where rays hit triangles, each (n,) but the normals.

    A point is ``(1 - u - v) a + u b + v c`` of the corners a, b and c of its triangle.
    """

    face: NDArray[np.int32]  # -1 where none was hit
    distance: Floats  # in lengths of the ray's direction
    u: Floats
    v: Floats
    normal: Floats  # (n, 3), of any length

    def only(self, chosen: NDArray[np.bool_]) -> Hits:
        """Return some of them."""
        return Hits(
            self.face[chosen],
            self.distance[chosen],
            self.u[chosen],
            self.v[chosen],
            self.normal[chosen],
        )


class Mesh:
    """A mesh of triangles, seen from both sides.

    It is grey, unless one of the three is given: colors of vertices, colors of faces, or pictures.
    Given colors are shown as they are, since those of scans hold their light already; grey is
    brightened and darkened as the surfaces of a :class:`Scene`.

    Args:
        vertices: (n, 3) m.
        faces: (m, 3) integers, the vertices of each triangle.
        vertex_colors: uint8 (n, 3); between vertices they are interpolated.
        face_colors: uint8 (m, 3).
        uv: (n, 2), where each vertex lies in the picture: from the left and from below, 0 to 1;
            beyond that the picture is repeated.
        textures: a picture, uint8 (h, w, 3), or a sequence of them.
        face_texture: (m,) which picture each face has, if there are several.

    Raises:
        ValueError: an array of another shape or dtype, no triangle, a face of vertices that do not
            exist, vertices or uv that are not finite, more than one of the three colorings, uv or
            face_texture without textures.
    """

    def __init__(
        self,
        vertices: ArrayLike,
        faces: ArrayLike,
        *,
        vertex_colors: ArrayLike | None = None,
        face_colors: ArrayLike | None = None,
        uv: ArrayLike | None = None,
        textures: Any = None,
        face_texture: ArrayLike | None = None,
    ) -> None:
        self.vertices = _finite("vertices", vertices, ("n", 3))
        self.faces = _indices("faces", faces, (-1, 3), len(self.vertices))
        colorings = {
            "vertex_colors": vertex_colors,
            "face_colors": face_colors,
            "textures": textures,
        }
        given = [name for name, value in colorings.items() if value is not None]
        if len(given) > 1:
            raise _checks.refuse("mesh", "at most one coloring", given)
        self._vertex_colors = self._face_colors = self._atlas = None
        if vertex_colors is not None:
            self._vertex_colors = _colors("vertex_colors", vertex_colors, len(self.vertices))
        if face_colors is not None:
            self._face_colors = _colors("face_colors", face_colors, len(self.faces))
        if (uv is None) != (textures is None):
            raise _checks.refuse("uv", "to come together with textures", given or ["uv"])
        if textures is None and face_texture is not None:
            raise _checks.refuse("face_texture", "None without textures", face_texture)
        if textures is not None and uv is not None:
            self._atlas = _Atlas(self, uv, textures, face_texture)
        self._embree: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_embree": None}

    @property
    def is_grey(self) -> bool:
        """Whether no colors were given."""
        return self._vertex_colors is None and self._face_colors is None and self._atlas is None

    def distances(self, origins: Floats, directions: Floats, farthest: float) -> Floats:
        """Return how many lengths of its direction each ray goes, at most ``farthest``, (n,)."""
        return self._scene.run(origins, directions, dists=farthest, query="DISTANCE")

    def hits(self, origins: Floats, directions: Floats, farthest: float) -> Hits:
        """Return where rays hit."""
        found = self._scene.run(origins, directions, dists=farthest, output=1)
        return Hits(found["primID"], found["tfar"], found["u"], found["v"], found["Ng"])

    def colors(self, hits: Hits) -> Pixels:
        """Return the colors (n, 3) of points that all lie on triangles; a grey mesh has none."""
        if self._face_colors is not None:
            return self._face_colors[hits.face]
        if self._atlas is not None:
            return self._atlas.colors(self, hits)
        assert self._vertex_colors is not None
        return np.rint(self._interpolated(self._vertex_colors, hits)).astype(np.uint8)

    def _interpolated(self, of_vertices: NDArray[Any], hits: Hits) -> Floats:
        weights = np.stack([1 - hits.u - hits.v, hits.u, hits.v], axis=1)
        return np.einsum("ij,ijk->ik", weights, of_vertices[self.faces[hits.face]])

    @property
    def _scene(self) -> Any:
        if self._embree is None:
            scene = require("embreex.rtcore_scene", "meshes")
            construction = require("embreex.mesh_construction", "meshes")
            # Otherwise rays may pass between triangles that share an edge.
            embree = scene.EmbreeScene(robust=True)
            construction.TriangleMesh(embree, self.vertices, self.faces)
            self._embree = embree
        return self._embree


class _Atlas:
    """Pictures on the faces of a mesh."""

    def __init__(
        self, mesh: Mesh, uv: ArrayLike, textures: Any, face_texture: ArrayLike | None
    ) -> None:
        self._uv = _finite("uv", uv, (len(mesh.vertices), 2))
        wanted = "a picture or a sequence of them"
        several = cast("Iterable[Any]", _checks.instance("textures", textures, Iterable, wanted))
        pictures: list[Any] = [textures] if isinstance(textures, np.ndarray) else list(several)
        if not pictures:
            raise _checks.refuse("textures", wanted, pictures)
        self._pictures: list[Pixels] = [
            checked_picture(f"textures[{i}]", each) for i, each in enumerate(pictures)
        ]
        if face_texture is None:
            if len(self._pictures) > 1:
                raise _checks.refuse("face_texture", "to come with several textures", None)
            face_texture = np.zeros(len(mesh.faces), np.int32)
        self._picture_of = _indices(
            "face_texture", face_texture, (len(mesh.faces),), len(self._pictures)
        )

    def colors(self, mesh: Mesh, hits: Hits) -> Pixels:
        uv = mesh._interpolated(self._uv, hits)  # pyright: ignore[reportPrivateUsage]
        colors = np.empty((len(hits.face), 3), np.uint8)
        pictures = self._picture_of[hits.face]
        for index, picture in enumerate(self._pictures):
            here = pictures == index
            rows, columns = picture.shape[:2]
            places = (uv[here] - np.floor(uv[here])) * np.array([columns, rows], np.float32)
            column, above = np.minimum(places.astype(np.int64), [columns - 1, rows - 1]).T
            colors[here] = picture[rows - 1 - above, column]
        return colors


def _finite(name: str, value: ArrayLike, shape: tuple[int | str, int]) -> Floats:
    return np.ascontiguousarray(_checks.array(name, value, shape, np.float32))


def _indices(name: str, value: ArrayLike, shape: tuple[int, ...], count: int) -> NDArray[np.int32]:
    wanted = f"integers {tuple('m' if n < 0 else n for n in shape)}, at least one row"
    array = _as_array(name, wanted, value)
    fits = array.ndim == len(shape) and all(
        n in (-1, m) for n, m in zip(shape, array.shape, strict=True)
    )
    if not fits or not array.size or not np.issubdtype(array.dtype, np.integer):
        raise _checks.refuse(name, wanted, _checks.Words(f"{array.dtype} {array.shape}"))
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= count:
        raise _checks.refuse(name, f"integers from 0 to {count - 1}", low if low < 0 else high)
    return np.ascontiguousarray(array, np.int32)


def _colors(name: str, value: ArrayLike, rows: int) -> Pixels:
    wanted = f"uint8 ({rows}, 3)"
    array = _as_array(name, wanted, value)
    if array.dtype != np.uint8 or array.shape != (rows, 3):
        raise _checks.refuse(name, wanted, _checks.Words(f"{array.dtype} {array.shape}"))
    return np.ascontiguousarray(array)


def _as_array(name: str, wanted: str, value: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except ValueError:  # rows of several lengths
        raise _checks.refuse(name, wanted, value) from None
