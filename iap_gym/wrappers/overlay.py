"""Pictures of what the attention looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from iap_gym import _checks
from iap_gym.attention import PatchSelector
from iap_gym.wrappers.patch_selection import IAPObservation


def mark_patches(
    frame: np.ndarray,
    selector: PatchSelector,
    indices: np.ndarray | Sequence[int],
    color: Sequence[int] | np.ndarray = (255, 0, 0),
    alpha: float = 0.5,
) -> np.ndarray:
    """Tint patches in a picture, and give the best one a solid border.

    Args:
        frame: uint8 (h, w, 3) of any size; patches are scaled from the selector's images to it.
        selector: says where the patches lie.
        indices: (l,) patches, best first.
        color: red, green and blue of the tint, in [0, 255].
        alpha: strength of the tint, from 0 to 1 (opaque). Patches that overlap are tinted once.

    Returns:
        A new uint8 array (h, w, 3).

    Raises:
        ValueError: an argument of another kind, or indices that are no patches.
    """
    frame = np.asarray(frame)
    if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3:
        raise _checks.refuse("frame", "uint8 (h, w, 3)", (str(frame.dtype), frame.shape))
    tint, alpha = _check_tint(color, alpha)
    boxes = _boxes(frame.shape, selector, indices)
    marked = np.zeros(frame.shape[:2], bool)
    for top, bottom, left, right in boxes:
        marked[top:bottom, left:right] = True
    picture = frame.copy()
    picture[marked] = np.rint((1 - alpha) * frame[marked] + alpha * tint).astype(np.uint8)
    if boxes:
        top, bottom, left, right = boxes[0]
        picture[top:bottom, [left, right - 1]] = tint
        picture[[top, bottom - 1], left:right] = tint
    return picture


def _boxes(
    shape: tuple[int, ...], selector: PatchSelector, indices: Any
) -> list[tuple[int, int, int, int]]:
    """Return top, bottom, left, right (ends exclusive) of patches in a picture of ``shape``."""
    if np.size(indices) == 0:  # nothing is selected; an empty list has no integers in it
        return []
    starts = selector.corners(indices).cpu().numpy()
    if starts.ndim != 2:
        raise _checks.refuse("indices", "shape (l,)", starts.shape[:-1])
    height, width, _ = selector.image_shape
    scales = np.array([shape[0] / height, shape[1] / width])
    # Whole pixels that a patch touches, so that none vanishes in a smaller picture.
    first = np.floor(starts * scales).astype(int)
    last = np.ceil((starts + selector.patch_size) * scales - 1e-9).astype(int)
    return [
        (int(top), int(bottom), int(left), int(right))
        for (top, left), (bottom, right) in zip(first, last, strict=True)
    ]


def observed_region(env: gymnasium.Env, frame: np.ndarray) -> tuple[slice, slice]:
    """Return the rows and columns of a rendered frame that show what the agent sees.

    They are what the environment says as ``inset``; all of them where it says nothing.
    """
    region = getattr(env.unwrapped, "inset", None)
    return (slice(0, frame.shape[0]), slice(0, frame.shape[1])) if region is None else region


def _check_tint(color: Any, alpha: Any) -> tuple[np.ndarray, float]:
    if isinstance(color, str) or not isinstance(color, (Sequence, np.ndarray)) or len(color) != 3:
        raise _checks.refuse("color", "three integers (red, green, blue)", color)
    parts = [_checks.integer("color", part, 0, 255) for part in color]
    alpha = _checks.real("alpha", alpha, 0.0)
    if alpha > 1.0:
        raise _checks.refuse("alpha", "a number in [0, 1]", alpha)
    return np.array(parts, np.uint8), alpha


class AttentionOverlay(gymnasium.Wrapper, RecordConstructorArgs):
    """Marks the patches selected for the last observation in what ``render`` returns.

    Where that shows the observation in a corner only, the patches are marked there (see
    ``observed_region``).

    Args:
        env: has an ``IAPObservation`` somewhere inside, and the render mode "rgb_array".
        color: as for ``mark_patches``.
        alpha: as for ``mark_patches``.

    Raises:
        ValueError: no ``IAPObservation`` inside, another render mode, or a wrong colour or alpha.
    """

    __module__ = "iap_gym.wrappers"

    def __init__(
        self, env: gymnasium.Env, color: Sequence[int] = (255, 0, 0), alpha: float = 0.5
    ) -> None:
        RecordConstructorArgs.__init__(self, color=list(color), alpha=alpha)
        gymnasium.Wrapper.__init__(self, env)
        if env.render_mode != "rgb_array":
            raise _checks.refuse("env", "one made with render_mode='rgb_array'", env.render_mode)
        self._attention = _find_attention(env)
        self._color, self._alpha = _check_tint(color, alpha)

    def render(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the picture of the environment with the patches marked, uint8 (h, w, 3)."""
        frame = np.asarray(self.env.render())
        indices = self._attention.last_indices
        if indices is None:
            return frame
        region = observed_region(self.env, frame)
        frame = frame.copy()
        frame[region] = mark_patches(
            frame[region], self._attention.selector, indices, self._color, self._alpha
        )
        return frame


def _find_attention(env: gymnasium.Env) -> IAPObservation:
    inner = env
    while isinstance(inner, gymnasium.Wrapper):
        if isinstance(inner, IAPObservation):
            return inner
        inner = inner.env
    raise _checks.refuse("env", "an environment with an IAPObservation inside", env)
