"""Clips: numbered pictures for the sky, decoded when they are shown and kept in a bounded cache."""

from __future__ import annotations

import functools
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from iap_gym._video import VideoFrames

Texture = NDArray[np.uint8]  # (size, size, 3)
_PAN_FRAMES = 200
_CROP_START, _CROP_END = 0.9, 0.6  # part of the picture's sides that is seen
_CACHE_BYTES = 128 * 2**20
_READ_AHEAD = 32  # frames of a video that are kept around the one asked for


class Clip(Protocol):
    """A named sequence of pictures."""

    name: str

    def __len__(self) -> int:
        """Return the number of frames."""
        ...

    def texture(self, index: int, size: int) -> Texture:
        """Return frame ``index`` stretched to ``size`` x ``size``; not to be written to."""
        ...


class FolderClip:
    """Pictures of one folder in the order of their names, one frame each."""

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self.name = name
        self._paths = tuple(paths)

    def __len__(self) -> int:
        return len(self._paths)

    def texture(self, index: int, size: int) -> Texture:
        """Return a frame; see ``Clip``."""
        path = self._paths[index]
        return _cache.get((path, 0, size), lambda: _stretch(_load(path), size))


class PictureClip:
    """A slow pan and zoom over one picture: the moving version of a still.

    At frame t of T, with u = t / (T - 1), the visible crop has 0.9 - 0.3 u times the picture's
    width and height, and its place goes from one corner to the opposite one; which corner follows
    from the file's name.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._path = path

    def __len__(self) -> int:
        return _PAN_FRAMES

    def texture(self, index: int, size: int) -> Texture:
        """Return a frame; see ``Clip``."""
        return _cache.get((self._path, index, size), lambda: self._crop(index, size))

    def _crop(self, index: int, size: int) -> Texture:
        picture = _load_again(self._path)
        box = pan_box(index / (_PAN_FRAMES - 1), picture.size, zlib.crc32(self.name.encode()))
        return _stretch(picture, size, box)


class VideoClip:
    """Frames ``start`` to ``stop`` (not included) of a video file."""

    def __init__(self, name: str, path: Path, frames: VideoFrames, start: int, stop: int) -> None:
        self.name = name
        self._path, self._frames = path, frames
        self._start, self._stop = start, stop

    def __len__(self) -> int:
        return self._stop - self._start

    def texture(self, index: int, size: int) -> Texture:
        """Return a frame; see ``Clip``."""
        number = self._start + index
        return _cache.get(
            (self._path, number, size),
            lambda: self._decode(number, size),
        )

    def _decode(self, number: int, size: int) -> Texture:
        # Playing backwards would decode from the key frame every time.
        texture: Texture | None = None
        for index, frame in self._frames.read_until(number):
            if index > number - _READ_AHEAD:
                texture = _stretch(Image.fromarray(frame), size)
                _cache.put((self._path, index, size), texture)
        assert texture is not None
        return texture


def pan_box(u: float, size: tuple[int, int], corner: int) -> tuple[float, float, float, float]:
    """Return the visible part (left, top, right, bottom) of a picture at time ``u`` in [0, 1].

    Args:
        u: part of the way.
        size: (width, height) of the picture.
        corner: its two lowest bits say from which corner the crop starts.
    """
    scale = _CROP_START + (_CROP_END - _CROP_START) * u
    places = [1.0 - u if corner & bit else u for bit in (1, 2)]
    left, top = ((1.0 - scale) * side * place for side, place in zip(size, places, strict=True))
    return left, top, left + scale * size[0], top + scale * size[1]


class _Cache:
    """The textures used last, for all environments of this process together."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._textures: OrderedDict[tuple[Path, int, int], Texture] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[Path, int, int], make: Callable[[], Texture]) -> Texture:
        with self._lock:
            if key in self._textures:
                self._textures.move_to_end(key)
                return self._textures[key]
        texture = make()
        self.put(key, texture)
        return texture

    def put(self, key: tuple[Path, int, int], texture: Texture) -> None:
        with self._lock:
            if key not in self._textures:
                self._textures[key] = texture
                self._bytes += texture.nbytes
            while self._bytes > self._max_bytes:
                self._bytes -= self._textures.popitem(last=False)[1].nbytes


_cache = _Cache(_CACHE_BYTES)


def _load(path: Path) -> Image.Image:
    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except FileNotFoundError as error:
        raise ValueError(f"background: the picture {str(path)!r} is gone") from error
    except (OSError, UnidentifiedImageError, SyntaxError) as error:
        raise ValueError(
            f"background: the picture {str(path)!r} cannot be read: {error}"
        ) from error


# A moving still is cut out of the same picture at every step.
_load_again = functools.lru_cache(maxsize=2)(_load)


def _stretch(
    picture: Image.Image, size: int, box: tuple[float, float, float, float] | None = None
) -> Texture:
    texture = np.asarray(picture.resize((size, size), Image.Resampling.BILINEAR, box=box))
    texture.flags.writeable = False
    return texture
