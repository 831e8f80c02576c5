"""From the ``background`` argument to the clips of one split."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from gymnasium.error import DependencyNotInstalled

from iap_gym._checks import refuse
from iap_gym._video import VideoFrames
from iap_gym.envs.distracting_control import davis
from iap_gym.envs.distracting_control.clips import Clip, FolderClip, PictureClip, VideoClip

# Photographs that scikit-image installs, no scene in both splits; docs name their licences.
BUNDLED = {
    "train": (
        "astronaut.png",
        "coffee.png",
        "motorcycle_left.png",
        "camera.png",
        "hubble_deep_field.jpg",
        "grass.png",
        "retina.jpg",
        "brick.png",
    ),
    "val": ("chelsea.png", "rocket.jpg", "gravel.png", "coins.png", "moon.png"),
}
_PICTURES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"})
_VIDEOS = frozenset({".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg"})
_RESOLUTIONS = ("480p", "Full-Resolution")
_ACCEPTED = (
    "a DAVIS folder (with JPEGImages/480p or JPEGImages/Full-Resolution), a folder of pictures, of "
    "one folder of pictures for each clip or of videos, or a video file"
)


def existing_path(background: str) -> Path:
    """Return the path that ``background`` means, "~" and environment variables expanded.

    Raises:
        ValueError: there is nothing.
    """
    path = Path(os.path.expandvars(background)).expanduser()
    if not path.is_dir() and not path.is_file():
        raise refuse("background", f"{_ACCEPTED}; {str(path)!r} does not exist", background)
    return path


def find_clips(background: str | None, split: str, num_clips: int | None) -> tuple[Clip, ...]:
    """Return the first ``num_clips`` clips of a split, all of them where there are fewer.

    Args:
        background: None for the pictures that scikit-image installs; else a path, in which "~"
            and environment variables are expanded.
        split: "train" or "val"; no frame belongs to both.
        num_clips: how many, None for all.

    Raises:
        ValueError: there is no such path, or nothing for this split in it.
        gymnasium.error.DependencyNotInstalled: a package that is needed is missing.
    """
    if background is None:
        clips: Sequence[Clip] = _bundled(split)
    else:
        path = existing_path(background)
        clips = _from_folder(path, split) if path.is_dir() else [_from_video(path, split)]
    return tuple(clips[:num_clips])


def _bundled(split: str) -> list[Clip]:
    found = importlib.util.find_spec("skimage")
    if found is None or found.origin is None:
        raise DependencyNotInstalled(
            'scikit-image is not installed, run `pip install "iap-gym[distracting]"`, or give '
            "background a path"
        )
    folder = Path(found.origin).parent / "data"
    return [PictureClip(Path(name).stem, folder / name) for name in BUNDLED[split]]


def _from_folder(path: Path, split: str) -> list[Clip]:
    videos = _davis_folder(path)
    if videos is not None:
        found = _from_folders(videos / name for name in davis.CLIPS[split])
        if not found:
            raise ValueError(
                f"background: no {split} video of DAVIS 2017 with pictures in {str(videos)!r}; "
                f"looked for folders named {', '.join(davis.CLIPS[split][:3])} and so on"
            )
        return found
    entries = _visible(path)
    clips: list[Clip] = [
        PictureClip(entry.name, entry) for entry in entries if _is(entry, _PICTURES)
    ]
    clips = clips or _from_folders(entries)
    clips = clips or [_whole_video(entry) for entry in entries if _is(entry, _VIDEOS)]
    if not clips:
        raise ValueError(
            f"background: nothing to show in the folder {str(path)!r}; expected {_ACCEPTED}"
        )
    train, val = _divide(len(clips))
    chosen = clips[train:] if split == "val" else clips[:train]
    if not chosen:
        raise ValueError(
            f"background: {str(path)!r} has a single clip, {clips[0].name!r}, which is in the "
            f"train split; the val split needs another (found {train} for train, {val} for val)"
        )
    return chosen


def _from_video(path: Path, split: str) -> Clip:
    frames = _frames(path)
    train, val = _divide(len(frames))
    if split == "val" and not val:
        raise ValueError(f"background: {str(path)!r} has one frame, none is left for val")
    start, stop = (0, train) if split == "train" else (train, len(frames))
    return VideoClip(path.name, path, frames, start, stop)


def _whole_video(path: Path) -> Clip:
    frames = _frames(path)
    return VideoClip(path.name, path, frames, 0, len(frames))


def _frames(path: Path) -> VideoFrames:
    try:
        return VideoFrames(path)
    except ValueError as error:
        raise ValueError(f"background: {error}") from error


def _from_folders(folders: Iterable[Path]) -> list[Clip]:
    clips: list[Clip] = []
    for folder in folders:
        pictures = [entry for entry in _visible(folder) if _is(entry, _PICTURES)]
        if pictures:
            clips.append(FolderClip(folder.name, pictures))
    return clips


def _davis_folder(path: Path) -> Path | None:
    """Return the folder of DAVIS video folders that ``path`` means, None if it is not DAVIS."""
    for images in (path / "JPEGImages", path / "DAVIS" / "JPEGImages", path):
        for name in _RESOLUTIONS:
            if (images / name).is_dir():
                return images / name
    if path.name in _RESOLUTIONS:
        return path
    # Anyone's clips may be called "bear" or "dog"; a whole split of such names is DAVIS's.
    folders = {entry.name for entry in _visible(path) if entry.is_dir()}
    return path if any(folders.issuperset(names) for names in davis.CLIPS.values()) else None


def _divide(count: int) -> tuple[int, int]:
    """Return how many of ``count`` go to train, two thirds, and to val."""
    train = max(1, 2 * count // 3)
    return train, count - train


def _visible(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    entries = (entry for entry in folder.iterdir() if not entry.name.startswith("."))
    return sorted(entries, key=_natural)


def _natural(path: Path) -> list[tuple[int, str]]:
    # Frame 10 comes after frame 2 also where the numbers have no leading zeros.
    parts = re.split(r"(\d+)", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _is(path: Path, suffixes: frozenset[str]) -> bool:
    return path.suffix.lower() in suffixes and path.is_file()
