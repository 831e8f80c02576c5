"""One process at a time trains in a run folder, or adds to a file."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from iap_gym.baselines.experiments.run import Run

PATIENCE = 60.0  # s
_BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
# Locks of a file are a process's own, who could take one twice and lose both by giving one back.
_held: set[str] = set()


class RunInUseError(RuntimeError):
    """Another process, or another thread of this one, trains in the run folder."""


@contextlib.contextmanager
def in_use(run: Run) -> Iterator[None]:
    """Keep all others from training in a run folder while the block runs.

    The lock is the operating system's and ends with the process, however that ends: a run that was
    killed can go on at once. The file stays. On a file system without locks nobody is kept out.

    Raises:
        RunInUseError: somebody has the lock.
    """
    with contextlib.ExitStack() as stack:
        if not _take(stack, run.lock_file):
            raise RunInUseError(
                f"{run.path} is being trained by another process; wait for it, or end it"
            )
        yield


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep all others from changing a file while the block runs; wait for who is at it.

    Raises:
        TimeoutError: somebody is at it for a minute.
    """
    begin = time.monotonic()
    with contextlib.ExitStack() as stack:
        while not _take(stack, path.with_name(f".{path.name}.lock")):
            if time.monotonic() - begin > PATIENCE:
                raise TimeoutError(f"{path}: another process does not end to write it")
            time.sleep(0.02)
        yield


def _take(stack: contextlib.ExitStack, file: Path) -> bool:
    """Take a lock until the stack is left; return False where somebody has it."""
    path = os.path.realpath(file)
    if path in _held:
        return False
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    stack.callback(os.close, descriptor)  # gives the lock back
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno in _BUSY:
            return False
    _held.add(path)
    stack.callback(_held.discard, path)
    return True


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        # not flock, whose locks children that were forked would keep after this process is killed
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
