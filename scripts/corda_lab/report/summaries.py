"""The files beside a report: ``summary.md`` for a pull request, ``summary.csv`` (a row per point), ``summary.json``."""

import csv
import io
import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl

from corda_lab.analysis import conclusions, saturation, significance
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.notes import Note
from corda_lab.analysis.points import Point, known_metrics, measured_metrics, points
from corda_lab.analysis.values import shown, with_interval
from corda_lab.knobs import shape as knobs
from corda_lab.report import run as report_run
from corda_lab.report import sweep as report_sweep
from corda_lab.report import tables
from corda_lab.report.facts import NOTE_TITLES, machines
from corda_lab.results.folders import SCHEMA
from corda_lab.results.stored import StoredRun
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.entry import NOT_ANSWERED
from corda_lab.steps.rows import ERRORS_SHOWN_MAX, error_words, grouped_errors


def writers(run: StoredRun) -> dict[str, Callable[[], str]]:
    """The names of the files, each with a function that makes its text."""
    return {
        "summary.md": partial(markdown, run),
        "summary.csv": partial(table, run),
        "summary.json": partial(data, run),
    }


def conclusions_of(run: StoredRun) -> tuple[str, list[str], list[Note]]:
    if not run.is_sweep:
        step = run.steps[0]
        notes = [Note("failed", str(reason)) for reason in step.verdict.reasons]
        notes += [
            Note("error", error_words(kind))
            for kind in grouped_errors([*step.failures, *step.unknown_outcomes])[:ERRORS_SHOWN_MAX]
        ]
        notes += [Note("invalid", str(reason)) for reason in step.validity.reasons]
        notes += [Note("warning", str(flag)) for flag in step.flags]
        return report_run.headline(step), report_run.sentences(step), notes
    samples = run.table("metrics").filter(pl.col("name").is_in(saturation.SERIES))
    found = conclusions.conclude(run, points(run), samples)
    return found.headline, [f"**{name}:** {text}" for name, text in found.sentences], found.notes


def note_words(note: Note) -> str:
    """A note with its kind in front: ``Failed: no flow was completed``."""
    return f"{NOTE_TITLES[note.kind]}: {note.text}"


def markdown(run: StoredRun) -> str:
    headline, sentences, notes = conclusions_of(run)
    environment = run.environment(run.steps[0])
    lines = [f"### {run.identity}", "", headline, "", *(f"- {text}" for text in sentences)]
    lines += [f"- ⚠ {note_words(note)}" for note in notes]
    metrics = known_metrics(points(run))
    titles = [METRICS[name].title.removeprefix("latency ") for name in metrics]
    rows = []
    for point in points(run):
        broke = f", {len(point.broken)} broke" if point.broken else ""
        valid = f"{len(point.valid)} of {len(point.steps)}{broke}"
        rows.append([point.label, *(with_interval(point, name) for name in metrics), valid])
    lines += tables.markdown(("point", *titles, "valid steps"), rows)
    is_compared = run.is_sweep and not run.sweep.find_max
    if differences := report_sweep.difference_rows(significance.judge(run, points(run))) if is_compared else []:
        columns = ("point", "compared with", "ratio (interval)", "p", "n", "verdict")
        lines += tables.markdown(columns, [list(row.values()) for row in differences])
    lines += tables.trends_markdown(run)
    shapes = knobs.describe_all([one.shape for one in run.manifest.environments])
    lines += [
        "",
        f"{shapes}. Commit {environment.git.words}. {machines(environment)}.",
        "",
        f"`{run.manifest.command}`",
    ]
    return "\n".join(lines) + "\n"


def names(run: StoredRun) -> list[str]:
    return list(dict.fromkeys(name for point in points(run) for name in point.values))


def table(run: StoredRun) -> str:
    """The summary as CSV: one row per point, latencies in milliseconds, rates per second. Missing values are empty."""
    parameters = names(run)
    columns_of = {name: column_of(name) for name in measured_metrics(points(run))}
    rows = []
    for point in points(run):
        row: dict[str, Any] = {
            "run": run.identity,
            "workload": point.workload,
            "phase": point.phase,
            "label": point.label,
            **{name: point.values.get(name, "") for name in parameters},
            "steps": len(point.steps),
            "steps_valid": len(point.valid),
            "steps_unsteady": len(point.valid) - len(point.steady),
            "steps_broke": len(point.broken),
            "failed": sum(step.requests.failed for step in point.steps),
            "unknown": sum(step.requests.unknown for step in point.steps),
        }
        for name, column in columns_of.items():
            estimate = point.estimate(name)
            for end, value in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high)):
                row[f"{column}{end}"] = _cell_of(value)
        rows.append({**row, "confidence": CONFIDENCE})
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


UNIT_SUFFIXES = {"ms": "_ms", "flows/s": "_per_second", "states/s": "_per_second", "s": "_seconds"}


def column_of(name: str) -> str:
    """The column of a metric in ``summary.csv``. It ends in the unit, unless its name has the unit already."""
    suffix = UNIT_SUFFIXES.get(METRICS[name].unit, "")
    return name if "seconds" in name else f"{name}{suffix}"


def _cell_of(value: float | None) -> str:
    if value is None:
        return ""
    return NOT_ANSWERED if math.isinf(value) else f"{value:.6g}"


def data(run: StoredRun) -> str:
    headline, sentences, notes = conclusions_of(run)
    content = {
        "schema": SCHEMA,
        "id": run.identity,
        "kind": run.manifest.kind,
        "command": run.manifest.command,
        "headline": headline,
        "sentences": sentences,
        "notes": [note_words(note) for note in notes],
        "points": [point_data(point) for point in points(run)],
        "trends": tables.trends_data(run),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def point_data(point: Point) -> dict[str, Any]:
    return {
        "label": point.label,
        "workload": point.workload,
        "phase": point.phase,
        "point": point.values,
        "steps": [step.index for step in point.steps],
        "steps_valid": [step.index for step in point.valid],
        "steps_broke": {str(step.index): step.broke for step in point.broken},
        "steps_unsteady": [step.index for step in point.valid if step.unsteady],
        "confidence": CONFIDENCE,
        "values": conclusions.values_of(point),
        "shown": {name: shown(point.estimate(name).value, name) for name in measured_metrics([point])},
    }
