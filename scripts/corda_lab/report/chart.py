"""Charts: a frame of values with the looks of its series. ``drawing`` makes pictures of them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from corda_lab.report import palette

LOAD_SECONDS = "seconds since the load began"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
CURVE_SHAPES = ("circle", "square", "diamond", "triangle-up", "star", "triangle-down", "pentagon")
PATTERN_COUNT = 8
"""The patterns that tell bars apart beside their colour; the first is none."""

Mark = Literal["line", "area", "steps", "points", "single", "dots", "bars", "bins"]
"""``points`` are joined by a line, ``single`` ones are not; both may have intervals. ``bars`` stand on one another."""
Width = Literal["", "wide", "third"]
"""The share of a page: half of it, the whole, or a third."""
Axis = Literal["linear", "zero", "log", "category"]
"""The axis of x; ``zero`` is linear from zero."""
DIGEST_LENGTH = 16

INTERVAL_REACH_MAX = 2.0
"""An axis ends at this multiple of its largest value, even if an interval extends further."""
CUT = "Intervals that extend beyond the chart are in the table."


@dataclass(frozen=True)
class Look:
    """How a series is drawn. ``colour`` is a role of the palette, ``size`` the area of a symbol in square pixels."""

    colour: str
    mark: Mark = "line"
    dash: str = "solid"
    shape: str = "circle"
    size: float = 14
    pattern: int = 0
    """The place of the pattern of bars, from 0."""


def look_of(place: int, mark: Mark = "points") -> Look:
    """The look of the group with the number ``place``, from 0. Colours repeat with another dash and symbol."""
    shape = CURVE_SHAPES[place % len(CURVE_SHAPES)]
    return Look(f"group-{place % palette.GROUP_COUNT}", mark, DASHES[place % len(DASHES)], shape, size=64)


@dataclass(frozen=True)
class Line:
    """A line across a chart with a text: at a place of x, or at a level of y, there from ``start`` to ``end`` of x."""

    axis: Literal["x", "y"]
    value: float
    text: str
    start: float | None = None
    end: float | None = None


@dataclass(frozen=True)
class Shade:
    """A phase, a step or a fault behind a chart over time, in seconds. The colours are roles of the palette."""

    start: float
    end: float
    colour: str
    text: str = ""
    text_colour: str = "quiet"
    is_upright: bool = False
    """Whether the text stands upright inside the chart, at the start; if not, it is above the chart."""


@dataclass(frozen=True)
class Chart:
    """One chart. ``frame`` has a row for each point: ``series``, ``x`` and ``y``, with None where a line breaks.

    Further columns, where a chart has them: ``low``, ``high``, ``x_low`` and ``x_high``, the ends of intervals, or of
    the bins of a histogram; ``is_hollow`` for points without an interval; ``label``, shown on hover; ``text``, shown
    always; ``panel``, the number of the panel. ``looks`` has the series in the order of the legend.
    """

    id: str
    title: str
    caption: str
    y_title: str
    frame: pl.DataFrame
    looks: Mapping[str, Look]
    x_title: str = LOAD_SECONDS
    width: Width = ""
    axis: Axis = "linear"
    ticks: Sequence[float] | None = None
    lines: Sequence[Line] = ()
    shades: Sequence[Shade] = ()
    panels: Sequence[str] = ()
    """The y titles of several charts on one time axis."""
    is_y_from_zero: bool = True
    x_max: float | None = None
    y_max: float | None = None
    """The ends of the axes; None if the data decide."""

    @property
    def is_empty(self) -> bool:
        return self.frame.is_empty()

    @property
    def shown_looks(self) -> Mapping[str, Look]:
        """The looks of the series that have a point."""
        drawn = set(self.frame["series"])
        return {name: look for name, look in self.looks.items() if name in drawn}

    def of(self, series: str) -> pl.DataFrame:
        """The rows of one series."""
        return self.frame.filter(pl.col("series") == series)

    @property
    def digest(self) -> str:
        """The digest of what the chart shows, which does not depend on how it is drawn."""
        shown = json.dumps([self.title, self.x_title, self.y_title, self.frame.to_dicts()], allow_nan=False)
        return hashlib.sha256(shown.encode()).hexdigest()[:DIGEST_LENGTH]


def bounded(chart: Chart) -> Chart:
    """The chart, whose axes end at ``INTERVAL_REACH_MAX`` times their largest value if an interval extends further."""
    x_max, y_max = (_axis_max(chart.frame, value, high) for value, high in (("x", "x_high"), ("y", "high")))
    if x_max is None and y_max is None:
        return chart
    return replace(chart, x_max=x_max, y_max=y_max, caption=f"{chart.caption} {CUT}")


def _axis_max(frame: pl.DataFrame, value: str, high: str) -> float | None:
    if high not in frame.columns or frame[high].drop_nulls().is_empty():
        return None
    limit = INTERVAL_REACH_MAX * float(frame[value].max())  # type: ignore[arg-type]
    return limit if float(frame[high].max()) > limit > 0 else None  # type: ignore[arg-type]
