"""One process at a time trains in a run folder."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator

from iap_gym.baselines.experiments.run import Run

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
    path = os.path.realpath(run.lock_file)
    taken = RunInUseError(f"{run.path} is being trained by another process; wait for it, or end it")
    if path in _held:
        raise taken
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            if error.errno in _BUSY:
                raise taken from None
        _held.add(path)
        try:
            yield
        finally:
            _held.discard(path)
    finally:
        os.close(descriptor)  # gives the lock back


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        # not flock, whose locks children that were forked would keep after this process is killed
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
