"""Triangle meshes of scanned scenes: reading them, upright and in metres, with their colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym._optional import require
from iap_gym.raycast import Mesh
from iap_gym.raycast.scene import GREY

MAX_TRIANGLES = 500_000  # above it Bullet takes gigabytes, or ends the process (habitat-sim #613)


def load_mesh(path: Path, up: str, scale: float, max_triangles: int | None = None) -> Mesh:
    """Read a mesh file.

    Pictures on it, or else colours of its vertices or faces, are kept; it is grey where it has
    neither, or where they differ from part to part in kind. Polygons become triangles.

    Args:
        path: of a file that trimesh reads.
        up: axis of the file that points up, "z" or "y".
        scale: factor from the file's lengths to metres.
        max_triangles: more are refused; None for no limit.

    Returns:
        the mesh in metres, z upward.

    Raises:
        ValueError: the file cannot be read, holds no triangles, numbers that are not finite, or too
            many triangles.
        gymnasium.error.DependencyNotInstalled: trimesh is absent.
    """
    trimesh = require("trimesh", "meshes")
    try:
        dumped = trimesh.load_scene(str(path), process=False).dump()
        parts = [part for part in dumped if isinstance(part, trimesh.Trimesh) and len(part.faces)]
        count = sum(len(part.faces) for part in parts)
        colors = _colors(parts) if max_triangles is None or count <= max_triangles else {}
    except Exception as error:  # each format has its own errors for a file that is broken
        raise ValueError(f"scene: {str(path)!r} cannot be read as a mesh: {error}") from error
    if not parts:
        raise ValueError(f"scene: the mesh {str(path)!r} is empty, it holds no triangles")
    if max_triangles is not None and count > max_triangles:
        raise ValueError(
            f"scene: expected at most max_triangles={max_triangles} triangles, got {count} in "
            f"{str(path)!r}; decimate the mesh, for example by trimesh's "
            "simplify_quadric_decimation (with fast-simplification) or by MeshLab"
        )
    vertices = np.concatenate([part.vertices for part in parts]) * scale
    if not np.isfinite(vertices).all():
        raise ValueError(f"scene: the mesh {str(path)!r} has vertices that are not finite")
    if up == "y":
        vertices = vertices[:, [0, 2, 1]] * (1.0, -1.0, 1.0)
    first = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    faces = np.concatenate([part.faces + start for part, start in zip(parts, first, strict=True)])
    return Mesh(vertices, faces, **colors)


def _colors(parts: list[Any]) -> dict[str, Any]:
    """Return the colouring of the parts together, as keyword arguments of ``Mesh``."""
    kinds = {part.visual.kind for part in parts}
    if kinds == {"vertex"}:
        each = [np.asarray(part.visual.vertex_colors)[:, :3] for part in parts]
        return {"vertex_colors": np.concatenate(each).astype(np.uint8)}
    if kinds == {"face"}:
        each = [np.asarray(part.visual.face_colors)[:, :3] for part in parts]
        return {"face_colors": np.concatenate(each).astype(np.uint8)}
    pictures = [_picture(part) for part in parts]
    if all(picture is None for picture in pictures):
        return {}
    plain = np.full((1, 1, 3), GREY, np.uint8)
    uv = [
        np.zeros((len(part.vertices), 2)) if picture is None else np.asarray(part.visual.uv)
        for part, picture in zip(parts, pictures, strict=True)
    ]
    return {
        "uv": np.concatenate(uv),
        "textures": [plain if picture is None else picture for picture in pictures],
        "face_texture": np.repeat(np.arange(len(parts)), [len(part.faces) for part in parts]),
    }


def _picture(part: Any) -> NDArray[np.uint8] | None:
    """Return the picture on a part, None where there is none or it is not known how it lies."""
    if part.visual.kind != "texture" or part.visual.uv is None:
        return None
    material = part.visual.material
    # Names of trimesh's two kinds of material, of .obj files and of glTF.
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    return None if image is None else np.asarray(image.convert("RGB"))
