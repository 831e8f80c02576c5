"""Solids as a camera sees them: the planes that bound them, and the pixels that may show them."""

# pyright: basic

from __future__ import annotations

import math
from typing import Any

from iap_gym._compiled.cache import inner
from iap_gym.raycast.geometry import LARGEST, LARGEST_ERROR
from iap_gym.raycast.packing import CODES, TOP
from iap_gym.raycast.plain import SMALLEST

# Of a solid: three where rays enter, four where they leave.
ENTRIES, PLANES = 3, 7
NEVER = 1e300  # nearness of a plane that bounds nothing


@inner
def is_pose(position: Any, rotation: Any) -> bool:
    """Whether the place is within bounds, and the columns are orthonormal and right-handed."""
    # Comparisons that are false for NaN.
    for i in range(3):
        if not abs(position[i]) <= LARGEST:
            return False
        j, k = (i + 1) % 3, (i + 2) % 3
        square = 0.0
        product = 0.0
        for axis in range(3):
            square += rotation[axis, i] * rotation[axis, i]
            product += rotation[axis, i] * rotation[axis, j]
        if not (abs(square - 1) <= LARGEST_ERROR and abs(product) <= LARGEST_ERROR):
            return False
        cross = rotation[1, i] * rotation[2, j] - rotation[2, i] * rotation[1, j]
        if not abs(cross - rotation[0, k]) <= 10 * LARGEST_ERROR:
            return False
    return True


@inner
def look(
    solids: Any,
    camera: Any,
    position: Any,
    rotation: Any,
    planes: Any,
    codes: Any,
    rectangles: Any,
    origins: Any,
    directions: Any,
) -> int:
    """Describe the solids in sight, and return how many these are.

    Origins and directions are kept for all, at the solid's index; the rest one after the other.
    Planes (7, 3) are nearness along the optical axis, its growth to the left and upwards, of which
    the first three are those where rays enter, and have codes.
    """
    seen = 0
    for solid in range(len(solids.centers)):
        origin, direction = origins[solid], directions[solid]
        half = solids.half_extents[solid]
        for axis in range(3):
            total = 0.0
            for i in range(3):
                offset = position[i] - solids.centers[solid, i]
                total += solids.axes[solid, axis, i] * offset
            origin[axis] = total
            for j in range(3):
                total = 0.0
                for i in range(3):
                    total += solids.axes[solid, axis, i] * rotation[i, j]
                direction[axis, j] = total
        if solid < solids.boxes:
            entered = _bound_box(planes[seen], codes[seen], solid, origin, direction, half)
            in_sight = _rectangle(rectangles[seen], camera, origin, direction, half)
        else:
            entered = _bound_ground(planes[seen], codes[seen], solid, origin, direction)
            in_sight = True
            rectangles[seen, 0], rectangles[seen, 1] = 0, len(camera.up)
            rectangles[seen, 2], rectangles[seen, 3] = 0, len(camera.left)
        if entered and in_sight:
            seen += 1
    return seen


@inner
def _set_plane(plane: Any, direction: Any, scale: float) -> None:
    for j in range(3):
        plane[j] = direction[j] * scale


@inner
def _set_unbounded(planes: Any, entries: int, exits: int) -> None:
    """Fill up what is not used."""
    for plane in range(entries, ENTRIES):
        planes[plane, 0], planes[plane, 1], planes[plane, 2] = NEVER, 0.0, 0.0
    for plane in range(exits, PLANES):
        planes[plane, 0], planes[plane, 1], planes[plane, 2] = 0.0, 0.0, 0.0


