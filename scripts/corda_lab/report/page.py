"""The report of a run or a sweep: ``report.html``, one file that opens offline, and the summaries beside it.

Everything is made from the stored files of the run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab import atomic
from corda_lab.analysis.conclusions import Analysis, failures
from corda_lab.analysis.metrics import COMPARED, METRICS
from corda_lab.analysis.points import known_metrics
from corda_lab.errors import LabError
from corda_lab.node_logs import model as node_logs
from corda_lab.report import (
    charts,
    charts_sweep,
    commands,
    drawing,
    facts,
    palette,
    rendering,
    tables,
    waterfall,
)
from corda_lab.report.chart import Chart
from corda_lab.results import folders, profiles, stored
from corda_lab.results.stored import StoredRun
from corda_lab.results.sweep_parts import NO_CONDITION
from corda_lab.steps.build import warm_up_words
from corda_lab.steps.bursts import CLOCKS
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.parameters import STEP
from corda_lab.steps.rows import counted, grouped_errors, timed_within
from corda_lab.text.words import STAGE_MEANINGS, plural

PRINTED = ("throughput", "latency-histogram", "latency-ecdf")
"""Ids of the charts of a single run that are drawn for papers. A sweep has its search, curves and breakdowns."""
AUDIT_STATES = {"passed": "good", "violations": "bad", "cannot tell": "warning"}
MORE_FILES = (
    "samples.parquet",
    "stages.parquet",
    "spans.parquet",
    "drops.parquet",
    "audit.json",
    "logs/",
    "profiles/",
)


def html(template: str, content: Mapping[str, Any]) -> str:
    """Render a template. Style, script and pictures are embedded, so the page is a single file."""
    style = palette.css() + rendering.text_of("report.css")
    return rendering.template(template, {"svg": drawing.svg}).render(
        **content, style=style, script=rendering.text_of("report.js")
    )


def render(folder: Path) -> Path:
    """Write the report and the summaries of a run, each atomically; return the path of the report. Raises LabError."""
    analysis = Analysis(stored.read(folder))
    # All texts are made before the first file is replaced, so an error leaves the old files untouched.
    try:
        texts = {"report.html": page(analysis), **tables.texts(analysis)}
    except pl.exceptions.PolarsError as error:
        # Such as a table that lacks a column.
        raise LabError(f"{folder}: its tables are not those of its steps ({error})", folders.DAMAGED) from error
    for name, text in texts.items():
        atomic.write_text(folder / name, text)
    return folder / "report.html"


def page(analysis: Analysis) -> str:
    run = analysis.run
    own = sweep_content(analysis) if run.is_sweep else run_content(analysis)
    return html(
        "sweep.html" if run.is_sweep else "run.html",
        {
            "analysis": analysis,
            "audit_states": AUDIT_STATES,
            "run": run.manifest,
            "badge": badge(analysis),
            "cost_hints": list(tables.cost_hints(run, analysis.points)),
            "cost_rows": list(tables.cost_rows(analysis.points)),
            "cost_titles": [METRICS[name].title for name in tables.COSTS],
            "environments": facts.environments(run),
            "facts": facts,
            "files": [name for name in MORE_FILES if any(run.folder.glob(f"steps/*/{name.rstrip('/')}"))],
            "logs": node_logs.section(run.folder),
            "stage_meanings": STAGE_MEANINGS,
            "trend_rows": {
                index: [tables.trend_row(trend) for trend in trends] for index, trends in analysis.trends.items()
            },
            "trend_titles": tables.TREND_TITLES,
            "difference_titles": tables.DIFFERENCE_TITLES,
            "up_command": commands.up,
            **own,
        },
    )


def printed_charts(run: StoredRun) -> list[Chart]:
    """The main charts of a report."""
    analysis = Analysis(run)
    if not run.is_sweep:
        return [chart for chart in charts.run_charts(analysis) if chart.id in PRINTED and not chart.is_empty]
    drawn = [*charts_sweep.search_path(analysis), *charts_sweep.curves(analysis), *charts_sweep.breakdowns(analysis)]
    return [chart for chart in drawn if not chart.is_empty]


def badge(analysis: Analysis) -> tuple[str, str]:
    """Whether steps failed, are invalid or have warnings: the state, and its words."""
    run, steps = analysis.run, analysis.run.steps
    failed, valid = sum(bool(failures(step)) for step in steps), [step for step in steps if step.validity.valid]
    warned = sum(bool(step.flags) for step in valid)
    if not run.is_sweep:
        words = "failed" if failed else "passed, but invalid" if not valid else "passed"
        return "bad" if failed else "good" if valid and not warned else "warning", words + ", with warnings" * warned
    if failed:
        return "bad", f"{failed} of {plural(len(steps), 'step')} failed"
    if analysis.searches and not all(search.rate for search in analysis.searches):
        return "bad", "no rate was confirmed"
    is_good = len(valid) == len(steps)
    words = "every step is valid" if is_good else f"{len(valid)} of {plural(len(steps), 'step')} are valid"
    broke = sum(step.outcome == "broke" for step in steps)
    words += (f", {broke} of them broke" if broke else "") + (f", {warned} with warnings" if warned else "")
    return "good" if is_good and not warned else "warning", words


# A single run.


def run_content(analysis: Analysis) -> dict[str, Any]:
    run, (step,) = analysis.run, analysis.run.steps
    return {
        "step": step,
        "audit": analysis.audits.get(step.index),
        "charts": charts.run_charts(analysis),
        "clocks": CLOCKS,
        "errors": grouped_errors([*step.failures, *step.unknown_outcomes]),
        "expected_failures": grouped_errors(step.expected_failures),
        "metrics": {name: METRICS[name].of(step) for name in COMPARED},
        "late_max_seconds": step.load.of_model("late_max_seconds"),
        "profiles": [(entry, profiles.read(run.folder, entry)) for entry in run.manifest.profiles],
        "profile_words": profiles,
        "warm_up_words": warm_up_words,
        "values": tables.values_by_node(step),
        "waterfalls": waterfall.of_run(analysis),
        "clock_note": waterfall.CLOCK,
        **_traces(analysis),
    }


def _traces(analysis: Analysis) -> dict[str, Any]:
    """What the traced requests of the window waited for, and the own time of spans on each node."""
    run, (step,), spans = analysis.run, analysis.run.steps, analysis.spans
    requests = timed_within(counted(analysis.requests, step.load.flows_after), charts.window_of(step))
    return {
        # What one host waited for on another needs one clock.
        "waits": []
        if run.environment(step).placement
        else waterfall.waits(requests, spans, step.judged_latency_column),
        "self_times": waterfall.self_times(requests, spans).to_dicts(),
        "label": waterfall.label,
    }


# A sweep.


def sweep_content(analysis: Analysis) -> dict[str, Any]:
    run = analysis.run
    rows = run.table("requests", charts_sweep.ROW_COLUMNS)
    of_step, nothing = charts_sweep.by_step(rows), rows.clear()
    steps = sorted(run.steps, key=lambda step: step.index)
    return {
        "sweep": run.sweep,
        "steps": steps,
        "began_at": charts_sweep.origin_of(run),
        "curves": [*charts_sweep.search_path(analysis), *charts_sweep.curves(analysis)],
        "over_time": charts_sweep.over_the_run(run, rows, analysis.metrics),
        "breakdown": charts_sweep.breakdowns(analysis),
        "step_charts": {step.index: charts_sweep.step_charts(step, of_step.get(step.index, nothing)) for step in steps},
        "compared": known_metrics(analysis.points),
        "differences": [] if analysis.searches else [tables.difference_row(pair) for pair in analysis.judged.shown],
        "metrics": METRICS,
        "values": tables.values_by_point(analysis.points),
        "run_command": lambda step: run_command(run, step),
        "grouped_errors": grouped_errors,
    }


def run_command(run: StoredRun, step: StepEntry) -> str:
    """The command that runs the load of a step again, on nodes that are as warm as they were."""
    named = {planned.name: planned.measure for planned in run.sweep.steps or ()}
    is_timed = isinstance(named.get(str(step.point.get(STEP))) or run.sweep.measure, float)
    shows_warming = step.warm_up.seconds_max == 0 and is_timed
    is_conditioned = run.sweep.condition != NO_CONDITION and not shows_warming
    return commands.run(step) + (" --condition" if is_conditioned else "")
