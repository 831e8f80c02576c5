"""Write files so that a killed process leaves the old one or the new one, never half of one."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

_PROCESSES = "/proc/self/ns/pid"  # a link that tells containers of one machine apart


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block ends well it takes ``path``'s place.

    The temporary file keeps the suffix, for writers that choose a format by it. What a writer of
    the same path left that was killed is removed, if it ran on this machine.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(target)
    # A new file has the permissions that the user's umask gives; mkstemp's are the owner's alone.
    temporary = temporary_name(target)
    try:
        yield temporary
        with temporary.open("rb+") as file:  # on the disk before it takes the old one's place
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as error:
        if error.filename == str(temporary):  # the user knows the target's name alone
            raise type(error)(error.errno, error.strerror, str(target)) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file at ``path`` by ``text`` (UTF-8)."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at ``path`` by ``data``."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def temporary_name(path: str | os.PathLike[str]) -> Path:
    """Return a hidden path beside ``path`` by which ``remove_abandoned`` knows its writer."""
    target = Path(path)
    writer = f"{_machine()}-{os.getpid()}-{secrets.token_hex(6)}"
    return target.with_name(f".{target.stem}-{writer}{target.suffix}")


def remove_abandoned(path: str | os.PathLike[str]) -> None:
    """Remove what is at a ``temporary_name`` of ``path``, if its writer ran here and is gone.

    Files and folders are removed; those of another machine stay.
    """
    target = Path(path)
    if os.name != "posix":
        return
    try:
        names = os.listdir(target.parent)
    except OSError:  # absent, or not to be read
        return
    start, end = re.escape(f".{target.stem}-{_machine()}-"), re.escape(target.suffix)
    form = re.compile(rf"{start}(\d+)-[0-9a-f]{{12}}{end}")
    for name in names:
        found = form.fullmatch(name)
        if found is not None and not _runs(int(found[1])):
            left = target.parent / name
            with contextlib.suppress(OSError):  # someone else may have removed it, or owns it
                shutil.rmtree(left) if left.is_dir() else left.unlink()


@functools.cache
def _machine() -> str:
    """Return 8 characters for the machine, and the container, in which process numbers hold."""
    with contextlib.suppress(OSError):
        return _short(f"{platform.node()} {os.readlink(_PROCESSES)}")
    return _short(platform.node())


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)  # a question alone
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True
