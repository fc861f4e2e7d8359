"""The charts of the report of a sweep. They contain values per point or per bin, never single requests.

Curves have one series for each combination of the varied parameters that are not on the x axis. The series differ in
colour, dash and symbol.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from corda_lab.analysis import metrics
from corda_lab.analysis.points import Estimate, Point, grouped, judged_metric, x_name
from corda_lab.analysis.values import costs_of, interval_shown, shown, stage_means, step_holds, why, with_interval
from corda_lab.report.chart import PATTERN_COUNT, Chart, Look, Mark, Width, bounded, look_of
from corda_lab.report.palette import GROUP_COUNT
from corda_lab.results.stored import StoredRun
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.steps.entry import StepEntry
from corda_lab.text.words import STAGE_MEANINGS, amount, milliseconds, parameter_name

BETTER = "Points further right have more throughput; lower points have less latency."

LOG_RATIO_MIN = 16
LETTER_WIDTH, LINE_HEIGHT = 0.014, 0.06
"""Size of a label in a chart of half the page: width of a letter as a share of the chart's width, height of a line as a
share of its height."""

OFFERED, REPEATS, INVALID, BROKE = "offered rate", "each repeat", "invalid (in no mean)", "broke (no value)"
STEP_LOOKS = {
    REPEATS: Look("faint", "dots", size=26),
    INVALID: Look("bad", "symbols", shape="x", size=70),
    BROKE: Look("bad", "symbols", shape="cross", size=70),
}


def points_frame(rows: Iterable[Mapping[str, Any]], *, is_category: bool = False) -> pl.DataFrame:
    """A frame of points with intervals and labels. Columns that no row has are None."""
    x = pl.String if is_category else pl.Float64
    texts = dict.fromkeys(("label", "text"), pl.String)
    ends = dict.fromkeys(("y", "low", "high", "x_low", "x_high"), pl.Float64)
    schema = {"series": pl.String, "x": x, **ends, "is_hollow": pl.Boolean, **texts}
    return pl.DataFrame(list(rows), schema=schema)


def over_x(chart: Chart, run: StoredRun, points: Sequence[Point]) -> Chart:
    name = x_name(run)
    if name is None:
        return replace(chart, x_title="", axis="category")
    title = "offered rate (arrivals per second)" if name == "load.rate" else parameter_name(name)
    if not all(is_numeric(point) for point in points):
        return replace(chart, x_title=title, axis="category")
    values = sorted({float(point.x) for point in points})
    ticks = values if len(values) <= 12 and not run.sweep.find_max else None
    if values[0] > 0 and values[-1] / values[0] >= LOG_RATIO_MIN:
        return replace(chart, x_title=f"{title} (logarithmic)", axis="log", ticks=ticks)
    return replace(chart, x_title=title, ticks=ticks)


def is_numeric(point: Point) -> bool:
    return isinstance(point.x, int | float) and not isinstance(point.x, bool)


def is_category(run: StoredRun, points: Sequence[Point]) -> bool:
    """Whether x has no order, so that nothing connects its points."""
    return x_name(run) is None or not all(is_numeric(point) for point in points)


def ends(found: Estimate, low: str, high: str) -> dict[str, float | None]:
    """The ends of an interval, by the names of their columns; None if it is not shown."""
    return dict(zip((low, high), interval_shown(found.low, found.high) or (None, None), strict=True))


def is_drawn(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def curve(points: Sequence[Point], metric: str, name: str) -> list[dict[str, Any]]:
    known = [(point, point.estimate(metric)) for point in points]
    return [
        {
            "series": name,
            "x": point.x,
            "y": found.value,
            **ends(found, "low", "high"),
            "is_hollow": interval_shown(found.low, found.high) is None,
            "label": f"{point.label}: {with_interval(point, metric)}",
        }
        for point, found in known
        # A latency of requests that were not answered has no place on an axis; the table of points shows it.
        if is_drawn(found.value)
    ]


def single_steps(points: Sequence[Point], metric: str, series: str, *, valid: bool) -> list[dict[str, Any]]:
    """The values of single steps that passed."""
    steps = [
        (point, step, metrics.metric(metric).of(step))
        for point in points
        for step in point.steps
        if step.validity.valid is valid and step.outcome == "passed"
    ]
    return [
        {
            "series": series,
            "x": point.x,
            "y": value,
            "label": f"step {step.index}, {point.label}: {shown(value, metric)}",
        }
        for point, step, value in steps
        if is_drawn(value)
    ]


def metric_chart(
    run: StoredRun, points: Sequence[Point], metric: str, *, title: str, caption: str, width: Width = ""
) -> Chart:
    """One metric against x, with one series per group. ``metric`` may name a node: ``cpu_percent.PartyA``."""
    known = metrics.metric(metric)
    curves = [point for point in points if point.phase == "measure"] or list(points)
    groups = {name or known.title: members for name, members in grouped(curves).items()}
    rows = [row for name, members in groups.items() for row in curve(members, metric, name)]
    if any(len(point.steps) > 1 for point in curves):
        rows += single_steps(curves, metric, REPEATS, valid=True)
    rows += single_steps(points, metric, INVALID, valid=False)
    # Steps that broke the lab are crosses at the foot of the chart.
    rows += [
        {"series": BROKE, "x": point.x, "y": 0.0, "label": f"step {step.index}, {point.label}: {step.broke}"}
        for point in points
        for step in point.broken
    ]
    if metric == "throughput" and (x_name(run) or "").startswith("load.rate"):
        # The rate of an open load is an upper bound of throughput.
        rows += [{"series": OFFERED, "x": rate, "y": rate} for rate in sorted({float(point.x) for point in points})]
    without_order = is_category(run, points)
    place = str if without_order else float
    frame = points_frame(({**row, "x": place(row["x"])} for row in rows), is_category=without_order)
    chart = Chart(
        f"curve-{metric.lower().replace('_', '-').replace('.', '-')}",
        title,
        caption,
        known.unit,
        frame,
        {OFFERED: Look("faint", dash="dot"), **looks_of(groups, "single" if without_order else "points"), **STEP_LOOKS},
        width=width,
        print_title=f"{title}, ms" if metric.startswith("p") else "",
    )
    return bounded(over_x(chart, run, points))


def looks_of(groups: Iterable[str], mark: Mark) -> dict[str, Look]:
    return {name: look_of(number, mark) for number, name in enumerate(groups)}


def throughput_latency(run: StoredRun, points: Sequence[Point]) -> Chart:
    is_search = bool(run.sweep.find_max)
    curves = [point for point in points if point.phase == "measure"] or list(points)
    estimated = [(point, point.estimate("throughput"), point.estimate("p95")) for point in curves]
    estimated = [one for one in estimated if is_drawn(one[1].value) and is_drawn(one[2].value)]
    names = {} if is_search else names_apart(estimated)
    rows = [
        {
            "series": point.group_label or "p95",
            "x": rate.value,
            "y": latency.value,
            **ends(rate, "x_low", "x_high"),
            **ends(latency, "low", "high"),
            "is_hollow": interval_shown(rate.low, rate.high) is None,
            "label": f"{point.label}: {with_interval(point, 'throughput')}, p95 {with_interval(point, 'p95')}",
            "text": names.get(point.key) or None,
        }
        for point, rate, latency in estimated
    ]
    hidden = "" if all(names.values()) else " Labels that would overlap others are shown on hover."
    chart = Chart(
        "throughput-latency",
        "Throughput and latency",
        throughput_latency_words(run, curves) + hidden,
        "p95, ms",
        points_frame(rows),
        # Points of databases or versions have no order in which a line could connect them.
        looks_of((name or "p95" for name in grouped(curves)), "points" if all(map(is_numeric, curves)) else "single"),
        x_title="flows/s",
        axis="zero",
    )
    return bounded(chart)


def reach_of(found: Estimate) -> float:
    ends = interval_shown(found.low, found.high)
    return ends[1] if ends else found.value or 0.0


def names_apart(estimated: Sequence[tuple[Point, Estimate, Estimate]]) -> dict[str, str]:
    """The label of each point, by its key: its x, or an empty text if it would overlap the label of another point.

    ``estimated`` has each point with its throughput in flows/s and its p95 in ms.
    """
    right = max((reach_of(rate) for _, rate, _ in estimated), default=0)
    top = max((reach_of(latency) for _, _, latency in estimated), default=0)
    names: dict[str, str] = {}
    taken: list[tuple[float, float, float, float]] = []
    for point, rate, latency in estimated:
        name = str(point.x)
        x, y = (rate.value or 0) / (right or 1), (latency.value or 0) / (top or 1)
        box = (x - LETTER_WIDTH * len(name), x, y, y + LINE_HEIGHT)
        covers = any(box[0] < b[1] and b[0] < box[1] and box[2] < b[3] and b[2] < box[3] for b in taken)
        names[point.key] = "" if covers else name
        taken += [] if covers else [box]
    return names


def throughput_latency_words(run: StoredRun, points: Sequence[Point]) -> str:
    what = "p95 latency against throughput of each point."
    if not all(map(is_numeric, points)):
        return f"{what} {BETTER}"
    name = x_name(run) or ""
    order = f"Points are connected in order of {parameter_name(name)}"
    connected = f"{order}." if run.sweep.find_max else f"{order}; labels show the {parameter_name(name)}."
    if name.startswith("load."):
        return f"{what} {connected} Where the curve turns upwards, more load adds waiting time but no throughput."
    return f"{what} {connected} {BETTER}"


def search_path(run: StoredRun) -> Chart:
    steps = sorted(run.steps, key=lambda step: int(step.index))
    looks = {
        "search": Look("faint", dash="dot"),
        "sustained": Look("good", "symbols", size=130),
        "not sustained": Look("bad", "symbols", shape="x", size=130),
        "confirmed by a longer step": Look("good", "symbols", shape="star", size=200),
        "not confirmed": Look("bad", "symbols", shape="cross", size=130),
    }
    path = [{"series": "search", "x": int(step.index), "y": step.load.rate} for step in steps]
    tried = [
        {
            "series": search_result(step),
            "x": int(step.index),
            "y": step.load.rate,
            "label": f"step {step.index}, {step.load.rate:g}/s: {why(step) or search_result(step)}",
        }
        for step in steps
        if step.phase in ("probe", "confirm")
    ]
    return Chart(
        "search",
        "Search for the highest rate",
        "The search doubles the rate until one is not sustained, and then halves the gap. It tries both ends again "
        "until two answers agree, and confirms the result with a longer step. A rate is sustained if its step is "
        "valid, achieves the offered rate, and stays within the limits of the search.",
        "arrivals/s",
        points_frame([*path, *tried]),
        looks,
        x_title="step",
        width="wide",
    )


def search_result(step: StepEntry) -> str:
    if step.phase == "confirm":
        return "confirmed by a longer step" if step_holds(step) else "not confirmed"
    return "sustained" if step_holds(step) else "not sustained"


def stacked(points: Sequence[tuple[Point, dict[str, float]]], names: Sequence[str], words: Any) -> pl.DataFrame:
    """The parts of each point, as bars that stand on one another. ``words`` says a value with its unit."""
    rows = [
        {
            "series": name,
            "x": point.label,
            "y": parts.get(name, 0.0),
            "label": f"{point.label}, {name}: {words(parts.get(name, 0.0))} of {words(sum(parts.values()))}",
        }
        for name in names
        for point, parts in points
    ]
    return pl.DataFrame(rows, {"series": pl.String, "x": pl.String, "y": pl.Float64, "label": pl.String})


def stage_chart(points: Sequence[Point]) -> Chart | None:
    """The mean time of a flow in each stage at each point. None if no step has stages."""
    means = [(point, found) for point in points if (found := stage_means(point))]
    if not means:
        return None
    known = {stage for _, found in means for stage in found}
    ordered = [stage for stage in STAGE_MEANINGS if stage in known] + sorted(known - set(STAGE_MEANINGS))
    looks = {
        stage: Look(f"group-{number % GROUP_COUNT}", "bars", pattern=(number + number // GROUP_COUNT) % PATTERN_COUNT)
        for number, stage in enumerate(ordered)
    }
    return Chart(
        "stages",
        "Stages of a flow by point",
        "Mean time of the requests in the measuring window, by stage. The flows time their own stages; start and end "
        "are outside the node. Stages that grow with the load are those in which flows wait.",
        "ms",
        stacked(means, ordered, milliseconds).with_columns(pl.col("series").str.replace_all("_", " ")),
        {stage.replace("_", " "): look for stage, look in looks.items()},
        x_title="",
        width="wide",
        axis="category",
    )


def cost_chart(points: Sequence[Point]) -> Chart | None:
    """The CPU time of a flow at each point, by node. None if it was not measured."""
    costs = [(point, found) for point in points if (found := costs_of(point, "cpu_seconds_per_flow"))]
    if not costs:
        return None
    nodes = list(dict.fromkeys(node for _, found in costs for node in found))
    in_ms = [(point, {node: 1000 * seconds for node, seconds in found.items()}) for point, found in costs]
    return Chart(
        "cost",
        "CPU time of a flow by point",
        "CPU time of all parts of the lab in the measuring window, divided by its flows. bridge, locust and prometheus "
        "are not under test; PostgreSQL is measured over the whole load. Bars of equal height mean that the cost "
        "of a flow does not depend on the load.",
        "CPU-ms per flow",
        stacked(in_ms, nodes, lambda value: f"{amount(value)} CPU-ms"),
        {
            node: Look(f"node-{node.lower()}", "bars", pattern=number % PATTERN_COUNT)
            for number, node in enumerate(nodes)
        },
        x_title="",
        width="wide",
        axis="category",
    )


def searches(run: StoredRun) -> list[Chart]:
    return [search_path(run)] if run.sweep.find_max else []


def breakdowns(points: Sequence[Point]) -> list[Chart]:
    return [chart for chart in (stage_chart(points), cost_chart(points)) if chart]


def curves(run: StoredRun, points: Sequence[Point]) -> list[Chart]:
    bars = (
        f"Bars are {100 * CONFIDENCE:g} % intervals over the valid repeats; "
        "a hollow point has too few repeats for an interval."
    )
    states = metric_chart(
        run, points, "states", title="Throughput in states", caption=f"States created per second. {bars}", width="wide"
    )
    return [
        *([states] if judged_metric(run, points) == "states" else []),
        metric_chart(
            run, points, "throughput", title="Throughput", caption=f"Flows completed per second. {bars}", width=""
        ),
        throughput_latency(run, points),
        *(
            metric_chart(
                run,
                points,
                name,
                title=f"Latency, {name}",
                caption=f"{share} took no longer. Symbols as in the throughput chart.",
                width="third",
            )
            for name, share in (("p50", "50 % of requests"), ("p95", "95 %"), ("p99", "99 %"))
        ),
    ]
