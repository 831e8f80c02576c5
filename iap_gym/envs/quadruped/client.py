"""A PyBullet world of one's own, which ends with its owner."""

from __future__ import annotations

import os
import weakref
from types import ModuleType
from typing import Any


class Client:
    """A direct connection to PyBullet; ends when it is closed or nobody holds it any more.

    Args:
        bullet: the module ``pybullet``.
        owner: what holds it, for messages: "the simulation".

    Raises:
        RuntimeError: PyBullet has no client left in this process.
    """

    def __init__(self, bullet: ModuleType, owner: str) -> None:
        library: Any = bullet
        self._owner, self._pid = owner, os.getpid()
        self._id: int = library.connect(library.DIRECT)
        if self._id < 0:
            raise RuntimeError("PyBullet has no client left: close environments not in use")
        self._end = weakref.finalize(self, _disconnect, library, self._id, self._pid)

    @property
    def id(self) -> int:
        """PyBullet's number of it.

        Raises:
            RuntimeError: it is closed, or belongs to the process that this one was forked from.
        """
        if not self._end.alive:
            raise RuntimeError(f"{self._owner} is closed")
        if os.getpid() != self._pid:
            raise RuntimeError(
                f"{self._owner} was made in process {self._pid} and is used in {os.getpid()}, "
                "which forked from it: make one in each process, after the fork"
            )
        return self._id

    def close(self) -> None:
        """End it; a second time does nothing."""
        self._end()


def _disconnect(bullet: Any, client: int, pid: int) -> None:
    # A fork has a copy of what it never owned.
    if os.getpid() == pid:
        bullet.disconnect(client)
