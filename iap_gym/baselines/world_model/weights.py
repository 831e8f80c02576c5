"""Files of weights: safetensors with the arguments of what they belong to."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from iap_gym._files import write_bytes

KEY = "iap_gym"  # of the metadata, whose values are text
FORMAT = "iap_gym world model"


def save(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> None:
    """Write tensors and JSON values; a process that is killed leaves no file, or the old one."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    header = json.dumps({"format": FORMAT, "settings": dict(settings)})
    write_bytes(path, save_tensors(plain, {KEY: header}))


def load(path: str | os.PathLike[str]) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what ``save`` wrote.

    Raises:
        FileNotFoundError: there is no file.
        ValueError: it is not one of ours, or damaged.
    """
    data = Path(path).read_bytes()
    try:
        tensors = read_tensors(data)
        size = int.from_bytes(data[:8], "little")
        header = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][KEY])
        if header["format"] != FORMAT:
            raise ValueError(header["format"])
        return tensors, header["settings"]
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected a file of a world model, it is not ({error})") from None
