"""The compiled functions that are called from Python."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iap_gym._compiled.cache import checksum_of_sources, compiled, inner
from iap_gym.raycast.compiled import _rows, _view
from iap_gym.raycast.compiled._view import PLANES

SOURCES = checksum_of_sources(__file__)


@inner
def _render(
    solids: Any, camera: Any, position: Any, rotation: Any, rgb: Any, depth: Any, ids: Any
) -> None:
    count = len(solids.centers)
    planes = np.empty((count, PLANES, 3))
    codes = np.empty((count, 3), np.int64)
    rectangles = np.empty((count, 4), np.int64)
    origins = np.empty((count, 3))
    directions = np.empty((count, 3, 3))
    seen = _view.look(
        solids, camera, position, rotation, planes, codes, rectangles, origins, directions
    )
    width = len(camera.left)
    nearness = np.empty(width)
    code = np.empty(width, np.int64)
    distance = np.empty(width)
    texel = np.empty(width, np.int32)
    for row in range(len(camera.up)):
        nearness[:] = 1 / camera.far
        code[:] = -1
        up = camera.up[row]
        for index in range(seen):
            first_row, last_row, first, last = rectangles[index]
            if first_row <= row and row < last_row:
                _rows.cover(
                    nearness[first:last],
                    code[first:last],
                    camera.left[first:last],
                    up,
                    planes[index],
                    codes[index],
                    1 / camera.near,
                )
        for column in range(width):
            distance[column] = 1 / nearness[column]
        if len(depth):
            _rows.write_depth(depth[row], distance, code, camera.far)
        if len(ids):
            _rows.write_ids(ids[row], code, solids.boxes)
        if len(rgb):
            _rows.write_colors(
                rgb[row], distance, code, camera.left, up, solids, origins, directions, texel
            )


def _entry_points(sources: int) -> Callable[..., Any]:
    @compiled
    def render(
        solids: Any, camera: Any, position: Any, rotation: Any, rgb: Any, depth: Any, ids: Any
    ) -> bool:
        """Fill the pictures that have rows; False if the pose is none."""
        assert sources
        if not _view.is_pose(position, rotation):
            return False
        _render(solids, camera, position, rotation, rgb, depth, ids)
        return True

    return render


render = _entry_points(SOURCES)
