"""One self-contained page about a run: what it is, how well it does, its curve and its film."""

from __future__ import annotations

import base64
import html
import json
import platform
from importlib import metadata
from pathlib import Path

from iap_gym._files import write_text
from iap_gym.baselines.experiments.evaluate import Evaluation, load_evaluations
from iap_gym.baselines.experiments.run import Run

PACKAGES = ("iap-gym", "gymnasium", "numpy", "torch", "dm_control", "mujoco")

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


def evaluation_table(evaluation: Evaluation) -> str:
    """Lay an evaluation out as an HTML table."""
    where = f" on <b>{html.escape(evaluation.split)}</b> backgrounds" if evaluation.split else ""
    rows = []
    for kind in evaluation.returns:
        difference = "" if kind == "trained" else str(evaluation.difference(kind))
        rows.append(
            f'<tr class="{kind}"><td>{kind}</td><td>{evaluation.mean(kind)}</td>'
            f"<td>{difference}</td></tr>"
        )
    return (
        f"<p>{len(evaluation.seeds)} episodes{where}, the same for every agent.</p>"
        "<table><tr><th>agent</th><th>mean return</th><th>trained minus it</th></tr>"
        f"{''.join(rows)}</table>"
    )


def versions() -> str:
    """Name the installed versions that a result may depend on."""
    found = [f"Python {platform.python_version()}", platform.platform(terse=True)]
    for package in PACKAGES:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


def write_report(run: Run) -> None:
    """Write ``report.html`` from whatever the run folder holds so far."""
    config = run.config()
    parts = [f"<h1>{html.escape(config.env)}</h1>"]
    metrics = run.metrics() if run.metrics_file.is_file() else None
    if metrics is not None:
        parts.append(
            f"<p>{html.escape(config.policy)} trained by {html.escape(config.algo)} for "
            f"{int(metrics['timesteps'][-1]):,} environment steps in "
            f"{len(metrics['timesteps'])} generations, {metrics['seconds'].sum():.0f} s, "
            f"seed {config.seed}.</p>"
        )
        cut = config.algo_kwargs.get("max_episode_steps")
        if cut is not None:
            parts.append(
                f'<p class="note">Episodes are cut at {cut} steps in training, so that its returns '
                "are smaller than those of the evaluation.</p>"
            )
    evaluations = load_evaluations(run)
    if evaluations:
        parts.append("<h2>Evaluation</h2>")
        parts.extend(evaluation_table(evaluation) for evaluation in evaluations)
        parts.append(
            '<p class="note">In brackets: 95 % bootstrap intervals of the mean. The blind agent is '
            "the trained one, fed the first frame of each episode only.</p>"
        )
    if run.film_file.is_file():
        parts.append("<h2>What it attends to</h2>")
        parts.append(
            f'<video controls loop muted src="{embed(run.film_file, "video/mp4")}"></video>'
        )
    if run.curve_file.is_file():
        parts.append("<h2>Training</h2>")
        parts.append(f'<img alt="training curve" src="{embed(run.curve_file, "image/png")}">')
    parts.append("<h2>Made from</h2>")
    parts.append(f"<pre>{html.escape(json.dumps(config.to_json(), indent=2))}</pre>")
    parts.append(f'<p class="note">{html.escape(versions())}</p>')
    title = html.escape(f"{run.path.name}: {config.env}")
    write_text(
        run.report_file,
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(parts)}\n</body></html>\n",
    )
