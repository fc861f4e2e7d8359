"""The report of a run or a sweep: ``report.html``, one file that opens offline, and the summaries beside it.

Everything is made from the stored files of the run.
"""

import importlib.resources
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.report import chart, palette, rendering, summaries, sweep
from corda_lab.report import run as report_run
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun


def plotly_js() -> str:
    return (importlib.resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def html(template: str, content: Mapping[str, Any]) -> str:
    """Render a template. Style, script and Plotly.js are embedded, so the page is a single file."""
    return rendering.template(template).render(
        **{**content, "data": chart.to_script(content["data"])},
        plotly=plotly_js(),
        style=palette.css() + rendering.text_of("report.css"),
        script=rendering.text_of("report.js"),
    )


def page(run: StoredRun) -> str:
    if run.is_sweep:
        return html("sweep.html", {"run": run.manifest, **sweep.content(run)})
    return html("run.html", {"run": run.manifest, **report_run.content(run)})


def render(folder: Path) -> Path:
    """Write the report and the summaries of a run, each atomically; return the path of the report. Raises LabError."""
    run = stored.read(folder)
    texts: dict[str, Callable[[], str]] = {"report.html": partial(page, run), **summaries.writers(run)}
    # All texts are made before the first file is replaced, so an error leaves the old files untouched.
    try:
        made = {name: make() for name, make in texts.items()}
    except pl.exceptions.PolarsError as error:
        # Such as a table that lacks a column.
        raise LabError(f"{folder}: its tables are not those of its steps ({error})", folders.DAMAGED) from error
    for name, text in made.items():
        atomic.write_text(folder / name, text)
    return folder / "report.html"
