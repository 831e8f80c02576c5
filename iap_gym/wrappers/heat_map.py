"""Pictures of the scores that the attention gives to every patch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from iap_gym import _checks
from iap_gym.attention import PatchSelector

SCALES = ("linear", "rank")
# From dark to bright with rising luminance, so that the map reads in gray as well.
COLORS = np.array(
    [[0, 0, 0], [70, 10, 95], [165, 35, 95], [235, 95, 45], [250, 190, 50], [255, 255, 220]], float
)
UNREACHED = 60  # gray of pixels that no patch covers


def score_map(
    selector: PatchSelector,
    image: Any,
    size: tuple[int, int] | None = None,
    scale: str = "linear",
) -> np.ndarray:
    """Draw the score of every patch as a heat map, from black (lowest) to pale yellow (highest).

    Args:
        selector: gives the scores.
        image: one image as the selector takes it, (H, W, C) or gray (H, W), uint8 or float in
            [0, 1].
        size: (height, width) of the picture in pixels, or one number for both; None is the image's
            own.
        scale: "linear" spreads the scores from their lowest to their highest; "rank" spreads their
            ranks, which shows order where a few scores tower above the rest. Equal scores share a
            colour. A pixel under several patches shows their mean.

    Returns:
        uint8 (height, width, 3).

    Raises:
        ValueError: an image that the selector refuses, or another wrong argument.
    """
    _checks.one_of("scale", scale, SCALES)
    height, width = selector.image_shape[:2]
    rows, columns = (height, width) if size is None else _checks.pair("size", size)
    picture = np.asarray(image)
    if picture.shape not in (selector.image_shape, selector.image_shape[:2]):
        raise _checks.refuse("image", f"shape {selector.image_shape}", picture.shape)
    picture = picture.reshape(selector.image_shape)  # a gray image may come without its channel
    with torch.no_grad():
        scores = selector.scores(picture[None]).cpu().numpy()[0].astype(float)
    if scale == "rank":
        _, scores = np.unique(scores, return_inverse=True)
    spread = np.ptp(scores)
    heat = (scores - scores.min()) / spread if spread > 0 else np.zeros(len(scores))

    corners = selector.corners(np.arange(selector.num_patches)[None])[0].cpu().numpy().astype(int)
    total, count = np.zeros((height, width)), np.zeros((height, width))
    # Pixel by pixel of a patch: all patches put theirs in different places.
    for row in range(selector.patch_size[0]):
        for column in range(selector.patch_size[1]):
            place = corners[:, 0] + row, corners[:, 1] + column
            total[place] += heat
            count[place] += 1
    position = total / np.maximum(count, 1) * (len(COLORS) - 1)
    picture = np.stack(
        [np.interp(position, np.arange(len(COLORS)), channel) for channel in COLORS.T], axis=-1
    )
    picture[count == 0] = UNREACHED
    from_row = np.arange(rows) * height // rows
    from_column = np.arange(columns) * width // columns
    return np.rint(picture).astype(np.uint8)[from_row[:, None], from_column]
