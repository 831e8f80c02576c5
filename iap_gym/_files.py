"""Write files so that a killed process leaves the old one or the new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block ends well it takes ``path``'s place.

    The temporary file keeps the suffix, for writers that choose a format by it.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # A new file has the permissions that the user's umask gives; mkstemp's are the owner's alone.
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(6)}{target.suffix}")
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
