"""Video files through PyAV: read them in order or by frame number, and write MP4."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym import _checks
from iap_gym._files import replacing
from iap_gym._optional import require

Frame = NDArray[np.uint8]  # (height, width, 3)
_EXTRA = "distracting"


def read_video(path: str | os.PathLike[str]) -> Iterator[Frame]:
    """Decode a video file from its first frame to its last.

    Args:
        path: any file that FFmpeg reads.

    Yields:
        Frames, uint8 of shape (height, width, 3), RGB.

    Raises:
        ValueError: the file is missing, is no video, or is damaged.
    """
    with _opened(path) as container:
        for frame in _decoded(container, path):
            yield frame.to_ndarray(format="rgb24")


class VideoFrames:
    """Frames of a video file by number, each read from the nearest key frame before it.

    Args:
        path: any file that FFmpeg reads.

    Raises:
        ValueError: the file is missing, is no video, or is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        with _opened(path) as container:
            try:
                stamps = [
                    packet.pts
                    for packet in container.demux(container.streams.video[0])
                    if packet.size
                ]
            except require("av", _EXTRA).error.FFmpegError as error:
                raise _unreadable(path, error) from error
        if not stamps or None in stamps:
            raise _unreadable(path, "it has no frames with time stamps")
        self._stamps = sorted(stamps)  # packets come in the order of decoding

    def __len__(self) -> int:
        return len(self._stamps)

    def read_until(self, index: int) -> Iterator[tuple[int, Frame]]:
        """Decode from the key frame before ``index`` up to and including ``index``.

        Yields:
            The number of a frame and the frame, uint8 of shape (height, width, 3), RGB.

        Raises:
            ValueError: no such frame, or the file is damaged before it.
        """
        _checks.integer("index", index, 0, len(self) - 1)
        numbers = {stamp: number for number, stamp in enumerate(self._stamps)}
        with _opened(self._path) as container:
            stream = container.streams.video[0]
            container.seek(self._stamps[index], stream=stream, backward=True)
            for frame in _decoded(container, self._path):
                number = numbers.get(frame.pts, -1)
                if 0 <= number <= index:
                    yield number, frame.to_ndarray(format="rgb24")
                if number >= index:
                    return
        raise _unreadable(self._path, f"frame {index} of {len(self)} cannot be decoded")


class VideoWriter:
    """Write an MP4 file (H.264, yuv420p), as a context manager.

    The file appears under its name when the block ends without an exception, never half written.

    Args:
        path: where to write; its folder must exist.
        fps: frames per second, > 0.

    Raises:
        ValueError: the folder does not exist, or ``fps`` is not a number above 0.
    """

    def __init__(self, path: str | os.PathLike[str], fps: float) -> None:
        self._path = Path(path)
        self._fps = _checks.real("fps", fps, 0, exclusive=True)
        if self._path.suffix != ".mp4":
            raise _checks.refuse("path", "a file whose name ends with .mp4", str(path))
        if not self._path.parent.is_dir():
            raise _checks.refuse("path", "a file in a folder that exists", str(path))
        self._shape: tuple[int, ...] | None = None

    def __enter__(self) -> VideoWriter:
        av = require("av", _EXTRA)
        self._replacing = replacing(self._path)
        self._container = av.open(str(self._replacing.__enter__()), "w", format="mp4")
        rate = Fraction(self._fps).limit_denominator(1001)
        self._stream = self._container.add_stream("libx264", rate=rate)
        self._stream.pix_fmt = "yuv420p"
        return self

    def write(self, frame: NDArray[Any]) -> None:
        """Append one frame; an odd height or width is padded by repeating the last row or column.

        Args:
            frame: uint8 of shape (height, width, 3), RGB, the same for every frame.

        Raises:
            ValueError: another shape or dtype.
        """
        if not isinstance(frame, np.ndarray) or frame.dtype != np.uint8:
            raise _checks.refuse("frame", "a uint8 array", getattr(frame, "dtype", frame))
        wanted = self._shape or "(height, width, 3)"
        if frame.ndim != 3 or frame.shape[2] != 3 or 0 in frame.shape:
            raise _checks.refuse("frame", f"shape {wanted}", frame.shape)
        if self._shape is None:
            self._shape = frame.shape
            # yuv420p halves the colour planes.
            self._stream.height, self._stream.width = (n + n % 2 for n in frame.shape[:2])
        elif frame.shape != self._shape:
            raise _checks.refuse("frame", f"shape {wanted}", frame.shape)
        odd = [(0, n % 2) for n in frame.shape[:2]]
        padded = np.ascontiguousarray(np.pad(frame, [*odd, (0, 0)], mode="edge"))
        image = require("av", _EXTRA).VideoFrame.from_ndarray(padded, format="rgb24")
        self._container.mux(self._stream.encode(image))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.ExitStack() as stack:
            stack.push(self._replacing)  # keeps the old file after any exception, also one below
            if self._shape is not None:
                self._container.mux(self._stream.encode(None))
            self._container.close()
            if kind is None and self._shape is None:
                raise ValueError(f"no frame was written to {self._path}")
            if error is not None:
                raise error


def _opened(path: str | os.PathLike[str]) -> Any:
    av = require("av", _EXTRA)
    if not Path(path).is_file():
        raise ValueError(f"video file {os.fspath(path)!r} does not exist")
    try:
        container = av.open(os.fspath(path))
    except av.error.FFmpegError as error:
        raise _unreadable(path, error) from error
    if not container.streams.video:
        container.close()
        raise _unreadable(path, "it has no video stream")
    return container


def _decoded(container: Any, path: str | os.PathLike[str]) -> Iterator[Any]:
    try:
        yield from container.decode(container.streams.video[0])
    except require("av", _EXTRA).error.FFmpegError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | os.PathLike[str], why: object) -> ValueError:
    return ValueError(f"video file {os.fspath(path)!r} cannot be read: {why}")
