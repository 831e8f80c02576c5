"""One row of the picture: what is nearest in each of its pixels, and what is written about it."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np

from iap_gym._compiled.cache import inner
from iap_gym.raycast.camera import GROUND, NOTHING
from iap_gym.raycast.packing import CODES, DOWN_AXIS, DOWN_SIGN, RIGHT_AXIS, RIGHT_SIGN
from iap_gym.raycast.plain import NEARER

SHIFT = CODES.bit_length() - 1
ROUND = 1.5 * 2.0**52  # added and subtracted, it leaves the nearest integer


@inner
def cover(
    nearness: Any, code: Any, left: Any, up: float, planes: Any, codes: Any, nearest: float
) -> None:
    """Put a solid where it is nearer than what is there."""
    e0, e1, e2 = (
        planes[0, 0] + planes[0, 2] * up,
        planes[1, 0] + planes[1, 2] * up,
        planes[2, 0] + planes[2, 2] * up,
    )
    x0, x1, x2, x3 = (
        planes[3, 0] + planes[3, 2] * up,
        planes[4, 0] + planes[4, 2] * up,
        planes[5, 0] + planes[5, 2] * up,
        planes[6, 0] + planes[6, 2] * up,
    )
    de0, de1, de2 = planes[0, 1], planes[1, 1], planes[2, 1]
    dx0, dx1, dx2, dx3 = planes[3, 1], planes[4, 1], planes[5, 1], planes[6, 1]
    code0, code1, code2 = codes[0], codes[1], codes[2]
    for column in range(len(nearness)):
        a = left[column]
        entered, face = e0 + de0 * a, code0
        other = e1 + de1 * a
        face = code1 if other < entered else face
        entered = other if other < entered else entered
        other = e2 + de2 * a
        face = code2 if other < entered else face
        entered = other if other < entered else entered
        gone = max(max(x0 + dx0 * a, x1 + dx1 * a), max(x2 + dx2 * a, x3 + dx3 * a))
        best = nearness[column]
        hit = (gone <= entered) & (entered <= nearest) & (entered * NEARER > best)
        nearness[column] = entered if hit else best
        code[column] = face if hit else code[column]


@inner
def write_depth(depth: Any, distance: Any, code: Any, far: float) -> None:
    """Write a row of depth."""
    for column in range(len(depth)):
        depth[column] = distance[column] if code[column] >= 0 else far


@inner
def write_ids(ids: Any, code: Any, boxes: int) -> None:
    """Write a row of ids."""
    for column in range(len(ids)):
        solid = code[column] >> SHIFT
        ids[column] = NOTHING if solid < 0 else GROUND if solid == boxes else solid


@inner
def write_colors(
    rgb: Any,
    distance: Any,
    code: Any,
    left: Any,
    up: float,
    solids: Any,
    origins: Any,
    directions: Any,
    texel: Any,
) -> None:
    """Write a row of colors, one run of pixels with the same face after the other."""
    start, width = 0, len(code)
    while start < width:
        face = code[start]
        end = start + 1
        while end < width and code[end] == face:
            end += 1
        if face < 0:
            _fill(rgb[start:end], solids.sky, 256)
        else:
            solid = face >> SHIFT
            picture = solids.picture[solid]
            shade = solids.shade[solid, face & (CODES - 1)]
            first, height, columns = solids.textures[picture]
            if height * columns == 1:
                _fill(rgb[start:end], solids.texels[first], shade)
            else:
                _texels(
                    texel[start:end],
                    distance[start:end],
                    left[start:end],
                    up,
                    face & (CODES - 1),
                    height,
                    columns,
                    solids.repeats[picture],
                    solids.half_extents[solid],
                    origins[solid],
                    directions[solid],
                )
                _paint(rgb[start:end], texel[start:end], solids.texels[first:], shade)
        start = end


@inner
def _shaded(color: int, shade: int) -> Any:
    return np.uint8((color * shade + 128) >> 8)


@inner
def _fill(rgb: Any, color: Any, shade: int) -> None:
    r, g, b = _shaded(color[0], shade), _shaded(color[1], shade), _shaded(color[2], shade)
    for column in range(len(rgb)):
        rgb[column, 0], rgb[column, 1], rgb[column, 2] = r, g, b


@inner
def _along(
    axis: int, sign: float, scale: float, up: float, half: Any, origin: Any, ray: Any
) -> Any:
    """Return where in its texture the camera is, and the growth with depth: at left 0, by left."""
    turned = sign * scale
    return (
        (half[axis] + sign * origin[axis]) * scale,
        turned * ray[axis, 0] + turned * ray[axis, 2] * up,
        turned * ray[axis, 1],
    )


@inner
def _texels(
    texel: Any,
    distance: Any,
    left: Any,
    up: float,
    face: int,
    height: int,
    width: int,
    repeats: Any,
    half: Any,
    origin: Any,
    directions: Any,
) -> None:
    """Write which texel each pixel shows."""
    down0, down1, down2 = _along(
        DOWN_AXIS[face], DOWN_SIGN[face], repeats[0], up, half, origin, directions
    )
    right0, right1, right2 = _along(
        RIGHT_AXIS[face], RIGHT_SIGN[face], repeats[1], up, half, origin, directions
    )
    for column in range(len(texel)):
        a, far = left[column], distance[column]
        down = down0 + (down1 + down2 * a) * far
        right = right0 + (right1 + right2 * a) * far
        down -= (down + ROUND) - ROUND
        right -= (right + ROUND) - ROUND
        down = down + 1.0 if down < 0 else down
        right = right + 1.0 if right < 0 else right
        # Not so where the numbers were too large for this.
        down = down if (down >= 0.0) & (down <= 1.0) else 0.0
        right = right if (right >= 0.0) & (right <= 1.0) else 0.0
        line = min(np.int32(down * height), np.int32(height - 1))
        place = min(np.int32(right * width), np.int32(width - 1))
        texel[column] = line * np.int32(width) + place


@inner
def _paint(rgb: Any, texel: Any, texels: Any, shade: int) -> None:
    for column in range(len(rgb)):
        color = texels[texel[column]]
        rgb[column, 0] = _shaded(color[0], shade)
        rgb[column, 1] = _shaded(color[1], shade)
        rgb[column, 2] = _shaded(color[2], shade)
