"""The files beside a report: ``summary.md`` for a pull request, ``summary.csv`` (a row per point), ``summary.json``."""

import csv
import io
import json
import math
from dataclasses import asdict
from typing import Any

from corda_lab.analysis.conclusions import Analysis
from corda_lab.analysis.metrics import METRICS
from corda_lab.analysis.points import Estimate, Point, known_metrics, measured_metrics
from corda_lab.analysis.significance import PointComparison
from corda_lab.analysis.values import ratio_words, shown, with_interval
from corda_lab.knobs import shape as knobs
from corda_lab.report import tables
from corda_lab.report.facts import machines
from corda_lab.results.folders import SCHEMA
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.text.words import NOT_ANSWERED

UNIT_SUFFIXES = {"ms": "_ms", "flows/s": "_per_second", "states/s": "_per_second", "s": "_seconds"}


def texts(analysis: Analysis) -> dict[str, str]:
    """The files by their names."""
    return {"summary.md": markdown(analysis), "summary.csv": table(analysis), "summary.json": data(analysis)}


def markdown(analysis: Analysis) -> str:
    run, points = analysis.run, analysis.points
    names = known_metrics(points)
    lines = [f"### {run.identity}", "", analysis.headline, "", *(f"- Limit: {text}" for text in analysis.limits)]
    lines += [f"- ⚠ {note.title}: {note}" for note in analysis.notes]
    rows = []
    for point in points:
        broke = f", {len(point.broken)} broke" if point.broken else ""
        values = (with_interval(point, name) for name in names)
        rows.append([point.label, *values, f"{len(point.valid)} of {len(point.steps)}{broke}"])
    titles = [METRICS[name].title.removeprefix("latency ") for name in names]
    lines += tables.markdown(("point", *titles, "valid steps"), rows)
    if run.is_sweep and not analysis.searches and analysis.judged.shown:
        columns = ("point", "compared with", "ratio (interval)", "p", "n", "verdict")
        lines += tables.markdown(columns, [difference_row(pair) for pair in analysis.judged.shown])
    labels_of = {step.index: step.label or step.workload for step in run.steps}
    for index, trends in analysis.trends.items():
        lines += ["", f"**Trends over step {index}:** {labels_of[index]}"]
        lines += tables.markdown(tables.TREND_TITLES, [tables.trend_row(trend) for trend in trends])
    environment = run.environment(run.steps[0])
    shapes = knobs.describe_all([known.shape for known in run.manifest.environments])
    lines += ["", f"{shapes}. Commit {environment.git.words}. {machines(environment)}."]
    lines += ["", f"`{run.manifest.command}`"]
    return "\n".join(lines) + "\n"


def difference_row(pair: PointComparison) -> list[str]:
    """The point, the one that it is compared with, ratio, p, repeats of both, and verdict."""
    known = pair.difference
    p = "–" if known is None or known.p_value is None else f"{known.p_value:.3g}"
    repeats = "–" if known is None else f"{known.n_b} / {known.n_a}"
    return [pair.second.label, pair.first.label, ratio_words(pair), p, repeats, pair.verdict]


def table(analysis: Analysis) -> str:
    """The summary as CSV: one row per point, latencies in milliseconds, rates per second. Missing values are empty."""
    parameters = list(dict.fromkeys(name for point in analysis.points for name in point.values))
    names = measured_metrics(analysis.points)
    rows: list[dict[str, Any]] = []
    for point in analysis.points:
        row: dict[str, Any] = {
            "run": analysis.run.identity,
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
        for name in names:
            estimate, column = point.estimate(name), column_of(name)
            ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
            row |= {f"{column}{end}": _cell(value) for end, value in ends.items()}
        rows.append(row)
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def column_of(name: str) -> str:
    """The column of a metric in ``summary.csv``. It ends in the unit, unless its name has the unit already."""
    return name if "seconds" in name else f"{name}{UNIT_SUFFIXES.get(METRICS[name].unit, '')}"


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return NOT_ANSWERED if math.isinf(value) else f"{value:.6g}"


def data(analysis: Analysis) -> str:
    run = analysis.run
    content = {
        "schema": SCHEMA,
        "id": run.identity,
        "kind": run.manifest.kind,
        "command": run.manifest.command,
        "headline": analysis.headline,
        "limits": analysis.limits,
        "notes": [asdict(note) for note in analysis.notes],
        "points": [point_data(point) for point in analysis.points],
        "trends": [
            {"step": index, **asdict(trend), "mean": trend.mean, "direction": trend.direction}
            for index, trends in analysis.trends.items()
            for trend in trends
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def point_data(point: Point) -> dict[str, Any]:
    """A point with every value that it has, its interval, its number of valid steps and its unit, by metric.

    ``steady`` is the same without the unsteady steps, if there are some.
    """
    values = {}
    for name in measured_metrics([point]):
        steady = point.steady_estimate(name)
        values[name] = {
            **estimate_data(point.estimate(name)),
            "unit": METRICS[name].unit,
            **({"steady": estimate_data(steady)} if steady else {}),
        }
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
        "values": values,
        "shown": {name: shown(point.estimate(name).value, name) for name in values},
    }


def estimate_data(estimate: Estimate) -> dict[str, Any]:
    """An estimate, with a text for an infinite value."""
    return {**asdict(estimate), "value": NOT_ANSWERED if estimate.value == math.inf else estimate.value}
