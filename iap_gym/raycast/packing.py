"""A scene as the few arrays that rays are cast at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iap_gym.raycast.scene import Scene, Surface, Texture

# Faces are +x, -x, +y, -y, +z, -z. On each, the axis along which a texture goes right and whether
# with it or against it, and the axis along which it goes down likewise.
RIGHT_AXIS, RIGHT_SIGN = (1, 1, 0, 0, 0, 0), (1.0, -1.0, -1.0, 1.0, 1.0, 1.0)
DOWN_AXIS, DOWN_SIGN = (2, 2, 2, 2, 1, 1), (-1.0, -1.0, -1.0, -1.0, -1.0, 1.0)
TOP = 4

# What is seen is told by CODES times the index of a solid plus that of the face; -1 is nothing.
CODES = 8


class Solids(NamedTuple):
    """The boxes of a scene, and its ground as one more without sides.

    A color is a texture of one texel.
    """

    centers: NDArray[np.float64]  # (n, 3)
    axes: NDArray[np.float64]  # (n, 3, 3): row k is axis k in the world
    half_extents: NDArray[np.float64]  # (n, 3)
    picture: NDArray[np.int64]  # (n,), an index of textures
    shade: NDArray[np.int64]  # (n, 6), 256ths of the color
    textures: NDArray[np.int64]  # (m, 3): first texel, height, width
    repeats: NDArray[np.float64]  # (m, 2): textures in a metre down, right
    texels: NDArray[np.uint8]  # (t, 3)
    sky: NDArray[np.uint8]  # (3,)
    boxes: int  # n, less the ground


def pack(scene: Scene) -> Solids:
    """Return the arrays of a scene."""
    surfaces: dict[Surface, int] = {}
    pictures: list[Texture] = []

    def index_of(surface: Surface) -> int:
        if surface not in surfaces:
            surfaces[surface] = len(pictures)
            if isinstance(surface, tuple):
                pictures.append(Texture(np.array([[surface]], np.uint8)))
            else:
                pictures.append(scene.texture(surface))
        return surfaces[surface]

    boxes, ground = scene.boxes, scene.ground
    centers = [box.center for box in boxes]
    axes = [box.matrix.T for box in boxes]
    half_extents = [box.half_extents for box in boxes]
    picture = [index_of(box.texture) for box in boxes]
    if ground is not None:
        centers.append((0.0, 0.0, ground.height))
        axes.append(np.eye(3))
        half_extents.append((0.0, 0.0, 0.0))
        picture.append(index_of(ground.texture))

    count = len(centers)
    axes_array = np.array(axes, np.float64).reshape(count, 3, 3)
    normals = np.stack([axes_array, -axes_array], axis=2).reshape(count, 6, 3)
    sizes = [each.pixels.shape[:2] for each in pictures]
    starts = np.cumsum([0, *(height * width for height, width in sizes)])
    flat = [each.pixels.reshape(-1, 3) for each in pictures]
    return Solids(
        centers=np.array(centers, np.float64).reshape(count, 3),
        axes=axes_array,
        half_extents=np.array(half_extents, np.float64).reshape(count, 3),
        picture=np.array(picture, np.int64),
        shade=np.rint(256 * scene.brightness(normals)).astype(np.int64),
        textures=np.array(
            [(start, *size) for start, size in zip(starts, sizes, strict=False)], np.int64
        ).reshape(-1, 3),
        repeats=np.array(
            [(1 / each.height, 1 / each.width) for each in pictures], np.float64
        ).reshape(-1, 2),
        texels=np.concatenate(flat) if flat else np.zeros((0, 3), np.uint8),
        sky=np.array(scene.sky, np.uint8),
        boxes=len(boxes),
    )
