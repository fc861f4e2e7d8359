"""The charts of the report of a sweep. They contain values per point or per bin, never single requests.

Curves have one series for each combination of the varied parameters that are not on the x axis. The series differ in
colour, dash and symbol.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from corda_lab.analysis.conclusions import Analysis
from corda_lab.analysis.metrics import metric
from corda_lab.analysis.points import RATE, Estimate, Point, grouped, x_name
from corda_lab.analysis.significance import is_number
from corda_lab.analysis.values import interval_shown, shown, with_interval
from corda_lab.report.chart import DASHES, PATTERN_COUNT, Chart, Look, Mark, Shade, Width, bounded, look_of
from corda_lab.report.charts import (
    MIB,
    NODE,
    POINT_COUNT_MAX,
    bin_seconds,
    by_node,
    fault_shades,
    histogram,
    label,
    load_seconds,
    mean_line,
    rates,
    window_of,
    with_phases,
)
from corda_lab.report.palette import GROUP_COUNT
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import ended_within, is_done
from corda_lab.text.words import STAGE_MEANINGS, amount, milliseconds, parameter_name

LOG_RATIO_MIN = 16
LETTER_WIDTH, LINE_HEIGHT = 0.014, 0.06
"""Size of a label in a chart of half the page: width of a letter as a share of the chart's width, height of a line as a
share of its height."""
TICKS_MAX = 12
STEP_NAMES_MAX = 26

OFFERED, REPEATS, INVALID, BROKE = "offered rate", "each repeat", "invalid (in no mean)", "broke (no value)"
STEP_LOOKS = {
    REPEATS: Look("faint", "dots", size=26),
    INVALID: Look("bad", "single", shape="x", size=70),
    BROKE: Look("bad", "single", shape="cross", size=70),
}
SEARCH_LOOKS = {
    "search": Look("faint", dash="dot"),
    "sustained": Look("good", "single", size=130),
    "not sustained": Look("bad", "single", shape="x", size=130),
    "confirmed by a longer step": Look("good", "single", shape="star", size=200),
    "not confirmed": Look("bad", "single", shape="cross", size=130),
}

Row = dict[str, Any]
"""A point of a chart, by the names of the columns of ``points_frame``."""


def points_frame(rows: Iterable[Mapping[str, Any]], *, is_category: bool = False) -> pl.DataFrame:
    """A frame of points with intervals and labels. Columns that no row has are None."""
    x = pl.String if is_category else pl.Float64
    texts = dict.fromkeys(("label", "text"), pl.String)
    ends = dict.fromkeys(("y", "low", "high", "x_low", "x_high"), pl.Float64)
    schema = {"series": pl.String, "x": x, **ends, "is_hollow": pl.Boolean, **texts}
    return pl.DataFrame(list(rows), schema=schema)


# Values over the x axis of the sweep.


def curves(analysis: Analysis) -> list[Chart]:
    """The values of all points, the one that is judged first."""
    bars = "Bars are 95 % intervals over the valid repeats; a hollow point has too few repeats for one."
    states = curve(analysis, "states", "Throughput in states", f"States created per second. {bars}", "wide")
    return [
        *([states] if analysis.judged.metric == "states" else []),
        curve(analysis, "throughput", "Throughput", f"Flows completed per second. {bars}"),
        throughput_latency(analysis),
        *(
            curve(analysis, name, f"Latency, {name}", f"{name[1:]} % of requests took no longer.", "third")
            for name in ("p50", "p95", "p99")
        ),
    ]


def curve(analysis: Analysis, name: str, title: str, caption: str, width: Width = "") -> Chart:
    """One metric against x, with one series per group. ``name`` may name a node: ``cpu_percent.PartyA``."""
    run, measured, unit = analysis.run, _measured(analysis), metric(name).unit
    groups = {group or metric(name).title: members for group, members in grouped(measured).items()}
    rows = [row for group, members in groups.items() for row in _estimates(members, name, group)]
    if any(len(point.steps) > 1 for point in measured):
        rows += _single_steps(measured, name, REPEATS, valid=True)
    rows += _single_steps(analysis.points, name, INVALID, valid=False)
    # Steps that broke the lab are crosses at the foot of the chart.
    rows += [
        {"series": BROKE, "x": point.x, "y": 0.0, "label": f"step {step.index}, {point.label}: {step.broke}"}
        for point in analysis.points
        for step in point.broken
    ]
    if name == "throughput" and x_name(run) == RATE:
        # The rate of an open load is an upper bound of throughput.
        offered = sorted({float(point.x) for point in analysis.points})
        rows += [{"series": OFFERED, "x": rate, "y": rate} for rate in offered]
    axis = _axis(run, analysis.points)
    is_category = axis.get("axis") == "category"
    frame = points_frame(
        ({**row, "x": str(row["x"]) if is_category else float(row["x"])} for row in rows), is_category=is_category
    )
    looks = {group: look_of(number, "single" if is_category else "points") for number, group in enumerate(groups)}
    chart = Chart(
        f"curve-{name.lower().replace('_', '-').replace('.', '-')}",
        title,
        caption,
        f"{name}, ms" if unit == "ms" else unit,
        frame,
        {OFFERED: Look("faint", dash="dot"), **looks, **STEP_LOOKS},
        width=width,
        **axis,
    )
    return bounded(chart)


def _measured(analysis: Analysis) -> list[Point]:
    """The points of curves: of a search, all of them."""
    return [point for point in analysis.points if point.phase == "measure"] or analysis.points


def _axis(run: StoredRun, points: Sequence[Point]) -> Row:
    """The fields of a chart that depend on x: its title, its kind, and its ticks."""
    name = x_name(run)
    if name is None:
        return {"x_title": "", "axis": "category"}
    title = "offered rate (arrivals per second)" if name == RATE else parameter_name(name)
    if not all(is_number(point.x) for point in points):
        return {"x_title": title, "axis": "category"}
    values = sorted({float(point.x) for point in points})
    ticks = values if len(values) <= TICKS_MAX and not run.sweep.find_max else None
    if values[0] > 0 and values[-1] / values[0] >= LOG_RATIO_MIN:
        return {"x_title": f"{title} (logarithmic)", "axis": "log", "ticks": ticks}
    return {"x_title": title, "ticks": ticks}


def _interval(estimate: Estimate, low: str = "low", high: str = "high") -> Row:
    """The ends of an interval, by the names of their columns; None if it is not shown."""
    return dict(zip((low, high), interval_shown(estimate.low, estimate.high), strict=True))


def _is_drawn(value: float | None) -> bool:
    """Whether a value has a place on an axis. The latency of requests that were not answered is in the table only."""
    return value is not None and math.isfinite(value)


def _estimates(points: Sequence[Point], name: str, series: str) -> list[Row]:
    return [
        {
            "series": series,
            "x": point.x,
            "y": estimate.value,
            **_interval(estimate),
            "is_hollow": _interval(estimate)["low"] is None,
            "label": f"{point.label}: {with_interval(point, name)}",
        }
        for point in points
        if _is_drawn((estimate := point.estimate(name)).value)
    ]


def _single_steps(points: Sequence[Point], name: str, series: str, *, valid: bool) -> list[Row]:
    """The values of single steps that passed."""
    of = metric(name).of
    return [
        {"series": series, "x": point.x, "y": value, "label": f"step {step.index}, {point.label}: {shown(value, name)}"}
        for point in points
        for step in point.steps
        if step.validity.valid is valid and step.outcome == "passed" and _is_drawn(value := of(step))
    ]


def throughput_latency(analysis: Analysis) -> Chart:
    """The p95 latency against the throughput of each point."""
    measured = _measured(analysis)
    has_order = all(is_number(point.x) for point in measured)
    estimated = [(point, point.estimate("throughput"), point.estimate("p95")) for point in measured]
    estimated = [row for row in estimated if _is_drawn(row[1].value) and _is_drawn(row[2].value)]
    names = {} if analysis.searches else names_apart(estimated)
    rows = [
        {
            "series": point.group_label or "p95",
            "x": rate.value,
            "y": latency.value,
            **_interval(rate, "x_low", "x_high"),
            **_interval(latency),
            "is_hollow": _interval(rate)["low"] is None,
            "label": f"{point.label}: {with_interval(point, 'throughput')}, p95 {with_interval(point, 'p95')}",
            "text": names.get(point.key),
        }
        for point, rate, latency in estimated
    ]
    caption = "Further right is more throughput; lower is less latency."
    if has_order:
        caption += f" Points are connected in order of {parameter_name(x_name(analysis.run) or '')}."
    if names and not all(names.values()):
        caption += " Labels that would overlap others are shown on hover."
    # Points of databases or versions have no order in which a line could connect them.
    mark: Mark = "points" if has_order else "single"
    chart = Chart(
        "throughput-latency",
        "Throughput and latency",
        caption,
        "p95, ms",
        points_frame(rows),
        {name or "p95": look_of(number, mark) for number, name in enumerate(grouped(measured))},
        x_title="flows/s",
        axis="zero",
    )
    return bounded(chart)


def names_apart(estimated: Sequence[tuple[Point, Estimate, Estimate]]) -> dict[str, str | None]:
    """The label of each point, by its key: its x, or None if the label of another point is too near.

    ``estimated`` has each point with its throughput in flows/s and its p95 in ms.
    """
    right = max((rate.value or 0.0 for _, rate, _ in estimated), default=0.0) or 1.0
    top = max((latency.value or 0.0 for *_, latency in estimated), default=0.0) or 1.0
    width = LETTER_WIDTH * max((len(str(point.x)) for point, *_ in estimated), default=0)
    names: dict[str, str | None] = {}
    taken: list[tuple[float, float]] = []
    for point, rate, latency in estimated:
        x, y = (rate.value or 0.0) / right, (latency.value or 0.0) / top
        is_near = any(abs(x - other_x) < width and abs(y - other_y) < LINE_HEIGHT for other_x, other_y in taken)
        names[point.key] = None if is_near else str(point.x)
        taken += [] if is_near else [(x, y)]
    return names


def search_path(analysis: Analysis) -> list[Chart]:
    """The rates that a search tried, one after the other; no chart for any other sweep."""
    if not analysis.searches:
        return []
    steps = sorted(analysis.run.steps, key=lambda step: step.index)
    path = [{"series": "search", "x": step.index, "y": step.load.rate} for step in steps]
    tried = [{"x": step.index, "y": step.load.rate, **_answer(step)} for step in steps if step.phase != "measure"]
    chart = Chart(
        "search",
        "Search for the highest rate",
        "A rate is sustained if its step is valid, achieves the offered rate, and stays within the limits of the "
        "search. The highest one is confirmed by a longer step.",
        "arrivals/s",
        points_frame([*path, *tried]),
        SEARCH_LOOKS,
        x_title="step",
        width="wide",
    )
    return [chart]


def _answer(step: StepEntry) -> Row:
    """Whether the rate of a step was sustained, and why not."""
    reasons = [*step.validity.reasons, *step.thresholds.reasons]
    is_held = step.validity.valid and step.thresholds.passed
    if step.phase == "confirm":
        series = "confirmed by a longer step" if is_held else "not confirmed"
    else:
        series = "sustained" if is_held else "not sustained"
    why = "; ".join(dict.fromkeys(map(str, reasons))) or series
    return {"series": series, "label": f"step {step.index}, {step.load.rate:g}/s: {why}"}


# Parts of a flow by point.


def breakdowns(analysis: Analysis) -> list[Chart]:
    """The stages of a flow and its CPU time at each point, as far as they were measured."""
    stages = {point.label: means for point in analysis.points if (means := point.stages())}
    known = {stage for means in stages.values() for stage in means}
    ordered = [stage for stage in STAGE_MEANINGS if stage in known] + sorted(known - set(STAGE_MEANINGS))
    costs = {
        point.label: {part: 1000 * seconds for part, seconds in cost.items()}
        for point in analysis.points
        if (cost := point.cost("cpu_seconds_per_flow"))
    }
    parts = list(dict.fromkeys(part for cost in costs.values() for part in cost))
    charts = [
        Chart(
            "stages",
            "Stages of a flow by point",
            "Mean time of the requests in the measuring window; start and end are outside the node. Stages that grow "
            "with the load are those in which flows wait.",
            "ms",
            _stacked(stages, ordered, milliseconds).with_columns(pl.col("series").str.replace_all("_", " ")),
            {
                stage.replace("_", " "): _bars(f"group-{number % GROUP_COUNT}", number + number // GROUP_COUNT)
                for number, stage in enumerate(ordered)
            },
        ),
        Chart(
            "cost",
            "CPU time of a flow by point",
            "CPU time of all parts of the lab ÷ flows. bridge, locust and prometheus are not under test. Bars of equal "
            "height mean that the cost of a flow does not depend on the load.",
            "CPU-ms per flow",
            _stacked(costs, parts, lambda value: f"{amount(value)} CPU-ms"),
            {part: _bars(f"node-{part.lower()}", number) for number, part in enumerate(parts)},
        ),
    ]
    return [replace(chart, x_title="", width="wide", axis="category") for chart in charts if not chart.is_empty]


def _bars(colour: str, number: int) -> Look:
    return Look(colour, "bars", pattern=number % PATTERN_COUNT)


def _stacked(
    points: Mapping[str, Mapping[str, float]], names: Sequence[str], words: Callable[[float], str]
) -> pl.DataFrame:
    """The parts of each point, as bars that stand on one another. ``words`` says a value with its unit."""
    rows = [
        {
            "series": name,
            "x": point,
            "y": parts.get(name, 0.0),
            "label": f"{point}, {name}: {words(parts.get(name, 0.0))} of {words(sum(parts.values()))}",
        }
        for name in names
        for point, parts in points.items()
    ]
    return pl.DataFrame(rows, {"series": pl.String, "x": pl.String, "y": pl.Float64, "label": pl.String})


# The whole run over time, and its steps.


BIN_COUNT_MAX = 1500
"""More bins than a screen has pixels would not be visible."""
ROW_COLUMNS = ("step", "started_at", "ended_at", "latency_ms", "latency_intended_ms", "outcome")
"""The columns of rows that these charts need."""
COMPLETED = "flows completed"


PANELS = (
    ("cores", "node_cpu_cores", 1.0, NODE),
    ("heap, MiB", "node_heap_used_bytes", 1 / MIB, NODE),
    ("GC, % of time", "node_gc_share", 100.0, NODE),
    ("queue, messages", "artemis_queue_messages", 1.0, pl.when(label("queue") == "inbound").then("node")),
)
"""The panels of the chart of the whole run below its throughput: title, series, factor, and the node of a sample."""


def origin_of(run: StoredRun) -> float:
    """The start of the time axis in unix seconds: when the load of the first step began."""
    return min(step.window.load_started_at for step in run.steps)


def over_the_run(run: StoredRun, rows: pl.DataFrame, metrics: pl.DataFrame) -> Chart:
    """Throughput and the use of resources by node over all steps."""
    origin = origin_of(run)
    steps = sorted(run.steps, key=lambda step: step.window.load_started_at)
    end = round(steps[-1].window.load_ended_at - origin, 1)
    width, sampled = (bin_seconds(end, at_least=least, count_max=BIN_COUNT_MAX) for least in (2, 5))
    of_step, nothing = by_step(rows.filter(is_done())), rows.clear()
    completed = pl.concat(
        rates(of_step.get(step.index, nothing), "ended_at", COMPLETED, step, width)
        .with_columns(pl.lit(step.index, pl.Int64).alias("step"), pl.col("x") + (step.window.load_started_at - origin))
        .select("step", "series", "x", "y")
        for step in run.steps
    )
    in_time = metrics.filter((pl.col("time") - origin).is_between(0, end + 5))
    frames = [completed]
    for _, series, scale, node in PANELS:
        frames.append(by_node(in_time, series, origin, scale=scale, width=sampled, node=node).cast({"step": pl.Int64}))
    frame = pl.concat(_with_gaps(part).with_columns(panel=pl.lit(place)) for place, part in enumerate(frames))
    nodes = sorted(set(frame["series"]) - {COMPLETED})
    looks = {node: Look(f"node-{node.lower()}", dash=DASHES[place % len(DASHES)]) for place, node in enumerate(nodes)}
    return Chart(
        "over-time",
        "The whole run",
        "Grey: warm-up. Tinted: measuring window. Red with ✗: invalid step. Red with a name: a fault, followed by the "
        "time until throughput was back. The numbers at the top are the steps.",
        "",
        frame,
        {COMPLETED: Look("main"), **looks},
        x_title="seconds since the load of the first step began",
        width="wide",
        shades=[
            *step_shades(steps, origin),
            *(shade for step in steps for shade in fault_shades(step, origin, end / POINT_COUNT_MAX)),
        ],
        x_max=end,
        panels=("flows/s", *(title for title, *_ in PANELS)),
    )


def step_shades(steps: Sequence[StepEntry], origin: float) -> Iterator[Shade]:
    """The warm-up and the measuring window of each step, with the number of the step where there is room."""
    every = math.ceil(len(steps) / STEP_NAMES_MAX)
    for place, step in enumerate(steps):
        window, is_valid = step.window, step.validity.valid
        start, warm_up_end, stop = (
            round(at - origin, 1) for at in (window.load_started_at, window.started_at, window.ended_at)
        )
        yield Shade(start, warm_up_end, "shade")
        if is_valid:
            yield Shade(warm_up_end, stop, "measured", str(step.index) if place % every == 0 else "")
        else:
            yield Shade(warm_up_end, stop, "bad-back", f"✗{step.index}", "bad")


def by_step(rows: pl.DataFrame) -> dict[int, pl.DataFrame]:
    return {int(part["step"][0]): part for part in rows.partition_by("step")}


def _with_gaps(frame: pl.DataFrame) -> pl.DataFrame:
    """Points of lines, sorted by x, with a break after the last one of each step."""
    ends = frame.group_by("step", "series").agg(pl.col("x").max(), pl.lit(None, pl.Float64).alias("y"))
    # The sort is stable, so a break stays behind the point whose x it has.
    return pl.concat([frame, ends]).sort("series", "x", maintain_order=True).drop("step")


def step_charts(step: StepEntry, rows: pl.DataFrame) -> list[Chart]:
    """Throughput over time and the latencies of one step of a sweep, from its rows."""
    width = bin_seconds(load_seconds(step))
    done = rows.filter(is_done())
    measured = ended_within(done, window_of(step))
    latency = measured[step.judged_latency_column].drop_nulls().sort()
    over_time = Chart(
        f"step-{step.index}-throughput",
        "Throughput over time",
        "",
        "flows/s",
        rates(done, "ended_at", "completed", step, width),
        {"completed": Look("main", "area")},
        lines=mean_line(step),
    )
    over_time = with_phases(over_time, step)
    return [over_time, histogram(latency, f"step-{step.index}-latency", "Latency distribution", "", "requests")]
