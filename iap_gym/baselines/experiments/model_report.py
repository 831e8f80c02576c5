"""The page about a run of a world model."""

from __future__ import annotations

import html

import numpy as np

from iap_gym.baselines.experiments.model_curves import GATES, SETS
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.report import origin, write_page

PACKAGES = ("iap-gym", "numpy", "torch", "numba")


def summary(run: ModelRun) -> str:
    """Say in a line what a run has reached."""
    last = {name: column[-1] for name, column in run.evaluations().items()}
    errors = [f"{name} {last[f'{name}_error']:.3g}" for name in SETS if f"{name}_error" in last]
    text = f"{last['epoch']:.0f} epochs; errors: {', '.join(errors)}"
    if np.isfinite(last["test_gate_rate"]):
        text += f"; {last['test_gate_rate']:.2%} of the gates open"
    return text


def write_model_report(run: ModelRun) -> None:
    """Write ``report.html`` from whatever the run folder holds so far."""
    config = run.config()
    parts = [
        f"<h1>{html.escape(config.env)}</h1>",
        f"<p>World model with core {html.escape(config.core)}, seed {config.seed}.</p>",
    ]
    if run.evaluations_file.is_file():
        parts += ["<h2>Errors of prediction</h2>", _table(run)]
    fields = config.to_json()
    write_page(run, config.env, [*parts, *origin(run, fields, PACKAGES)])


def _table(run: ModelRun) -> str:
    table = run.evaluations()
    titles = ["set", "mean squared error", "at best", "if nothing changed", *GATES.values()]
    rows = [f"<tr>{''.join(f'<th>{title}</th>' for title in titles)}</tr>"]
    for name, text in SETS.items():
        if f"{name}_error" not in table:
            continue
        errors = table[f"{name}_error"]
        used = [table[f"{name}_gate_{key}"][-1] for key in GATES]
        shares = [f"{share:.2%}" if np.isfinite(share) else "" for share in used]
        cells = [text, f"{errors[-1]:.3g}", f"{errors.min():.3g}"]
        cells += [f"{table[f'{name}_copy_error'][-1]:.3g}", *shares]
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    note = f"After {table['epoch'][-1]:.0f} epochs, from the first observations and all actions."
    return f'<table>{"".join(rows)}</table><p class="note">{note}</p>'
