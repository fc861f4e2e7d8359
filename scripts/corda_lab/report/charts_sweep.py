"""The charts of the report of a sweep. They contain values per point or per bin, never single requests.

Curves have one trace for each combination of the varied parameters that are not on the x axis. The traces differ in
colour, dash and marker.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from corda_lab.analysis import metrics
from corda_lab.analysis.points import Estimate, Point, grouped, judged_metric, x_name
from corda_lab.analysis.values import costs_of, interval_shown, shown, stage_means, step_holds, why, with_interval
from corda_lab.report.chart import PATTERNS, Chart, Look, Trace, bounded, look_of, rounded
from corda_lab.report.palette import GROUP_COUNT
from corda_lab.results.stored import StoredRun
from corda_lab.stats.intervals import CONFIDENCE
from corda_lab.text.words import STAGE_MEANINGS, amount, milliseconds, parameter_name

BETTER = "Points further right have more throughput; lower points have less latency."

LOG_RATIO_MIN = 16
LETTER_WIDTH, LINE_HEIGHT = 0.014, 0.06
"""Size of a label in a chart of half the page: width of a letter as a share of the chart's width, height of a line as a
share of its height."""


def over_x(chart: Chart, run: StoredRun, points: Sequence[Point]) -> Chart:
    name = x_name(run)
    if name is None:
        return replace(chart, x_title="", axis="category")
    title = "offered rate (arrivals per second)" if name == "load.rate" else parameter_name(name)
    values = list(dict.fromkeys(point.x for point in points))
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return replace(chart, x_title=title, axis="category")
    ticks = sorted(values) if len(values) <= 12 and not run.sweep.find_max else None
    if min(values) > 0 and max(values) / min(values) >= LOG_RATIO_MIN:
        return replace(chart, x_title=f"{title} (logarithmic)", axis="log", ticks=ticks)
    return replace(chart, x_title=title, ticks=ticks)


def is_numeric(point: Point) -> bool:
    return isinstance(point.x, int | float) and not isinstance(point.x, bool)


def place_of(point: Point) -> float | str:
    return float(point.x) if is_numeric(point) else str(point.x)


def curve_kind(points: Sequence[Point]) -> str:
    """The kind of trace. Points with a numeric x are connected by a line; categories such as databases are not."""
    return "points" if all(is_numeric(point) for point in points) else "intervals"


def drawn_ends(found: Sequence[Estimate], digits: int) -> tuple[list[float | None], list[float | None]]:
    """The lower and the upper ends of the intervals that are drawn. They are None where no interval is shown."""
    ends = [interval_shown(one.low, one.high) or (None, None) for one in found]
    return rounded((low for low, _ in ends), digits), rounded((high for _, high in ends), digits)


def is_drawn(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def curve(points: Sequence[Point], metric: str, name: str, look: Look) -> Trace:
    known = [(point, point.estimate(metric)) for point in points]
    # A latency of requests that were not answered has no place on an axis; the table of points shows it.
    known = [(point, found) for point, found in known if is_drawn(found.value)]
    low, high = drawn_ends([found for _, found in known], 4)
    return Trace(
        name,
        x=[place_of(point) for point, _ in known],
        y=rounded((found.value for _, found in known), 4),
        y_low=low,
        y_high=high,
        hollow=[end is None for end in low],
        labels=[f"{point.label}: {with_interval(point, metric)}" for point, _ in known],
        kind=curve_kind(points),
        **look,
    )


def repeats(points: Sequence[Point], metric: str, *, valid: bool) -> Trace | None:
    """The values of single steps: valid ones as small dots, invalid ones as crosses. None if there are none."""
    steps = [
        (point, step, metrics.metric(metric).of(step))
        for point in points
        for step in point.steps
        if step.validity.valid is valid and step.outcome == "passed"
    ]
    steps = [(point, step, value) for point, step, value in steps if is_drawn(value)]
    if not steps or (valid and all(len(point.steps) == 1 for point in points)):
        return None
    return Trace(
        "each repeat" if valid else "invalid (in no mean)",
        "faint" if valid else "bad",
        x=[place_of(point) for point, _, _ in steps],
        y=rounded((value for _, _, value in steps), 4),
        labels=[f"step {step.index}, {point.label}: {shown(value, metric)}" for point, step, value in steps],
        kind="marks",
        symbol="circle" if valid else "x",
    )


def broken(points: Sequence[Point]) -> Trace | None:
    """The steps that broke the lab, as crosses at the foot of the chart. None if there are none."""
    steps = [(point, step) for point in points for step in point.broken]
    if not steps:
        return None
    return Trace(
        "broke (no value)",
        "bad",
        x=[place_of(point) for point, _ in steps],
        y=[0.0 for _ in steps],
        labels=[f"step {step.index}, {point.label}: {step.broke}" for point, step in steps],
        kind="marks",
        symbol="cross",
    )


def metric_chart(
    run: StoredRun, points: Sequence[Point], metric: str, *, title: str, caption: str, width: str
) -> Chart:
    """One metric against x, with one trace per group. ``metric`` may name a node: ``cpu_percent.PartyA``."""
    curves = [point for point in points if point.phase == "measure"] or list(points)
    traces = [one for one in (repeats(curves, metric, valid=True),) if one]
    for number, (name, members) in enumerate(grouped(curves).items()):
        traces.append(curve(members, metric, name or metrics.metric(metric).title, look_of(number)))
    if invalid := repeats(points, metric, valid=False):
        traces.append(invalid)
    if ended := broken(points):
        traces.append(ended)
    if metric == "throughput" and (x_name(run) or "").startswith("load.rate"):
        # The rate of an open load is an upper bound of throughput.
        rates = sorted({float(point.x) for point in points})
        traces.insert(0, Trace("offered rate", "faint", rates, list(rates), dash="dot"))
    unit = metrics.metric(metric).unit
    identity = f"curve-{metric.lower().replace('_', '-').replace('.', '-')}"
    chart = Chart(identity, title, caption, unit, traces, is_over_time=False, width=width)
    return bounded(over_x(chart, run, points))


def throughput_latency(run: StoredRun, points: Sequence[Point]) -> Chart:
    is_search = bool(run.sweep.find_max)
    curves = [point for point in points if point.phase == "measure"] or list(points)
    estimated = [(point, point.estimate("throughput"), point.estimate("p95")) for point in curves]
    estimated = [one for one in estimated if is_drawn(one[1].value) and is_drawn(one[2].value)]
    names = {} if is_search else names_apart(estimated)
    traces = []
    for number, (name, members) in enumerate(grouped(curves).items()):
        known = [one for one in estimated if any(one[0] is point for point in members)]
        x_low, x_high = drawn_ends([rate for _, rate, _ in known], 4)
        y_low, y_high = drawn_ends([latency for _, _, latency in known], 2)
        traces.append(
            Trace(
                name or "p95",
                x=rounded((rate.value for _, rate, _ in known), 4),
                y=rounded((latency.value for _, _, latency in known), 2),
                x_low=x_low,
                x_high=x_high,
                y_low=y_low,
                y_high=y_high,
                hollow=[end is None for end in x_low],
                labels=[
                    f"{point.label}: {with_interval(point, 'throughput')}, p95 {with_interval(point, 'p95')}"
                    for point, _, _ in known
                ],
                texts=None if is_search else [names[point.key] for point, _, _ in known],
                kind=curve_kind(curves),
                **look_of(number),
            )
        )
    chart = Chart(
        "throughput-latency",
        "Throughput and latency",
        throughput_latency_words(run, curves)
        + ("" if all(names.values()) else " Labels that would overlap others are shown on hover."),
        "p95, ms",
        traces,
        x_title="flows/s",
        is_over_time=False,
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
    if curve_kind(points) == "intervals":
        return f"{what} {BETTER}"
    name = x_name(run) or ""
    order = f"Points are connected in order of {parameter_name(name)}"
    connected = f"{order}." if run.sweep.find_max else f"{order}; labels show the {parameter_name(name)}."
    if name.startswith("load."):
        return f"{what} {connected} Where the curve turns upwards, more load adds waiting time but no throughput."
    return f"{what} {connected} {BETTER}"


def search_path(run: StoredRun) -> Chart:
    steps = sorted(run.steps, key=lambda step: int(step.index))
    kinds = {
        "sustained": ("good", "circle", [s for s in steps if s.phase == "probe" and step_holds(s)]),
        "not sustained": ("bad", "x", [s for s in steps if s.phase == "probe" and not step_holds(s)]),
        "confirmed by a longer step": ("good", "star", [s for s in steps if s.phase == "confirm" and step_holds(s)]),
        "not confirmed": ("bad", "cross", [s for s in steps if s.phase == "confirm" and not step_holds(s)]),
    }
    path = Trace(
        "search",
        "faint",
        x=[float(step.index) for step in steps],
        y=[step.load.rate for step in steps],
        labels=[f"step {step.index}: {step.load.rate:g}/s" for step in steps],
        dash="dot",
    )
    marks = [
        Trace(
            name,
            colour,
            x=[float(step.index) for step in found],
            y=[step.load.rate for step in found],
            labels=[f"step {step.index}, {step.load.rate:g}/s: {why(step) or name}" for step in found],
            kind="points-only",
            symbol=symbol,
        )
        for name, (colour, symbol, found) in kinds.items()
        if found
    ]
    return Chart(
        "search",
        "Search for the highest rate",
        "The search doubles the rate until one is not sustained, and then halves the gap. It tries both ends again "
        "until two answers agree, and confirms the result with a longer step. A rate is sustained if its step is "
        "valid, achieves the offered rate, and stays within the limits of the search.",
        "arrivals/s",
        [path, *marks],
        x_title="step",
        is_over_time=False,
        width="wide",
    )


def stage_chart(points: Sequence[Point]) -> Chart | None:
    """The mean time of a flow in each stage at each point. None if no step has stages."""
    means = [(point, stage_means(point)) for point in points]
    means = [(point, found) for point, found in means if found]
    if not means:
        return None
    seen = {stage for _, found in means for stage in found}
    ordered = [stage for stage in STAGE_MEANINGS if stage in seen] + sorted(seen - set(STAGE_MEANINGS))
    traces = []
    for number, stage in enumerate(ordered):
        name = stage.replace("_", " ")
        values = [found.get(stage, 0.0) for _, found in means]
        labels = [
            f"{point.label}: {milliseconds(found.get(stage, 0.0))} of {milliseconds(sum(found.values()))}"
            for point, found in means
        ]
        traces.append(
            Trace(
                name,
                f"group-{number % GROUP_COUNT}",
                [point.label for point, _ in means],
                rounded(values, 3),
                kind="bars",
                pattern=PATTERNS[(number + number // GROUP_COUNT) % len(PATTERNS)],
                labels=labels,
            )
        )
    return Chart(
        "stages",
        "Stages of a flow by point",
        "Mean time of the requests in the measuring window, by stage. The flows time their own stages; start and end "
        "are outside the node. Stages that grow with the load are those in which flows wait.",
        "ms",
        traces,
        x_title="",
        is_over_time=False,
        width="wide",
        axis="category",
        is_stacked=True,
    )


def cost_chart(points: Sequence[Point]) -> Chart | None:
    """The CPU time of a flow at each point, by node. None if it was not measured."""
    costs = [(point, costs_of(point, "cpu_seconds_per_flow")) for point in points]
    costs = [(point, found) for point, found in costs if found]
    if not costs:
        return None
    nodes = list(dict.fromkeys(node for _, found in costs for node in found))
    traces = [
        Trace(
            node,
            f"node-{node.lower()}",
            [point.label for point, _ in costs],
            rounded((1000 * found.get(node, 0.0) for _, found in costs), 3),
            kind="bars",
            pattern=PATTERNS[number % len(PATTERNS)],
            labels=[
                f"{point.label}: {amount(1000 * found.get(node, 0.0))} of {amount(1000 * sum(found.values()))} CPU-ms"
                for point, found in costs
            ],
        )
        for number, node in enumerate(nodes)
    ]
    return Chart(
        "cost",
        "CPU time of a flow by point",
        "CPU time of all parts of the lab in the measuring window, divided by its flows. bridge, locust and prometheus "
        "are not under test; PostgreSQL is measured over the whole load. Bars of equal height mean that the cost "
        "of a flow does not depend on the load.",
        "CPU-ms per flow",
        traces,
        x_title="",
        is_over_time=False,
        width="wide",
        axis="category",
        is_stacked=True,
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
