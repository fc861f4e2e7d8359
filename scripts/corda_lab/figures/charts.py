"""The charts of a figure: as published, as measured here, and both in one."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from corda_lab.figures.curves import Curve, PublishedChart, measured, normalised, published_charts
from corda_lab.figures.judge import Judged
from corda_lab.figures.metrics import metric_of, unit_of
from corda_lab.report.chart import Axis, Chart, Look, bounded, look_of
from corda_lab.report.charts_sweep import points_frame
from corda_lab.steps.parameters import value_words
from corda_lab.text.words import parameter_name, plural

LOG_FROM = 100
"""An axis of x is logarithmic if the largest x is at least this many times the smallest."""


def published(judged: Judged) -> list[Chart]:
    """Return the published curves in their own units, a chart for each pair of axes."""
    return [_published(place, one) for place, one in enumerate(published_charts(judged.figure))]


def _published(place: int, one: PublishedChart) -> Chart:
    return Chart(
        f"published-{place}",
        f"Published: {one.y}",
        f"On {'; '.join(one.hardware)}." if one.hardware else "On hardware that the source does not name.",
        one.unit,
        *_drawn(one.curves),
        x_title=one.x,
        axis=_axis(one.curves),
    )


def here(judged: Judged) -> Chart:
    """Return the curves that were measured here."""
    chart = judged.figure.fields.chart
    curves = measured(judged.figure, judged.repeats)
    metric = metric_of(chart.y)
    n = plural(len(judged.repeats), "repeat")
    return bounded(
        Chart(
            "here",
            f"Here: {metric.title if metric else chart.y}",
            f"Means of {n} with their 95 % intervals." if curves else "Not measured yet.",
            unit_of(chart.y),
            *_drawn(curves),
            x_title=chart.x_title or parameter_name(chart.x),
            axis=_axis(curves),
        )
    )


def is_drawn(judged: Judged) -> bool:
    """Return whether there is anything of ours to draw: a value of the chart, by today's definition."""
    return bool(measured(judged.figure, judged.repeats))


def shown(judged: Judged) -> str:
    """Return what the picture of a figure shows; empty if there is nothing of ours to draw."""
    if not is_drawn(judged):
        return ""
    return "Published and measured curves" if has_published(judged) else "Measured curves"


def has_published(judged: Judged) -> bool:
    """Return whether published values stand beside ours."""
    return normalised(judged.figure, judged.repeats).has_published


def both(judged: Judged) -> Chart:
    """Return all curves in one chart, each divided by its value at the anchor."""
    chart = judged.figure.fields.chart
    found = normalised(judged.figure, judged.repeats)
    at = ", ".join(filter(None, (value_words(name, value) for name, value in chart.anchor.items())))
    x = chart.x_title or parameter_name(chart.x)
    missing = "" if found.has_published else " The published values are of another kind, or have other x."
    by_peak = f" {x.capitalize()} are divided by the highest throughput of the same curve." if found.is_by_peak else ""
    named = [replace(one, name=": ".join(filter(None, (one.origin, one.name)))) for one in found.curves]
    return bounded(
        Chart(
            "both",
            f"Both, each divided by its value at {at}",
            f"Every curve is 1 at {at}, ours within each repeat; without a value there, it is divided by that of "
            f"another curve or by its own first value.{by_peak}{missing}",
            f"× the value at {at}",
            *_drawn(named),
            x_title=f"{x} ÷ own peak in flows/s" if found.is_by_peak else x,
            width="wide",
            axis=_axis(found.curves),
        )
    )


def _drawn(curves: Sequence[Curve]) -> tuple[pl.DataFrame, dict[str, Look]]:
    """Return the points of curves, and how each is drawn: published ones dashed, with nothing between categories."""
    is_category = _axis(curves) == "category"
    rows = [
        {
            "series": curve.name,
            "x": str(dot.x) if is_category else float(dot.x),
            "y": _rounded(dot.y),
            "low": _rounded(dot.low),
            "high": _rounded(dot.high),
            # A published value has no interval, which is not a fault of the measurement here.
            "is_hollow": curve.origin == "here" and dot.low is None,
        }
        for curve in curves
        for dot in curve.dots
    ]
    looks = {
        curve.name: replace(
            look_of(place, "points" if curve.has_numbers else "single"),
            dash="dash" if curve.origin == "published" else "solid",
        )
        for place, curve in enumerate(curves)
    }
    return points_frame(rows, is_category=is_category), looks


def _rounded(value: float | None) -> float | None:
    """Return a value with as many digits as are the same on every machine."""
    return None if value is None else float(f"{value:.6g}")


def _axis(curves: Sequence[Curve]) -> Axis:
    xs = [dot.x for curve in curves for dot in curve.dots]
    numbers = [float(x) for x in xs if not isinstance(x, str)]
    if len(numbers) < len(xs):
        return "category"
    is_wide = bool(numbers) and min(numbers) > 0 and max(numbers) >= LOG_FROM * min(numbers)
    return "log" if is_wide else "zero"
