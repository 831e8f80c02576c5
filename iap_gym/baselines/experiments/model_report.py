"""The page about a run of a world model."""

from __future__ import annotations

import html

import numpy as np

from iap_gym.baselines.experiments.model_curves import GATES, SETS
from iap_gym.baselines.experiments.model_run import ModelRun
from iap_gym.baselines.experiments.plan_episodes import (
    TRUE_SIMULATOR,
    PlannedEpisodes,
    load_planned,
)
from iap_gym.baselines.experiments.report import embed, origin, write_page

PACKAGES = ("iap-gym", "numpy", "torch", "numba")


_SCENES_NOTE = (
    '<p class="note">Sequences predicted from their first observations and all actions. Dotted '
    "vertical lines: events, which the model is not told of.</p>"
)

_FILM_NOTE = (
    '<p class="note">Under the view the last steps of the model, a row for each number of its '
    "state, with the present step at the right edge.</p>"
)


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
    planned = load_planned(run.planning_file)
    if planned:
        parts += ["<h2>Planning</h2>", *map(_planned_text, planned)]
    if run.scenes_file.is_file():
        parts += ["<h2>What it predicts and remembers</h2>", _SCENES_NOTE]
        parts.append(f'<img alt="sequences" src="{embed(run.scenes_file, "image/png")}">')
    if run.film_file.is_file():
        film = embed(run.film_file, "video/mp4")
        parts += ["<h2>Planning with it</h2>", _FILM_NOTE]
        parts.append(f'<video controls loop muted src="{film}"></video>')
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


def _planned_text(planned: PlannedEpisodes) -> str:
    key = planned.key
    by = "the true simulator" if key["model"] == TRUE_SIMULATOR else "the model"
    return (
        f"<p>iCEM on {by}, horizon {key['horizon']}, {key['num_samples']} samples: success "
        f"{planned.success} in {len(planned.episodes)} episodes of at most {key['steps']} steps "
        f"(95 % Wilson interval), radii times {key['radius_factor']:g}.</p>"
    )
