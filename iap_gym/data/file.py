"""The file of a data set: safetensors, with a JSON header of ours in its metadata.

Eight bytes give the length of a JSON table (little-endian), the table names each array's dtype,
shape and place, and the arrays follow as they lie in memory; the library safetensors reads these
files too. The table is padded so that the arrays begin at a multiple of 64 bytes. No time and no
path is in a file: the same data give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iap_gym._files import replacing

FORMAT = "iap_gym data set"
VERSION = 1
SUFFIX = ".safetensors"

Array = NDArray[np.float32]

_KEY = "iap_gym"  # of the metadata, whose values are text: our header as JSON
_LONGEST = 100_000_000  # bytes of a table that safetensors allows
_ALIGNMENT = 64


class DataFileError(ValueError):
    """A file that is not a whole data set of this version; the message says what is wrong."""


def write(
    path: str | os.PathLike[str], arrays: Mapping[str, Array], header: Mapping[str, Any]
) -> None:
    """Write a data set; a process that is killed leaves no file at ``path``, or the old one.

    Args:
        path: is replaced.
        arrays: float32, by name.
        header: goes before the arrays as JSON, with format, version and checksum.

    Raises:
        OSError: it cannot be written.
    """
    blocks = {name: np.ascontiguousarray(array, "<f4") for name, array in arrays.items()}
    table: dict[str, Any] = {}
    end = 0
    for name, block in blocks.items():
        begin, end = end, end + block.nbytes
        table[name] = {"dtype": "F32", "shape": block.shape, "data_offsets": [begin, end]}
    ours = {**header, "format": FORMAT, "version": VERSION}
    ours["sha256"] = checksum_of(ours, blocks)
    text = json.dumps({"__metadata__": {_KEY: json.dumps(ours)}, **table}).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for block in blocks.values():
            file.write(_bytes_of(block))


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Read the header and map the arrays, which come from the disk as they are used.

    Returns:
        The header, and the arrays by name: float32, not writable.

    Raises:
        FileNotFoundError: there is no file.
        DataFileError: it is truncated, of another version, or no data set.
    """
    if Path(path).is_dir():
        raise DataFileError(f"{path} is a folder, and a data set is a file")
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        start = file.read(9)
        length = int.from_bytes(start[:8], "little")
        if len(start) < 9 or start[8:] != b"{" or length > _LONGEST:
            raise DataFileError(f"{path} is no data set of iap_gym, or was cut off at its start")
        file.seek(8)
        text = file.read(length)
    if len(text) < length:
        raise DataFileError(f"{path} is truncated: it ends within its header")
    header, table = _parse(path, text)
    wanted = 8 + length + max(entry["data_offsets"][1] for entry in table.values())
    if size != wanted:
        kind = "truncated" if size < wanted else "too long"
        raise DataFileError(f"{path} is {kind}: {size} bytes, and its header says {wanted}")
    mapped = np.memmap(path, np.uint8, "r").view(np.ndarray)[8 + length :]
    arrays = {}
    for name, entry in table.items():
        begin, end = entry["data_offsets"]
        arrays[name] = mapped[begin:end].view("<f4").reshape(entry["shape"])
    return header, arrays


def verify(path: str | os.PathLike[str]) -> None:
    """Read all of a data set and compare its checksum.

    Raises:
        DataFileError: something is not what was written, or as ``read``.
    """
    header, arrays = read(path)
    found = checksum_of(header, arrays)
    if found != header["sha256"]:
        raise DataFileError(
            f"{path} is damaged: its sha256 is {found}, and its header says {header['sha256']}"
        )


def _parse(
    path: str | os.PathLike[str], text: bytes
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return our header and the table of the arrays, in the order of their places."""
    foreign = DataFileError(f"{path} is no data set of iap_gym")
    try:
        table = json.loads(text)
        header = json.loads(table.pop("__metadata__")[_KEY])
    except (ValueError, KeyError, TypeError):
        raise foreign from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise foreign
    if header.get("version") != VERSION:
        raise DataFileError(
            f"{path} is of version {header.get('version')} of the format, this iap_gym reads "
            f"version {VERSION}"
        )
    try:
        whole = isinstance(header["sha256"], str) and bool(table)
        end = 0
        for entry in table.values():
            begin, after = entry["data_offsets"]
            whole &= entry["dtype"] == "F32" and begin == end
            whole &= after - begin == 4 * int(np.prod(entry["shape"], dtype=np.int64))
            end = after
    except (KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise DataFileError(f"{path} is damaged: its header is not one that iap_gym writes")
    return header, table


def checksum_of(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return the sha256 of a header without its checksum, and of the arrays in their order."""
    rest = {key: value for key, value in header.items() if key != "sha256"}
    checksum = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for array in arrays.values():
        checksum.update(_bytes_of(array))
    return checksum.hexdigest()


def _bytes_of(block: Array) -> memoryview:
    return block.reshape(-1).view(np.uint8).data
