"""Collect sequences in parts, on several cores, and go on where a killed run stopped.

A part is a file of its own in a folder beside the target, written when it is whole. What is in it
depends on the task and on its numbers of sequences alone, so neither workers nor interruptions
change the result.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from iap_gym.data import file
from iap_gym.data.collection import Array, Progress


class Part(NamedTuple):
    """Some sequences that follow one another, and how many rollouts of each pool were tried."""

    arrays: dict[str, Array]
    tried: dict[str, int]


class Task(Protocol):
    """What is collected; another process can make it out of a pickle."""

    @property
    def part_size(self) -> int:
        """Sequences of a part."""
        ...

    def key(self) -> dict[str, Any]:
        """Return all that its sequences depend on, as JSON."""
        ...

    def collect(self, first: int, count: int) -> Part:
        """Collect sequences ``first`` to ``first + count - 1``."""
        ...


def collect_in_parts(
    task: Task, target: Path, sequences: int, workers: int, progress: Progress | None = None
) -> Part:
    """Collect what is not there yet, and put the parts together.

    Args:
        task: what is collected.
        target: the file that will be; parts go into the folder
            ``parts_folder(task, target, sequences)``, which stays until ``remove_parts``.
        sequences: N.
        workers: processes; 1 for this one alone.
        progress: called with how many sequences there are, and how many there will be.

    Returns:
        All sequences, and the sums of the rollouts that were tried.

    Raises:
        RuntimeError: a worker died.
    """
    folder = parts_folder(task, target, sequences)
    folder.mkdir(parents=True, exist_ok=True)
    places = [
        (first, min(task.part_size, sequences - first))
        for first in range(0, sequences, task.part_size)
    ]
    missing = [place for place in places if _read(task, folder, *place) is None]
    done = sequences - sum(count for _, count in missing)
    if progress is not None:
        progress(done, sequences)
    try:
        for count in _work(task, folder, missing, min(workers, len(missing))):
            done += count
            if progress is not None:
                progress(done, sequences)
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()  # where nothing came into it
    return _joined(task, folder, places)


def parts_folder(task: Task, target: Path, sequences: int) -> Path:
    """Return the folder of the parts of a file: another one for all that is asked otherwise.

    So nothing that is made in between takes what a stopped run goes on from.
    """
    asked = json.dumps([task.key(), sequences], sort_keys=True).encode()
    return target.with_name(f"{target.name}.{hashlib.sha256(asked).hexdigest()[:8]}.parts")


def remove_parts(task: Task, target: Path, sequences: int) -> None:
    """Remove the parts, once the target is written."""
    shutil.rmtree(parts_folder(task, target, sequences), ignore_errors=True)


def all_cores() -> int:
    """Return how many processes can run at once here."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _work(task: Task, folder: Path, missing: list[tuple[int, int]], workers: int) -> Iterator[int]:
    """Write parts and yield how many sequences each one brought."""
    if workers <= 1:
        for place in missing:
            yield _write(task, folder, *place)
        return
    context = multiprocessing.get_context("spawn")
    theirs, ours = context.Pipe(duplex=False)
    with ProcessPoolExecutor(
        workers, context, initializer=_until_closed, initargs=(theirs,)
    ) as pool:
        futures = [pool.submit(_write, task, folder, *place) for place in missing]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException as error:
            if not isinstance(error, Exception):  # interrupted, and a part can take long
                ours.close()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    ours.close()
    theirs.close()


def _until_closed(connection: Any) -> None:
    """End this worker when the parent closes the other end, or is gone, whatever it is at."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and closes

    def wait() -> None:
        with contextlib.suppress(EOFError, OSError):
            connection.recv()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _path(folder: Path, first: int) -> Path:
    return folder / f"{first:06d}{file.SUFFIX}"


def _write(task: Task, folder: Path, first: int, count: int) -> int:
    part = task.collect(first, count)
    header = {"part": task.key(), "first": first, "count": count, "tried": part.tried}
    file.write(_path(folder, first), part.arrays, header)
    return count


def _read(task: Task, folder: Path, first: int, count: int) -> Part | None:
    """Return a part that is there, whole and of the same task, else None."""
    path = _path(folder, first)
    with contextlib.suppress(FileNotFoundError, file.DataFileError):
        file.verify(path)
        header, arrays = file.read(path)
        if (header.get("part"), header.get("count")) == (task.key(), count):
            return Part(arrays, header["tried"])
    return None


def _joined(task: Task, folder: Path, places: list[tuple[int, int]]) -> Part:
    parts = [_read(task, folder, *place) for place in places]
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        raise RuntimeError(f"a part in {folder} vanished or was changed while others were made")
    arrays = {
        name: np.concatenate([part.arrays[name] for part in whole]) for name in whole[0].arrays
    }
    names = whole[0].tried
    return Part(arrays, {name: sum(part.tried[name] for part in whole) for name in names})
