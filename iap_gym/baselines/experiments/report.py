"""One self-contained page about a run: what it is, how well it does, its curve and its film."""

from __future__ import annotations

import base64
import html
import json
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from iap_gym._files import write_text
from iap_gym.baselines.experiments.config import TrainConfig
from iap_gym.baselines.experiments.evaluate import Evaluation, enough, load_evaluations
from iap_gym.baselines.experiments.outcomes import in_words
from iap_gym.baselines.experiments.run import Run

PACKAGES = ("iap-gym", "gymnasium", "numpy", "torch", "dm_control", "mujoco", "pybullet")
QUADRUPED = "iap_gym/Quadruped"  # how these environments' ids begin
PPO_PACKAGES = (*PACKAGES, "stable-baselines3", "sb3-contrib", "minigrid")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1c1c20; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .9rem; text-align: right; }
th { border-bottom: 1px solid #888; } td:first-child, th:first-child { text-align: left; }
tr.trained { font-weight: 600; } img, video { max-width: 100%; height: auto; }
pre { background: #f3f3f5; padding: .8rem; overflow-x: auto; }
.note { color: #555; font-size: .9rem; }
"""


def embed(path: Path, kind: str) -> str:
    """Return a file as a data address."""
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def evaluation_table(evaluation: Evaluation, trained_for: int | None = None) -> str:
    """Lay an evaluation out as an HTML table.

    Args:
        evaluation: what was played.
        trained_for: steps of training by now; an evaluation of earlier ones is said to be so.
    """
    found = evaluation.shares
    titles = ["agent", *found, "mean return", "trained minus it"]
    titles += ["ends"] if evaluation.ends else []
    rows = [f"<tr>{''.join(f'<th>{title}</th>' for title in titles)}</tr>"]
    for kind in evaluation.returns:
        shares = [texts.get(kind, "") for texts in found.values()]
        difference = "" if kind == "trained" else str(evaluation.difference(kind))
        cells = [kind, *shares, str(evaluation.mean(kind)), difference]
        cells += [html.escape(in_words(evaluation.ends[kind]))] if evaluation.ends else []
        rows.append(f'<tr class="{kind}">{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>')
    earlier = ""
    if evaluation.timesteps is not None and evaluation.timesteps != trained_for:
        earlier = f", after {evaluation.timesteps:,} steps of training"
    return (
        f"<p>{len(evaluation.seeds)} episodes of <b>{html.escape(evaluation.env)}</b>"
        f"{html.escape(evaluation.details)}{earlier}, the same for every agent.</p>"
        f"<table>{''.join(rows)}</table>"
    )


def versions(packages: Sequence[str] = PACKAGES) -> str:
    """Name the installed versions that a result may depend on."""
    found = [f"Python {platform.python_version()}", platform.platform(terse=True)]
    for package in packages:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def training_text(config: TrainConfig, metrics: dict[str, np.ndarray]) -> str:
    """Say in a sentence what was trained, and for how long."""
    rounds = "updates" if config.algo == "ppo" else "generations"
    agent = config.policy if config.core is None else f"{config.policy} with core {config.core}"
    return (
        f"<p>{html.escape(str(agent))} trained by {html.escape(config.algo)} for "
        f"{int(metrics['timesteps'][-1]):,} environment steps in "
        f"{len(metrics['timesteps'])} {rounds}, {np.nansum(metrics['seconds']):.0f} s, "
        f"seed {config.seed}.</p>"
    )


def film_text(config: TrainConfig) -> tuple[str, str]:
    """Return the heading over the film of a run, and the note under it."""
    if config.algo != "ppo":
        attends = "selector" in config.policy_kwargs
        note = ""
        if QUADRUPED in config.env:
            note = '<p class="note">In the corner what the robot sees.</p>'
        return ("What it attends to" if attends else "What it does"), note
    note = (
        "Under the view the last steps of its core, a row for each unit, with the present step at "
        "the right edge."
    )
    if config.core == "gatel0rd":
        note += " A unit of the latent state changes only in the steps in which its gate is open."
    return "What it remembers", f'<p class="note">{note}</p>'


def evaluation_notes(evaluations: Sequence[Evaluation]) -> str:
    """Explain what the tables of evaluations show."""
    notes = []
    if any(enough(evaluation) for evaluation in evaluations):
        notes.append("In brackets: 95 % bootstrap intervals of the mean.")
    if any("blind" in evaluation.returns for evaluation in evaluations):
        notes.append(
            "The blind agent is the trained one, fed the first frame of each episode only."
        )
    return f'<p class="note">{" ".join(notes)}</p>' if notes else ""


def write_report(run: Run) -> None:
    """Write ``report.html`` from whatever the run folder holds so far."""
    config = run.config()
    parts = [f"<h1>{html.escape(config.env)}</h1>"]
    trained_for = None
    if run.metrics_file.is_file():
        metrics = run.metrics()
        trained_for = int(metrics["timesteps"][-1])
        parts.append(training_text(config, metrics))
        cut = config.algo_kwargs.get("max_episode_steps")
        if cut is not None:
            parts.append(
                f'<p class="note">Episodes are cut at {cut} steps in training, so that its returns '
                "are smaller than those of the evaluation.</p>"
            )
    evaluations = load_evaluations(run)
    if evaluations:
        parts.append("<h2>Evaluation</h2>")
        parts.extend(evaluation_table(evaluation, trained_for) for evaluation in evaluations)
        parts.append(evaluation_notes(evaluations))
    if run.film_file.is_file():
        heading, note = film_text(config)
        parts.append(f"<h2>{heading}</h2>")
        parts.append(
            f'<video controls loop muted src="{embed(run.film_file, "video/mp4")}"></video>'
        )
        parts.append(note)
    if run.path_file.is_file():
        parts.append("<h2>Where it goes</h2>")
        parts.append(f'<img alt="ways from above" src="{embed(run.path_file, "image/png")}">')
    packages = PPO_PACKAGES if config.algo == "ppo" else PACKAGES
    write_page(run, config.env, [*parts, *origin(run, config.to_json(), packages)])


def origin(run: Run, fields: dict[str, Any], packages: Sequence[str]) -> list[str]:
    """Return the end of a page: the training curve, and what a run was made from."""
    parts: list[str] = []
    if run.curve_file.is_file():
        parts.append("<h2>Training</h2>")
        parts.append(f'<img alt="training curve" src="{embed(run.curve_file, "image/png")}">')
    parts.append("<h2>Made from</h2>")
    parts.append(f"<pre>{html.escape(json.dumps(fields, indent=2))}</pre>")
    parts.append(f'<p class="note">{html.escape(versions(packages))}</p>')
    return parts


def write_page(run: Run, env: str, parts: Sequence[str]) -> None:
    """Write parts of HTML as the page of a run."""
    title = html.escape(f"{run.path.name}: {env}")
    write_text(
        run.report_file,
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(parts)}\n</body></html>\n",
    )
