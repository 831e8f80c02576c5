"""Seconds per forward pass of each attention kernel.

The bars of figs. 1, 6 (left) and 8 of "Unlocking Pixels for Reinforcement Learning via Implicit
Attention" (2021): the mean over 100 forward passes on images of 100x100, and on the 240x320 of the
Distracting Control Suite, with 10 patches selected. Patches of 2x2 are inferred for 100x100 (they
give the 15 ms of the paper's brute force); 1x1 and 4x4 are shown beside them. We add the fastest
pass, which other load on the machine disturbs least. A pass is ``PatchSelector.select`` of one
uint8 image of noise, on one thread; kernels take turns, so that all of them meet the same load.
Bars are all in torch, to compare like with like; where the extra ``fast`` is installed, its
compiled code is shown too.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from iap_gym.attention import PatchSelector
from iap_gym.attention.backends import compiled_calls
from iap_gym.attention.selector import COMPILED_KERNELS
from iap_gym.baselines.evolution.evaluation import one_torch_thread
from iap_gym.baselines.experiments.reproduce.kernels_compared import COMPARED, Compared
from iap_gym.baselines.experiments.reproduce.output import (
    COLORS,
    Outcome,
    new_figure,
    save_figure,
    save_json,
)


@dataclass(frozen=True)
class Scene:
    """What is looked at."""

    height: int
    width: int
    patch_size: int


@dataclass(frozen=True)
class Budget:
    """How much to measure."""

    scenes: tuple[Scene, ...]
    """Image and patch sizes; one panel each."""
    passes: int
    """Forward passes of a kernel at most."""
    seconds: float
    """A kernel stops after so much time, where it has had three passes."""


BUDGETS = {
    "smoke": Budget((Scene(100, 100, 4), Scene(100, 100, 2)), 5, 1.0),
    "small": Budget(
        (Scene(100, 100, 4), Scene(100, 100, 2), Scene(100, 100, 1), Scene(240, 320, 2)), 100, 30.0
    ),
}
FEWEST_PASSES = 3


def contestants() -> list[tuple[Compared, str]]:
    """List kernels with the code that runs them: torch, and compiled code where there is any."""
    rows = [(compared, "torch") for compared in COMPARED]
    if compiled_calls() is not None:
        rows += [(c, "numba") for c in COMPARED if c.selector["kernel"] in COMPILED_KERNELS]
    return rows


def measure(scene: Scene, budget: Budget) -> list[dict[str, Any]]:
    """Time all kernels on one scene, in turns."""
    shape = (scene.height, scene.width, 3)
    image = np.random.default_rng(0).integers(0, 256, (1, *shape), dtype=np.uint8)
    entries = contestants()
    selectors = [
        PatchSelector(
            shape, scene.patch_size, num_selected=10, backend=backend, **compared.selector
        )
        for compared, backend in entries
    ]
    times: list[list[float]] = [[] for _ in selectors]
    for turn in range(-1, budget.passes):
        for selector, found in zip(selectors, times, strict=True):
            if len(found) >= FEWEST_PASSES and sum(found) > budget.seconds:
                continue
            begin = time.perf_counter()
            selector.select(image)
            if turn >= 0:  # the first pass fills caches, and compiles where there is a compiler
                found.append(time.perf_counter() - begin)
    return [
        {
            "height": scene.height, "width": scene.width, "patch_size": scene.patch_size,
            "patches": selector.num_patches, "kernel": compared.name, "backend": backend,
            "passes": len(found), "mean_seconds": float(np.mean(found)), "min_seconds": min(found),
        }
        for (compared, backend), selector, found in zip(entries, selectors, times, strict=True)
    ]  # fmt: skip


def draw(panels: list[list[dict[str, Any]]], path: Path) -> Path:
    """Draw one panel a scene: bars and diamonds are means, ticks the fastest passes; log scale."""
    figure = new_figure(3.6 * len(panels), 4.4)
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for rows, axes in zip(panels, all_axes, strict=True):
        torch_rows = [row for row in rows if row["backend"] == "torch"]
        compiled = [row for row in rows if row["backend"] == "numba"]
        means = [1000 * row["mean_seconds"] for row in torch_rows]
        bars = axes.bar(
            [c.label for c in COMPARED], means, color=COLORS[: len(COMPARED)], label="torch, mean"
        )
        axes.plot(
            range(len(torch_rows)), [1000 * row["min_seconds"] for row in torch_rows],
            linestyle="none", marker="_", markersize=16, color="black", label="torch, fastest",
        )  # fmt: skip
        if compiled:
            axes.plot(
                range(len(compiled)), [1000 * row["mean_seconds"] for row in compiled],
                linestyle="none", marker="D", color="white", markeredgecolor="black",
                label="compiled, mean",
            )  # fmt: skip
        axes.bar_label(bars, [f"{mean:.3g}" for mean in means], padding=2, fontsize="small")
        axes.set_yscale("log")
        axes.margins(y=0.15)
        axes.tick_params(axis="x", rotation=45)
        first = rows[0]
        axes.set_title(
            f"{first['height']}x{first['width']}, patch {first['patch_size']}: "
            f"{first['patches']} patches",
            fontsize="medium",
        )
    all_axes[0].set_ylabel("ms per forward pass")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=3)
    figure.suptitle("IAP figs. 1, 6 and 8: inference time of one image, one thread")
    return save_figure(figure, path)


def reproduce(out: Path, budget: str, workers: int) -> Outcome:
    """Measure and draw into the folder ``out``; always in this process."""
    del workers
    chosen = BUDGETS[budget]
    with one_torch_thread():
        panels = [measure(scene, chosen) for scene in chosen.scenes]
    rows = [row for panel in panels for row in panel]
    content = {
        "budget": budget, "threads": 1, "torch": torch.__version__,
        "numpy": np.__version__, "machine": platform.machine(), "python": platform.python_version(),
        "times": rows,
    }  # fmt: skip
    files = (
        draw(panels, out / "fig6_inference_time.png"),
        save_json(content, out / "inference_time.json"),
    )
    lines = [
        f"{row['height']}x{row['width']} patch {row['patch_size']} "
        f"{row['kernel']:<12}{row['backend']:<6}"
        f"mean {1000 * row['mean_seconds']:9.3f} ms  min {1000 * row['min_seconds']:9.3f} ms  "
        f"({row['passes']} passes)"
        for row in rows
    ]
    return Outcome(tuple(lines), files)
