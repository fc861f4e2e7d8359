"""``--charts``: the main charts of a report as PNG and SVG, for papers. They show the same series as the report.

matplotlib is imported only when a chart is drawn, because the import takes a second.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corda_lab.analysis.points import points
from corda_lab.errors import LabError
from corda_lab.report import charts_sweep, palette
from corda_lab.report import run as report_run
from corda_lab.report.chart import PATTERNS, Chart, Trace
from corda_lab.results.stored import StoredRun

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 300
WIDTH_INCHES, HEIGHT_INCHES = 5.2, 3.4
WIDE_INCHES = 7.2
LEGEND_COLUMNS_MAX = 4
LEGEND_LETTER_INCHES, LEGEND_LINE_INCHES = 0.062, 0.5
"""About the width of a letter of the legend, and of the line with its spaces before each name."""

DASHES = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1, 1.6)), "dashdot": "-.", "longdash": (0, (9, 3))}
MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "pentagon": "p",
    "star": "*",
    "x": "X",
    "cross": "P",
}
HATCHES = {"": "", "/": "//", ".": "..", "x": "xx", "\\": "\\\\", "-": "--", "|": "||", "+": "++"}

RUN_CHARTS = ("throughput", "latency-histogram", "latency-ecdf")
"""Ids of the charts of a single run that are drawn. A sweep draws its curves, its search and its breakdowns."""

STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e7ec",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "corda-lab",
}


def charts_of(run: StoredRun) -> list[Chart]:
    if not run.is_sweep:
        drawn = [chart for chart in report_run.charts(run) if chart.id in RUN_CHARTS]
    else:
        found = points(run)
        drawn = [*charts_sweep.searches(run), *charts_sweep.curves(run, found), *charts_sweep.breakdowns(found)]
    return [chart for chart in drawn if chart.traces]


def write(run: StoredRun, folder: Path) -> list[Path]:
    return write_charts(charts_of(run), folder)


def write_charts(
    charts: Sequence[Chart], folder: Path, *, suffixes: Sequence[str] = ("png", "svg"), description: str | None = None
) -> list[Path]:
    """Draw charts into a folder, in files named after their ids, and return their paths.

    ``description`` is stored in SVG files. Raises LabError if matplotlib is missing, or if the folder cannot be
    written.
    """
    try:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise LabError(f"--charts: matplotlib cannot be imported ({error})", "Remove .venv and start again.") from None
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(STYLE):
            for chart in charts:
                sheet, axes = pyplot.subplots(figsize=(width_inches(chart), HEIGHT_INCHES), layout="constrained")
                draw(axes, chart)
                for suffix in suffixes:
                    paths.append(folder / f"{chart.id}.{suffix}")
                    # Without a date, the same run always gives the same file.
                    metadata = {"Date": None, "Description": description} if suffix == "svg" else None
                    sheet.savefig(paths[-1], dpi=DPI, metadata=metadata)
                pyplot.close(sheet)
    except OSError as error:
        raise LabError(
            f"--charts: {folder} cannot be written ({error})", "Choose a folder that you can write."
        ) from None
    return paths


def width_inches(chart: Chart) -> float:
    return WIDE_INCHES if chart.width == "wide" else WIDTH_INCHES


def draw(axes: "Axes", chart: Chart) -> None:
    axes.set_xlabel(chart.x_title)
    # There is no title, so the axis has to name the latency.
    axes.set_ylabel(f"{chart.title}, ms" if chart.id.startswith("curve-p") else chart.y_title)
    places = categories(chart)
    bottoms: dict[Any, float] = {}
    for trace in chart.traces:
        x: list[Any] = [places.get(value, value) for value in trace.x]
        if trace.kind == "bars":
            bars(axes, chart, trace, x, bottoms)
        elif trace.kind in ("points", "intervals"):
            points_with_intervals(axes, trace, x)
        elif trace.kind in ("marks", "dots", "points-only"):
            size = 7 if trace.kind == "points-only" or trace.symbol == "x" else 3.5
            axes.plot(
                x,
                numbers(trace.y),
                MARKERS.get(trace.symbol or "circle", "o"),
                color=colour(trace),
                markersize=size,
                alpha=0.6 if trace.kind == "dots" else 1,
                label=trace.name,
                markeredgewidth=0,
                # A mean must not cover an invalid step.
                zorder=5 if trace.symbol in ("x", "cross") else 2,
            )
        else:
            drawstyle = "steps-post" if trace.kind == "steps" else "default"
            axes.plot(
                x,
                numbers(trace.y),
                color=colour(trace),
                linestyle=DASHES.get(trace.dash, "-"),
                linewidth=1.4,
                drawstyle=drawstyle,
                label=trace.name,
            )
    if places:
        turned = sum(len(str(name)) for name in places) > 60
        axes.set_xticks(
            list(places.values()), list(places), rotation=30 if turned else 0, ha="right" if turned else "center"
        )
    elif chart.axis == "log":
        axes.set_xscale("log")
    if chart.ticks and not places:
        axes.set_xticks(chart.ticks, [f"{tick:g}" for tick in chart.ticks])
        axes.minorticks_off()
    if chart.y_title == "bytes":
        show_bytes(axes)
    limit(axes, chart)
    if len(chart.traces) > 1:
        columns = legend_columns([trace.name for trace in chart.traces], width_inches(chart))
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, fontsize=8)


def show_bytes(axes: "Axes") -> None:
    """Label the y axis as 200 MB. Long numbers would get a factor such as 1e8 above the axis, where the legend is."""
    from matplotlib.ticker import EngFormatter

    axes.yaxis.set_major_formatter(EngFormatter(unit="B"))


def limit(axes: "Axes", chart: Chart) -> None:
    if chart.axis == "zero":
        # A point at 0 is not cut in half by the axis.
        has_zero = any(value == 0 for trace in chart.traces for value in trace.x)
        axes.set_xlim(left=-0.02 * axes.get_xlim()[1] if has_zero else 0)
    if chart.is_y_from_zero:
        axes.set_ylim(bottom=0)
    if chart.x_max is not None:
        axes.set_xlim(0, chart.x_max)
    if chart.y_max is not None:
        axes.set_ylim(0, chart.y_max)


def legend_columns(names: Sequence[str], inches: float) -> int:
    """Return the most columns, four at most, in which a legend with these names is no wider than the sheet."""
    for columns in range(min(len(names), LEGEND_COLUMNS_MAX), 1, -1):
        # As matplotlib fills them: the first columns have one more where the names do not divide evenly.
        rows, longer = divmod(len(names), columns)
        ends = [0, *accumulate(rows + (column < longer) for column in range(columns))]
        widest = [max(map(len, names[start:end])) for start, end in pairwise(ends)]
        if sum(LEGEND_LINE_INCHES + LEGEND_LETTER_INCHES * letters for letters in widest) <= inches:
            return columns
    return 1


def categories(chart: Chart) -> dict[Any, float]:
    if chart.axis != "category":
        return {}
    return {name: float(place) for place, name in enumerate(dict.fromkeys(x for t in chart.traces for x in t.x))}


def colour(trace: Trace) -> str:
    return palette.LIGHT.get(trace.colour, palette.LIGHT["faint"])


def numbers(values: Sequence[float | None]) -> list[float]:
    """The values, with NaN for None, so that matplotlib leaves a gap."""
    return [float("nan") if value is None else value for value in values]


def points_with_intervals(axes: "Axes", trace: Trace, x: Sequence[Any]) -> None:
    """Draw points with their intervals. Points without an interval are hollow."""
    axes.errorbar(
        x,
        numbers(trace.y),
        xerr=around(x, trace.x_low, trace.x_high),
        yerr=around(trace.y, trace.y_low, trace.y_high),
        color=colour(trace),
        linestyle=DASHES.get(trace.dash, "-") if trace.kind == "points" else "none",
        linewidth=1.4,
        marker=MARKERS.get(trace.symbol or "circle", "o"),
        markersize=5,
        elinewidth=1.1,
        capsize=2.5,
        label=trace.name,
    )
    hollow = [place for place, is_hollow in enumerate(trace.hollow or ()) if is_hollow]
    axes.plot(
        [x[place] for place in hollow],
        numbers([trace.y[place] for place in hollow]),
        MARKERS.get(trace.symbol or "circle", "o"),
        color=colour(trace),
        markersize=5,
        markerfacecolor="white",
    )


def around(
    middle: Sequence[Any], low: Sequence[float | None] | None, high: Sequence[float | None] | None
) -> list[list[float]] | None:
    """The lengths of the intervals below and above each value, or None if there are no intervals."""
    if low is None or high is None:
        return None
    below = [0.0 if end is None else max(0.0, value - end) for value, end in zip(middle, low, strict=True)]
    above = [0.0 if end is None else max(0.0, end - value) for value, end in zip(middle, high, strict=True)]
    return [below, above]


def bars(axes: "Axes", chart: Chart, trace: Trace, x: Sequence[Any], bottoms: dict[Any, float]) -> None:
    """Draw bars. If the chart is stacked, they start at ``bottoms``, which is updated."""
    values = numbers(trace.y)
    # Empty bins are left out, so the distance of two neighbours may be larger than the width of a bin.
    width = 0.7 if chart.axis == "category" else min((b - a for a, b in pairwise(x)), default=1.0)
    bottom = [bottoms.get(place, 0.0) if chart.is_stacked else 0.0 for place in x]
    hatch = HATCHES.get(trace.pattern or PATTERNS[0], "")
    axes.bar(
        x,
        values,
        width,
        bottom=bottom,
        color=colour(trace),
        hatch=hatch,
        edgecolor="white",
        linewidth=0.3,
        label=trace.name,
    )
    for place, value in zip(x, values, strict=True):
        bottoms[place] = bottoms.get(place, 0.0) + value
