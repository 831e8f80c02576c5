"""What every target writes: pictures, tables and a summary."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from iap_gym._files import replacing, write_text

# Told apart by all kinds of colour vision (Okabe and Ito, 2008).
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")


@dataclass(frozen=True)
class Outcome:
    """What a target has to say, the files that it wrote, and the runs that are missing in it."""

    lines: tuple[str, ...]
    files: tuple[Path, ...]
    missing: tuple[str, ...] = ()


def new_figure(width: float, height: float) -> Figure:
    """Make a figure of so many inches, apart from pyplot's global state."""
    figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure; the suffix is the format."""
    with replacing(path) as temporary:
        figure.savefig(temporary)
    return path


def save_table(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write rows of the same keys as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
    return path


def save_json(content: Mapping[str, Any], path: Path) -> Path:
    """Write JSON."""
    write_text(path, json.dumps(content, indent=2) + "\n")
    return path
