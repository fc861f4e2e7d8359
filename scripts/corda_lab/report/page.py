"""The report of a run or a sweep: ``report.html``, one file that opens offline, and the summaries beside it.

Everything is made from the stored files of the run.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab import atomic
from corda_lab.analysis.points import points
from corda_lab.errors import LabError
from corda_lab.report import charts_sweep, drawing, palette, rendering, summaries, sweep
from corda_lab.report import run as report_run
from corda_lab.report.chart import Chart
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun


def html(template: str, content: Mapping[str, Any]) -> str:
    """Render a template. Style, script and pictures are embedded, so the page is a single file."""
    style = palette.css() + rendering.text_of("report.css")
    return rendering.template(template, {"svg": drawing.svg}).render(
        **content, style=style, script=rendering.text_of("report.js")
    )


def page(run: StoredRun) -> str:
    if run.is_sweep:
        return html("sweep.html", {"run": run.manifest, **sweep.content(run)})
    return html("run.html", {"run": run.manifest, **report_run.content(run)})


PRINTED = ("throughput", "latency-histogram", "latency-ecdf")
"""Ids of the charts of a single run that are drawn for papers. A sweep has its search, curves and breakdowns."""


def printed_charts(run: StoredRun) -> list[Chart]:
    """The main charts of a report."""
    if not run.is_sweep:
        return [one for one in report_run.charts(run) if one.id in PRINTED and not one.is_empty]
    found = points(run)
    drawn = [*charts_sweep.searches(run), *charts_sweep.curves(run, found), *charts_sweep.breakdowns(found)]
    return [one for one in drawn if not one.is_empty]


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
