"""Charts as data: traces, bins, looks, and the script that draws them."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypedDict

import polars as pl

from corda_lab.report.palette import GROUP_COUNT
from corda_lab.steps.rows import QUANTILES, nearest_rank

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "triangle-down", "pentagon")


PATTERNS = ("", "/", ".", "x", "\\", "-", "|", "+")


class Look(TypedDict):
    """How a group is told from the others."""

    colour: str
    dash: str
    symbol: str


def look_of(place: int) -> Look:
    """Colour, dash and marker of the group at a place; more groups than colours repeat these, dashed and marked differently."""
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
"""An axis ends at this multiple of its largest figure where an interval reaches further."""


CUT = "Intervals that leave the chart are in the table."


@dataclass(frozen=True)
class Trace:
    """One line, set of bars or cloud of dots. ``colour`` names a role in the page's palette.

    ``y_low`` to ``y_high`` (and for x) is the interval around each point, None where it has none. A point without an
    interval is drawn hollow (``hollow``). ``labels`` are shown when the reader points at a point, ``texts`` always.
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
class Chart:
    """What the page needs to draw one chart.

    ``width``: "wide" for the whole page, "third" for a third of it, else a half. ``axis`` of x: linear, zero (linear
    from zero), log or category.
    ``panels`` are the y titles of several charts over one time axis; a trace names its own by number.
    """

    id: str
    title: str
    caption: str
    y_title: str
    traces: list[Trace]
    x_title: str = "seconds since the load began"
    is_over_time: bool = True
    width: str = ""
    marks: list[dict[str, Any]] = field(default_factory=list)
    axis: str = "linear"
    ticks: Sequence[float] | None = None
    is_stacked: bool = False
    panels: Sequence[str] = ()
    is_y_from_zero: bool = True
    x_max: float | None = None
    y_max: float | None = None
    """Where an axis ends that intervals would stretch."""

    def as_dict(self) -> dict[str, Any]:
        """The chart as JSON has it; what a trace does not have is left out."""
        content = asdict(self)
        content["traces"] = [
            {name: value for name, value in trace.items() if value is not None} for trace in content["traces"]
        ]
        return content


def bounded(chart: Chart) -> Chart:
    """The chart with axes that end at twice their largest figure where an interval reaches further: of two repeats it may be
    a hundred times as wide, and the curve would be a line at the bottom."""
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


def bin_seconds(total_seconds: float, *, at_least: int = 1) -> int:
    """Smallest handy width of a bin with which the run has not too many."""
    fitting = [width for width in BIN_SECONDS if width >= at_least and total_seconds / width <= BIN_COUNT_MAX]
    return fitting[0] if fitting else BIN_SECONDS[-1]


def rounded(values: Iterable[float | None], digits: int = 3) -> list[float | None]:
    """Fewer digits make a smaller file."""
    return [None if value is None else round(value, digits) for value in values]


def histogram(latency: pl.Series, name: str, title: str, caption: str, unit: str) -> Chart:
    """How many took how long, in milliseconds; ``latency`` is sorted."""
    traces = []
    if not latency.is_empty():
        low, high = float(latency[0]), float(latency[-1])
        width = max((high - low) / HISTOGRAM_BIN_COUNT, 0.001)
        index = ((latency - low) / width).floor().cast(pl.Int64).clip(0, HISTOGRAM_BIN_COUNT - 1)
        counts = index.value_counts().sort(index.name)
        x = [round(low + (place + 0.5) * width, 3) for place in counts[index.name]]
        traces.append(Trace(unit, "main", x, [float(count) for count in counts["count"]], kind="bars"))
    marks = [
        {"kind": "quantile", "value": round(nearest_rank(latency, QUANTILES[quantile]), 1), "text": quantile}
        for quantile in ("p50", "p95", "p99")
        if not latency.is_empty()
    ]
    return Chart(name, title, caption, unit, traces, x_title="ms", is_over_time=False, marks=marks)


def to_script(value: Any) -> str:
    """JSON that can stand inside a script element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
