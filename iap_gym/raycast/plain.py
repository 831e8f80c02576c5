"""The rays of boxes with NumPy alone: what the compiled kernels compute too.

Along a ray o + d t from outside, a box is entered where the last of the planes that face the ray is
crossed, and left where the first of the others is (the slabs of Kay and Kajiya, 1986). Rays here
are 1 long along the optical axis. With w = 1/t, the crossing of a plane, w = n·d / (h - n·o), is
affine in the column and the row of the pixel, so that no ray is divided by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iap_gym.raycast.camera import GROUND, NOTHING, Frame, Rays
from iap_gym.raycast.geometry import Matrix
from iap_gym.raycast.packing import (
    CODES,
    DOWN_AXIS,
    DOWN_SIGN,
    RIGHT_AXIS,
    RIGHT_SIGN,
    TOP,
    Solids,
)

Floats = NDArray[np.float64]

# Of surfaces at the same distance, up to rounding, the first is seen.
NEARER = 1 - 1e-9
SMALLEST = 1e-12  # m, distance from a plane


class _Plane(NamedTuple):
    """A side of a solid: its nearness along a ray is ``scale`` times the ray along the axis."""

    axis: int
    scale: float
    face: int


class View:
    """Solids as seen from a camera.

    Attributes:
        origins: (n, 3), the camera's place along each axis of each solid.
        directions: (n, 3, 3), the camera's forward, left and up along those axes: (n, axis, 3).
    """

    def __init__(self, solids: Solids, position: Floats, rotation: Matrix) -> None:
        self.origins = np.einsum("nij,nj->ni", solids.axes, position - solids.centers)
        self.directions = solids.axes @ rotation


def cast_rays(solids: Solids, camera: Rays, position: Floats, rotation: Matrix) -> Frame:
    """Return what a camera sees."""
    view = View(solids, position, rotation)
    nearness, codes = _nearest(solids, camera, view)
    depth = np.where(codes < 0, camera.far, 1 / nearness)
    ids = codes // CODES
    if len(solids.centers) > solids.boxes:
        ids[ids == solids.boxes] = GROUND
    ids[codes < 0] = NOTHING
    return Frame(_colors(solids, camera, view, depth, codes), depth.astype(np.float32), ids)


def _nearest(solids: Solids, camera: Rays, view: View) -> tuple[Floats, NDArray[np.int32]]:
    """Return 1 / depth, and codes."""
    nearness = np.full((len(camera.up), len(camera.left)), 1 / camera.far)
    codes = np.full(nearness.shape, -1, np.int32)
    for index, (origin, half) in enumerate(zip(view.origins, solids.half_extents, strict=True)):
        directions = view.directions[index]
        if index < solids.boxes:
            entries, exits = _planes_of_box(origin, half)
            where = _rectangle(camera, directions, origin, half)
        else:
            entries, exits = _planes_of_ground(float(origin[2]))
            where = slice(None), slice(None)
        if not entries or where is None:
            continue
        axes, scales, faces = zip(*entries, *exits, strict=True)
        planes = directions[list(axes)] * np.array(scales)[:, None]
        forward, along, above = planes.T[:, :, None, None]
        rows = forward + above * camera.up[where[0], None]
        crossings = rows + along * camera.left[where[1]]
        entered = crossings[: len(entries)].min(axis=0)
        exited = crossings[len(entries) :].max(axis=0, initial=0.0)
        hit = (
            (exited <= entered)
            & (entered <= 1 / camera.near)
            & (entered * NEARER > nearness[where])
        )
        face = np.array(faces)[crossings[: len(entries)].argmin(axis=0)]
        nearness[where][hit] = entered[hit]
        codes[where][hit] = CODES * index + face[hit]
    return nearness, codes


def _planes_of_box(origin: Floats, half: Floats) -> tuple[list[_Plane], list[_Plane]]:
    """Return the planes where rays enter, and where they leave.

    From within a box there are none to enter by.
    """
    entries: list[_Plane] = []
    exits: list[_Plane] = []
    for axis, (place, extent) in enumerate(zip(origin.tolist(), half.tolist(), strict=True)):
        outside = abs(place) - extent
        if outside > 0:
            side, face = (1.0, 2 * axis) if place > 0 else (-1.0, 2 * axis + 1)
            entries.append(_Plane(axis, -side / max(outside, SMALLEST), face))
            exits.append(_Plane(axis, -side / (extent + abs(place)), face ^ 1))
        else:
            exits.append(_Plane(axis, 1 / max(extent - place, SMALLEST), 2 * axis))
            exits.append(_Plane(axis, -1 / max(extent + place, SMALLEST), 2 * axis + 1))
    return entries, exits


def _planes_of_ground(above: float) -> tuple[list[_Plane], list[_Plane]]:
    return ([_Plane(2, -1 / max(above, SMALLEST), TOP)] if above > 0 else []), []


_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)


def _rectangle(
    camera: Rays, directions: Floats, origin: Floats, half: Floats
) -> tuple[slice, slice] | None:
    """Return rows and columns that hold a box; None if it is out of sight."""
    forward, left, up = ((_CORNERS * half - origin) @ directions).T
    if (forward < camera.near).all():
        return None
    if (forward < camera.near).any():
        return slice(None), slice(None)
    rows = _span(up / forward, camera.half_height, len(camera.up))
    columns = _span(left / forward, camera.half_width, len(camera.left))
    return (rows, columns) if rows.start < rows.stop and columns.start < columns.stop else None


def _span(slopes: Floats, half: float, pixels: int) -> slice:
    """Return the pixels from the largest slope to the smallest, and one more on each side."""
    first, last = ((1 - float(each) / half) * pixels / 2 for each in (slopes.max(), slopes.min()))
    first, last = min(max(first - 0.5, 0.0), pixels), min(max(last + 1.5, 0.0), pixels)
    return slice(int(first), int(last))


def _colors(
    solids: Solids, camera: Rays, view: View, depth: Floats, codes: NDArray[np.int32]
) -> NDArray[np.uint8]:
    rgb = np.empty((*codes.shape, 3), np.uint8)
    rgb[:] = solids.sky
    rows, columns = np.nonzero(codes >= 0)
    if not len(rows):
        return rgb
    solid, face = np.divmod(codes[rows, columns], CODES)
    picture = solids.picture[solid]
    start, height, width = solids.textures[picture].T
    left, up, far = camera.left[columns], camera.up[rows], depth[rows, columns]

    def place_in_texture(axes: tuple[int, ...], signs: tuple[float, ...], repeat: int) -> Floats:
        """Return where in a texture a point is, in [0, 1]."""
        axis, sign = np.array(axes)[face], np.array(signs)[face]
        scale = solids.repeats[picture, repeat]
        forward, along, above = view.directions[solid, axis].T
        place = (solids.half_extents[solid, axis] + sign * view.origins[solid, axis]) * scale
        turned = sign * scale
        place = place + ((turned * forward + turned * above * up) + turned * along * left) * far
        place -= np.rint(place)
        place[place < 0] += 1
        return np.where((place >= 0) & (place <= 1), place, 0.0)  # not where rounding left nothing

    down = np.minimum(
        (place_in_texture(DOWN_AXIS, DOWN_SIGN, 0) * height).astype(np.int64), height - 1
    )
    right = np.minimum(
        (place_in_texture(RIGHT_AXIS, RIGHT_SIGN, 1) * width).astype(np.int64), width - 1
    )
    color = solids.texels[start + down * width + right].astype(np.int64)
    rgb[rows, columns] = (color * solids.shade[solid, face][:, None] + 128) >> 8
    return rgb
