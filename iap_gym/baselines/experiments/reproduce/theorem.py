"""Mean squared errors of three unbiased estimators of the softmax kernel, drawn and checked.

Figs. 3 and 4 of "Unlocking Pixels for Reinforcement Learning via Implicit Attention" (2021): curves
are theorem 4.1, points are Monte Carlo with the feature maps of ``iap_gym.attention``. For fig. 5,
which explains the angular kernel, its sign features are compared with 1 - 2 theta / pi.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from iap_gym.baselines.experiments.reproduce.estimators import (
    DIM,
    ESTIMATORS,
    POINTS,
    SLICE,
    TINY,
    M,
    R,
    check,
    check_angular,
    vectors,
)
from iap_gym.baselines.experiments.reproduce.output import (
    COLORS,
    Outcome,
    new_figure,
    save_figure,
    save_json,
    save_table,
)

LENGTHS = np.linspace(-1, 1, 81)  # of fig. 3; the error depends on the absolute value
EXTENDED = np.linspace(-2 * math.pi, 2 * math.pi, 721)


@dataclass(frozen=True)
class Budget:
    """How much to compute."""

    draws: int
    """Draws of each feature map."""


BUDGETS = {"smoke": Budget(500), "small": Budget(50_000)}


def draw_surfaces(path: Path) -> Path:
    """Draw fig. 3: one surface an estimator, the slice of fig. 4 marked."""
    angles = np.linspace(0, math.pi, 91)
    figure = new_figure(13, 4.8)
    for column, estimator in enumerate(ESTIMATORS, start=1):
        axes: Any = figure.add_subplot(1, 3, column, projection="3d")
        error = estimator.mse(*vectors(angles[:, None], LENGTHS))
        axes.plot_surface(
            *np.meshgrid(LENGTHS, angles), error.numpy(),
            color=estimator.color, alpha=0.75, linewidth=0, rcount=91, ccount=81,
        )  # fmt: skip
        line = estimator.mse(*vectors(angles, SLICE)).numpy()
        axes.plot(np.full_like(angles, SLICE), angles, line, color="0.15", linewidth=2, zorder=9)
        axes.set_title(estimator.label, y=0.97)
        axes.set_xlabel("length $R$")
        axes.set_xticks([-1, 0, 1])
        axes.set_ylabel(r"angle $\theta$")
        axes.set_yticks([0, math.pi / 2, math.pi], ["0", "π/2", "π"])
        axes.view_init(elev=24, azim=-128)
    figure.suptitle(
        f"IAP fig. 3: mean squared error, m = {M}, r = {R}, |x| = |y| = |R|; dark line: R = {SLICE}"
    )
    return save_figure(figure, path)


def _angle_axis(axes: Axes, ticks: dict[float, str]) -> None:
    axes.set_xticks([math.pi * tick for tick in ticks], list(ticks.values()))
    axes.set_xlabel(r"angle $\theta$ between x and y")
    axes.grid(alpha=0.25)


def draw_slices(rows: list[dict[str, Any]], path: Path) -> Path:
    """Draw fig. 4: curves of the theorem, points with two standard errors; linear and log."""
    figure = new_figure(12, 4.8)
    for column, scale in enumerate(("linear", "log"), start=1):
        axes = figure.add_subplot(1, 2, column)
        for estimator in ESTIMATORS:
            error = estimator.mse(*vectors(EXTENDED, SLICE)).numpy()
            axes.plot(EXTENDED, error, color=estimator.color, label=estimator.label)
            points = [row for row in rows if row["estimator"] == estimator.name]
            if scale == "log":
                points = [row for row in points if row["closed_form"] > TINY]
            axes.errorbar(
                [row["angle"] for row in points], [row["measured"] for row in points],
                yerr=[2 * row["standard_error"] for row in points],
                fmt="o", color=estimator.color, markersize=4, capsize=3, linewidth=1,
            )  # fmt: skip
        axes.set_yscale(scale)
        if scale == "log":
            axes.set_ylim(1e-5, 1)
        axes.set_ylabel("mean squared error")
        _angle_axis(axes, {-2: r"$-2\pi$", -1: r"$-\pi$", 0: "0", 1: r"$\pi$", 2: r"$2\pi$"})
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=3)
    figure.suptitle(
        f"IAP fig. 4: m = {M}, r = {R}, |x| = |y| = {SLICE}; lines: theorem 4.1, "
        "points: Monte Carlo, ±2 standard errors"
    )
    return save_figure(figure, path)


def draw_angular(rows: list[dict[str, Any]], path: Path) -> Path:
    """Draw the sign features beside the angular kernel, and what is left between them."""
    figure = new_figure(12, 4)
    angles = [row["angle"] for row in rows]
    errors = [2 * row["standard_error"] for row in rows]
    left, right = figure.subplots(1, 2)
    left.plot([0, math.pi], [1, -1], color="0.4", label=r"$1 - 2\theta/\pi$")
    left.errorbar(
        angles, [row["estimate"] for row in rows], yerr=errors, fmt="o", color=COLORS[2],
        markersize=4, capsize=3, label=f"mean of sign features, r = {R}",
    )  # fmt: skip
    left.set_ylabel("angular kernel")
    left.legend(frameon=False)
    right.axhline(0, color="0.4")
    right.errorbar(
        angles, [row["estimate"] - row["kernel"] for row in rows], yerr=errors, fmt="o",
        color=COLORS[2], markersize=4, capsize=3,
    )  # fmt: skip
    right.set_ylabel("estimate minus kernel")
    for axes in (left, right):
        _angle_axis(axes, {0: "0", 0.5: r"$\pi/2$", 1: r"$\pi$"})
    figure.suptitle("The kernel of IAP fig. 5: estimates with ±2 standard errors")
    return save_figure(figure, path)


def surface_rows() -> list[dict[str, float]]:
    """Return the numbers of fig. 3, thinned to every tenth of R and of pi."""
    lengths, angles = np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, math.pi, 11))
    x, y = vectors(angles.ravel(), lengths.ravel())
    columns = {estimator.name: estimator.mse(x, y).tolist() for estimator in ESTIMATORS}
    places = {"length": lengths.ravel().tolist(), "angle": angles.ravel().tolist()}
    table = {**places, **columns}
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def reproduce(out: Path, budget: str, workers: int) -> Outcome:
    """Compute and draw everything into the folder ``out``; always in this process."""
    del workers
    chosen = BUDGETS[budget]
    rows = [row for seed, e in enumerate(ESTIMATORS) for row in check(e, chosen.draws, seed)]
    angular = check_angular(chosen.draws, len(ESTIMATORS))
    worst = {
        **{
            e.name: max(abs(row["deviation"]) for row in rows if row["estimator"] == e.name)
            for e in ESTIMATORS
        },
        "angular": max(abs(row["deviation"]) for row in angular),
    }
    summary = {
        "budget": budget, "draws": chosen.draws, "d": DIM, "m": M, "r": R, "length": SLICE,
        "largest_deviation_in_standard_errors": worst,
    }  # fmt: skip
    files = (
        draw_surfaces(out / "fig3_surfaces.png"),
        draw_slices(rows, out / "fig4_slices.png"),
        draw_angular(angular, out / "fig5_angular.png"),
        save_table(surface_rows(), out / "fig3_surfaces.csv"),
        save_table(rows, out / "fig4_monte_carlo.csv"),
        save_table(angular, out / "fig5_angular.csv"),
        save_json(summary, out / "theorem.json"),
    )
    found = ", ".join(f"{name} {value:.1f}" for name, value in worst.items())
    line = (
        f"{chosen.draws} draws, {len(POINTS)} angles; largest deviation of Monte Carlo from the "
        f"closed form, in standard errors: {found}"
    )
    return Outcome((line,), files)
