"""Charts as data: traces, bins and looks. ``report.js`` and ``print_charts`` draw them."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypedDict

import polars as pl

from corda_lab.report.palette import GROUP_COUNT
from corda_lab.steps.rows import QUANTILES, nearest_rank

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "triangle-down", "pentagon")

PATTERNS = ("", "/", ".", "x", "\\", "-", "|", "+")


class Look(TypedDict):
    colour: str
    dash: str
    symbol: str


def look_of(place: int) -> Look:
    """The look of the group with the number ``place``, from 0. Colours repeat with another dash and marker."""
    return {
        "colour": f"group-{place % GROUP_COUNT}",
        "dash": DASHES[place % len(DASHES)],
        "symbol": SYMBOLS[place % len(SYMBOLS)],
    }


BIN_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)

BIN_COUNT_MAX = 40

HISTOGRAM_BIN_COUNT = 40

MIB = 1024**2

INTERVAL_REACH_MAX = 2.0
"""An axis ends at this multiple of its largest value, even if an interval extends further."""

CUT = "Intervals that extend beyond the chart are in the table."


@dataclass(frozen=True)
class Trace:
    """A line, a set of bars or a cloud of dots. ``colour`` is a name in the palette of the page.

    ``y_low`` and ``y_high`` are the ends of the interval of each point, or None (the same for x). Points without an
    interval are drawn hollow (``hollow``). ``labels`` are shown on hover, ``texts`` always.
    """

    name: str
    colour: str
    x: Sequence[float | str | None]
    y: Sequence[float | None]
    kind: str = "line"
    dash: str = "solid"
    symbol: str | None = None
    pattern: str | None = None
    y_low: Sequence[float | None] | None = None
    y_high: Sequence[float | None] | None = None
    x_low: Sequence[float | None] | None = None
    x_high: Sequence[float | None] | None = None
    hollow: Sequence[bool] | None = None
    labels: Sequence[str] | None = None
    texts: Sequence[str] | None = None
    panel: int | None = None
    is_in_legend: bool | None = None


@dataclass(frozen=True)
class Mark:
    """A line across a chart, with a text: at a quantile of x, at the mean of y in the window, or at a level of y."""

    kind: Literal["quantile", "mean", "level"]
    value: float
    text: str


@dataclass(frozen=True)
class Chart:
    """One chart. The page has everything that it needs to draw it.

    ``width`` is "wide" for the whole page, "third" for a third of it, and empty for half of it. ``axis`` is that of x:
    linear, zero (linear from zero), log or category. ``panels`` has the y titles of several charts on one time axis;
    ``Trace.panel`` is the number of its panel.
    """

    id: str
    title: str
    caption: str
    y_title: str
    traces: list[Trace]
    x_title: str = "seconds since the load began"
    is_over_time: bool = True
    width: str = ""
    marks: Sequence[Mark] = ()
    axis: str = "linear"
    ticks: Sequence[float] | None = None
    is_stacked: bool = False
    panels: Sequence[str] = ()
    is_y_from_zero: bool = True
    x_max: float | None = None
    y_max: float | None = None
    """The end of an axis that an interval would make too long; None if the data decide."""

    def as_dict(self) -> dict[str, Any]:
        content = asdict(self)
        content["traces"] = [
            {name: value for name, value in trace.items() if value is not None} for trace in content["traces"]
        ]
        return content


def bounded(chart: Chart) -> Chart:
    """The chart, whose axes end at ``INTERVAL_REACH_MAX`` times their largest value if an interval extends further."""
    x_max = _axis_max([(trace.x, trace.x_high) for trace in chart.traces])
    y_max = _axis_max([(trace.y, trace.y_high) for trace in chart.traces])
    if x_max is None and y_max is None:
        return chart
    return replace(chart, x_max=x_max, y_max=y_max, caption=f"{chart.caption} {CUT}")


def _axis_max(drawn: Iterable[tuple[Sequence[Any], Sequence[float | None] | None]]) -> float | None:
    known = [(values, [high for high in highs or () if high is not None]) for values, highs in drawn]
    reach = max((high for _, highs in known for high in highs), default=0.0)
    if not reach:
        return None
    limit = INTERVAL_REACH_MAX * max(value for values, _ in known for value in values if value is not None)
    return limit if reach > limit > 0 else None


def bin_seconds(total_seconds: float, *, at_least: int = 1, count_max: int = BIN_COUNT_MAX) -> int:
    """The smallest width in ``BIN_SECONDS`` that gives at most ``count_max`` bins; the largest if none does."""
    fitting = [width for width in BIN_SECONDS if width >= at_least and total_seconds / width <= count_max]
    return fitting[0] if fitting else BIN_SECONDS[-1]


def rates(times: pl.Series, total_seconds: float, width: int) -> tuple[list[float], list[float]]:
    """The middle of each bin, and the events per second in it. ``times`` are seconds from the begin of the first bin.

    The last bin may be shorter.
    """
    counts = dict((times / width).floor().cast(pl.Int64).value_counts().iter_rows())
    x, y = [], []
    for place in range(math.ceil(total_seconds / width)):
        length = min(width, total_seconds - place * width)
        # A very short bin at the end would show an extreme rate.
        if length >= width / 2:
            x.append(place * width + length / 2)
            y.append(counts.get(place, 0) / length)
    return x, y


def rounded(values: Iterable[float | None], digits: int = 3) -> list[float | None]:
    return [None if value is None else round(value, digits) for value in values]


def histogram(latency: pl.Series, name: str, title: str, caption: str, unit: str) -> Chart:
    """The histogram of ``latency``, in milliseconds and sorted, with marks at p50, p95 and p99."""
    traces = []
    if not latency.is_empty():
        low, high = float(latency[0]), float(latency[-1])
        width = max((high - low) / HISTOGRAM_BIN_COUNT, 0.001)
        index = ((latency - low) / width).floor().cast(pl.Int64).clip(0, HISTOGRAM_BIN_COUNT - 1)
        counts = index.value_counts().sort(index.name)
        x = [round(low + (place + 0.5) * width, 3) for place in counts[index.name]]
        traces.append(Trace(unit, "main", x, [float(count) for count in counts["count"]], kind="bars"))
    marks = [
        Mark("quantile", round(nearest_rank(latency, QUANTILES[quantile]), 1), quantile)
        for quantile in ("p50", "p95", "p99")
        if not latency.is_empty()
    ]
    return Chart(name, title, caption, unit, traces, x_title="ms", is_over_time=False, marks=marks)


def to_script(value: Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