@inner
def _bound_box(planes: Any, codes: Any, solid: int, origin: Any, direction: Any, half: Any) -> bool:
    """Set planes and codes; False if the camera is in the box, which is then unseen."""
    sides = 0
    for axis in range(3):
        sides += abs(origin[axis]) > half[axis]
    entries, exits = 0, ENTRIES
    for axis in range(3):
        place, extent = origin[axis], half[axis]
        outside = abs(place) - extent
        if outside > 0:
            side = 1.0 if place > 0 else -1.0
            _set_plane(planes[entries], direction[axis], -side / max(outside, SMALLEST))
            codes[entries] = CODES * solid + 2 * axis + (place < 0)
            entries += 1
            # Before a ray leaves through the opposite face it enters through this one, so that
            # alone it bounds nothing.
            if sides > 1:
                _set_plane(planes[exits], direction[axis], -side / (extent + abs(place)))
                exits += 1
        else:
            _set_plane(planes[exits], direction[axis], 1 / max(extent - place, SMALLEST))
            _set_plane(planes[exits + 1], direction[axis], -1 / max(extent + place, SMALLEST))
            exits += 2
    _set_unbounded(planes, entries, exits)
    for plane in range(entries, ENTRIES):
        codes[plane] = -1
    return entries > 0


@inner
def _bound_ground(planes: Any, codes: Any, solid: int, origin: Any, direction: Any) -> bool:
    """Set planes and codes; False from below."""
    if not origin[2] > 0:
        return False
    _set_plane(planes[0], direction[2], -1 / max(origin[2], SMALLEST))
    codes[0] = CODES * solid + TOP
    codes[1] = codes[2] = -1
    _set_unbounded(planes, 1, ENTRIES)
    return True


@inner
def _rectangle(rectangle: Any, camera: Any, origin: Any, direction: Any, half: Any) -> bool:
    """Set the first and last row and column that a box may cover; False if there are none."""
    left_most, right_most, top, bottom = -math.inf, math.inf, -math.inf, math.inf
    near = camera.near
    # The corners as the camera sees them: forward, left and up of the one with all signs negative,
    # and what the other end of each edge adds.
    f0 = l0 = u0 = 0.0
    for axis in range(3):
        low = -half[axis] - origin[axis]
        f0 += low * direction[axis, 0]
        l0 += low * direction[axis, 1]
        u0 += low * direction[axis, 2]
    for corner in range(8):
        f, l, u = f0, l0, u0  # noqa: E741
        for axis in range(3):
            if corner >> axis & 1:
                f += 2 * half[axis] * direction[axis, 0]
                l += 2 * half[axis] * direction[axis, 1]  # noqa: E741
                u += 2 * half[axis] * direction[axis, 2]
        if f >= near:
            left_most, right_most = max(left_most, l / f), min(right_most, l / f)
            top, bottom = max(top, u / f), min(bottom, u / f)
        # The edges that start here, where they pass the plane of what is near enough to be unseen.
        for axis in range(3):
            if corner >> axis & 1:
                continue
            growth = 2 * half[axis] * direction[axis, 0]
            if (f >= near) != (f + growth >= near):
                share = (near - f) / growth * 2 * half[axis]
                a = (l + share * direction[axis, 1]) / near
                b = (u + share * direction[axis, 2]) / near
                left_most, right_most = max(left_most, a), min(right_most, a)
                top, bottom = max(top, b), min(bottom, b)
    if right_most > left_most:
        return False
    first, last = _span(top, bottom, camera.half_height, len(camera.up))
    rectangle[0], rectangle[1] = first, last
    first_column, last_column = _span(left_most, right_most, camera.half_width, len(camera.left))
    rectangle[2], rectangle[3] = first_column, last_column
    return first < last and first_column < last_column


@inner
def _span(largest: float, smallest: float, half: float, pixels: int) -> Any:
    """Return the first pixel between two slopes, or one before, and one after the last."""
    first = (1 - largest / half) * pixels / 2 - 0.5
    last = (1 - smallest / half) * pixels / 2 - 0.5
    first = min(max(first, -1.0), pixels + 1.0)
    last = min(max(last, -2.0), pixels + 0.0)
    return max(math.floor(first), 0), min(math.floor(last) + 2, pixels)
