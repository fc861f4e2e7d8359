"""The series behind the charts of a sweep. Rows are counted into bins by polars; none of them goes into a page.

Curves have a trace per combination of the varied parameters that are not on the x axis, told apart by colour, dash and
marker. Charts over time have one axis for the whole run: seconds since the load of the first step began.
"""

from collections.abc import Sequence
from typing import Any, TypedDict

import polars as pl

from corda_lab.analysis.points import METRICS, Estimate, Point, grouped, judged_metric, x_name
from corda_lab.analysis.saturation import by_node as node_means
from corda_lab.report.charts_run import BIN_SECONDS, MIB, Chart, Trace, bin_seconds, bounded, histogram, rounded
from corda_lab.results.stored import StoredRun
from corda_lab.steps.rows import Window, ended_within, is_done
from corda_lab.text.words import STAGE_MEANINGS, amount, milliseconds, parameter_name, per_second

GROUP_COUNT_MAX = 8
"""Colours of the palette; more groups repeat them with another dash and marker."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "star", "triangle-down", "pentagon")
PATTERNS = ("", "/", ".", "x", "\\", "-", "|", "+")
LOG_RATIO_MIN = 16
LETTER_WIDTH, LINE_HEIGHT = 0.014, 0.06
"""Room that a name takes in a chart of half the page, as shares of the chart's width (a letter) and height."""
TIME_BIN_COUNT_MAX = 1500
"""Bins of a chart over the whole run: more than the pixels of a screen show nothing."""

ROW_COLUMNS = ("step", "started_at", "ended_at", "latency_ms", "latency_intended_ms", "outcome")
"""Columns of the rows that the report of a sweep needs."""


class Look(TypedDict):
    """How a group is told from the others."""

    colour: str
    dash: str
    symbol: str


def look_of(place: int) -> Look:
    """Colour, dash and marker of the group at a place."""
    return {
        "colour": f"group-{place % GROUP_COUNT_MAX}",
        "dash": DASHES[place % len(DASHES)],
        "symbol": SYMBOLS[place % len(SYMBOLS)],
    }


def x_axis(run: StoredRun, points: Sequence[Point]) -> dict[str, Any]:
    """Title, kind and ticks of the x axis of all curves."""
    name = x_name(run)
    if name is None:
        return {"x_title": "", "axis": "category"}
    title = "rate asked for (arrivals per second)" if name == "load.rate" else parameter_name(name)
    values = list(dict.fromkeys(point.x for point in points))
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return {"x_title": title, "axis": "category"}
    ticks = sorted(values) if len(values) <= 12 and not run.sweep.get("find_max") else None
    if min(values) > 0 and max(values) / min(values) >= LOG_RATIO_MIN:
        return {"x_title": f"{title} (logarithmic)", "axis": "log", "ticks": ticks}
    return {"x_title": title, "ticks": ticks}


def is_numeric(point: Point) -> bool:
    """Whether the point's place is a number."""
    return isinstance(point.x, int | float) and not isinstance(point.x, bool)


def place_of(point: Point) -> float | str:
    """Where the point stands on the x axis."""
    return float(point.x) if is_numeric(point) else str(point.x)


def shown(value: float | None, metric: str) -> str:
    """A figure with its unit."""
    unit = METRICS[metric].unit
    return bare(value, metric) if unit == "ms" else f"{bare(value, metric)} {unit}"


def bare(value: float | None, metric: str) -> str:
    """A figure without the unit of a rate, where that stands beside it."""
    return milliseconds(value) if METRICS[metric].unit == "ms" else per_second(value)


def without_figure(point: Point) -> str:
    """Why a point has no figure: nothing valid, or nothing of its kind (no latency of a flow that never ended)."""
    return "–" if point.valid else "no valid step"


def with_interval(point: Point, metric: str) -> str:
    """``12.3 flows/s (12.0 to 12.6, n = 3)``."""
    found = point.estimate(metric)
    if found.value is None:
        return without_figure(point)
    if found.low is None:
        return f"{shown(found.value, metric)} (n = {found.n}, no interval)"
    low, high = (bare(value, metric) for value in (found.low, found.high))
    return f"{shown(found.value, metric)} ({low} to {high}, n = {found.n})"


def curve_kind(points: Sequence[Point]) -> str:
    """A line joins numbers; between things that stand side by side (databases, versions, steps by name) there is nothing."""
    return "points" if all(is_numeric(point) for point in points) else "intervals"


def curve(points: Sequence[Point], metric: str, name: str, look: Look) -> Trace:
    """The figure of a group's points with its intervals."""
    known = [(point, point.estimate(metric)) for point in points]
    known = [(point, found) for point, found in known if found.value is not None]
    return Trace(
        name,
        x=[place_of(point) for point, _ in known],
        y=rounded((found.value for _, found in known), 4),
        y_low=rounded((found.low for _, found in known), 4),
        y_high=rounded((found.high for _, found in known), 4),
        hollow=[found.low is None for _, found in known],
        labels=[f"{point.label}: {with_interval(point, metric)}" for point, _ in known],
        kind=curve_kind(points),
        **look,
    )


def repeats(points: Sequence[Point], metric: str, *, valid: bool) -> Trace | None:
    """Each step by itself: the valid ones as small dots, the invalid ones, which are in no average, as crosses."""
    steps = [
        (point, step, METRICS[metric].of(step))
        for point in points
        for step in point.steps
        if step["validity"]["valid"] is valid
    ]
    steps = [(point, step, value) for point, step, value in steps if value is not None]
    if not steps or (valid and all(len(point.steps) == 1 for point in points)):
        return None
    return Trace(
        "each repeat" if valid else "invalid, in no average",
        "faint" if valid else "bad",
        x=[place_of(point) for point, _, _ in steps],
        y=rounded((value for _, _, value in steps), 4),
        labels=[f"step {step['index']}, {point.label}: {shown(value, metric)}" for point, step, value in steps],
        kind="marks",
        symbol="circle" if valid else "x",
    )


def metric_chart(
    run: StoredRun, points: Sequence[Point], metric: str, *, title: str, caption: str, width: str
) -> Chart:
    """One figure against x, with a trace per group."""
    curves = [point for point in points if point.phase == "measure"] or list(points)
    traces = [one for one in (repeats(curves, metric, valid=True),) if one]
    for number, (name, members) in enumerate(grouped(curves).items()):
        traces.append(curve(members, metric, name or METRICS[metric].title, look_of(number)))
    if invalid := repeats(points, metric, valid=False):
        traces.append(invalid)
    if is_rate(run) and metric == "throughput":
        rates = sorted({float(point.x) for point in points})
        traces.insert(0, Trace("all that is asked for", "faint", rates, list(rates), dash="dot"))
    unit = METRICS[metric].unit
    return bounded(
        Chart(f"curve-{metric}", title, caption, unit, traces, is_over_time=False, width=width, **x_axis(run, points))
    )


def is_rate(run: StoredRun) -> bool:
    """Whether x is the rate of an open load, so that throughput cannot be more."""
    return (x_name(run) or "").startswith("load.rate")


def throughput_latency(run: StoredRun, points: Sequence[Point]) -> Chart:
    """What throughput costs in latency, in the order of x."""
    is_search = bool(run.sweep.get("find_max"))
    curves = [point for point in points if point.phase == "measure"] or list(points)
    estimated = [(point, point.estimate("throughput"), point.estimate("p95")) for point in curves]
    estimated = [one for one in estimated if one[1].value is not None and one[2].value is not None]
    names = {} if is_search else names_apart(estimated)
    traces = []
    for number, (name, members) in enumerate(grouped(curves).items()):
        known = [one for one in estimated if any(one[0] is point for point in members)]
        traces.append(
            Trace(
                name or "p95",
                x=rounded((rate.value for _, rate, _ in known), 4),
                y=rounded((latency.value for _, _, latency in known), 2),
                x_low=rounded((rate.low for _, rate, _ in known), 4),
                x_high=rounded((rate.high for _, rate, _ in known), 4),
                y_low=rounded((latency.low for _, _, latency in known), 2),
                y_high=rounded((latency.high for _, _, latency in known), 2),
                hollow=[rate.low is None for _, rate, _ in known],
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
        + ("" if all(names.values()) else " A name that would cover another is shown at its point."),
        "p95, ms",
        traces,
        x_title="flows/s",
        is_over_time=False,
        axis="zero",
    )
    return bounded(chart)


def names_apart(estimated: Sequence[tuple[Point, Estimate, Estimate]]) -> dict[str, str]:
    """What stands beside each point, by its key: its x, or nothing where that would cover another's.

    ``estimated`` is each point with its throughput in flows/s and its p95 in ms.
    """
    right = max((rate.high or rate.value or 0 for _, rate, _ in estimated), default=0)
    top = max((latency.high or latency.value or 0 for _, _, latency in estimated), default=0)
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
    """The caption of the chart of one against the other."""
    what = "Each point's p95 against its throughput"
    if curve_kind(points) == "intervals":
        return f"{what}. Right is faster, down is sooner."
    name = x_name(run) or ""
    small = "" if run.sweep.get("find_max") else ", which the small numbers are"
    joined = f"{what}, joined in the order of {parameter_name(name)}{small}."
    if name.startswith("load."):
        return f"{joined} Where the line turns upwards more load buys waiting, not work."
    return f"{joined} Right is faster, down is sooner."


def search_path(run: StoredRun) -> Chart:
    """The rates that a search for the highest one tried, in order, and what came of each."""
    steps = sorted(run.steps, key=lambda step: int(step["index"]))
    kinds = {
        "held": ("good", "circle", [s for s in steps if s["phase"] == "probe" and step_holds(s)]),
        "did not hold": ("bad", "x", [s for s in steps if s["phase"] == "probe" and not step_holds(s)]),
        "confirmed by a longer run": ("good", "star", [s for s in steps if s["phase"] == "confirm" and step_holds(s)]),
        "not confirmed": ("bad", "cross", [s for s in steps if s["phase"] == "confirm" and not step_holds(s)]),
    }
    path = Trace(
        "search",
        "faint",
        x=[float(step["index"]) for step in steps],
        y=[step["load"]["rate_per_second"] for step in steps],
        labels=[f"step {step['index']}: {step['load']['rate_per_second']:g}/s" for step in steps],
        dash="dot",
    )
    marks = [
        Trace(
            name,
            colour,
            x=[float(step["index"]) for step in found],
            y=[step["load"]["rate_per_second"] for step in found],
            labels=[
                f"step {step['index']}, {step['load']['rate_per_second']:g}/s: {why(step) or name}" for step in found
            ],
            kind="points-only",
            symbol=symbol,
        )
        for name, (colour, symbol, found) in kinds.items()
        if found
    ]
    return Chart(
        "search",
        "Search for the highest rate",
        "Doubled until a rate does not hold, then halved between the two, both edges asked again until two answers agree, then "
        "confirmed by a longer run. A rate holds when its step is valid, achieves what is offered, and keeps the objective.",
        "arrivals/s",
        [path, *marks],
        x_title="step",
        is_over_time=False,
        width="wide",
    )


def step_holds(step: dict[str, Any]) -> bool:
    """Whether a step is valid and within the thresholds."""
    return bool(step["validity"]["valid"] and step["thresholds"]["passed"])


def why(step: dict[str, Any]) -> str:
    """Why a step is not, in a few words."""
    return "; ".join(dict.fromkeys([*step["validity"]["reasons"], *step["thresholds"]["reasons"]]))


def origin_of(run: StoredRun) -> float:
    """The moment at which the one time axis of the run begins, in unix seconds."""
    return min(float(step["window"]["load_started_at"]) for step in run.steps)


def spans(run: StoredRun) -> list[dict[str, Any]]:
    """Where each step and its phases lie on the time axis."""
    origin = origin_of(run)
    return [
        {
            "name": str(step["index"]),
            "is_valid": step["validity"]["valid"],
            "start": round(step["window"]["load_started_at"] - origin, 1),
            "warm_up_end": round(step["window"]["started_at"] - origin, 1),
            "stop": round(step["window"]["ended_at"] - origin, 1),
            "end": round(step["window"]["load_ended_at"] - origin, 1),
        }
        for step in sorted(run.steps, key=lambda step: float(step["window"]["load_started_at"]))
    ]


def whole_width(total_seconds: float, *, at_least: float) -> float:
    """Width of a bin with which the whole run has not too many."""
    fitting = [width for width in BIN_SECONDS if width >= at_least and total_seconds / width <= TIME_BIN_COUNT_MAX]
    return float(fitting[0] if fitting else total_seconds / TIME_BIN_COUNT_MAX)


def with_gaps(frame: pl.DataFrame, digits: int) -> tuple[list[float | None], list[float | None]]:
    """x and y of bins that are sorted by step and time, with nothing drawn from the end of a step to the next one's begin."""
    x: list[float | None] = []
    y: list[float | None] = []
    before: Any = None
    for step, at, value in frame.iter_rows():
        if before is not None and step != before:
            x.append(x[-1])
            y.append(None)
        x.append(round(at, 1))
        y.append(round(value, digits))
        before = step
    return x, y


def completed_over_run(rows: pl.DataFrame, run: StoredRun, width: float) -> Trace:
    """Flows completed per second, in bins, over all steps. The last bin of a step counts as long as it is."""
    origin = origin_of(run)
    edges = pl.DataFrame(
        [
            (int(step["index"]), step["window"]["load_started_at"] - origin, step["window"]["load_ended_at"] - origin)
            for step in run.steps
        ],
        schema={"step": pl.Int32, "from": pl.Float64, "to": pl.Float64},
        orient="row",
    )
    grid = edges.select(
        "step",
        "from",
        "to",
        pl.int_ranges(0, ((pl.col("to") - pl.col("from")) / width).ceil().cast(pl.Int64).clip(1)).alias("bin"),
    ).explode("bin")
    counts = (
        rows.filter(is_done())
        .select("step", "ended_at")
        .join(edges, on="step")
        .group_by("step", ((pl.col("ended_at") - origin - pl.col("from")) / width).floor().cast(pl.Int64).alias("bin"))
        .agg(pl.len().alias("count"))
    )
    begin = pl.col("from") + pl.col("bin") * width
    length = pl.min_horizontal(pl.lit(width), pl.col("to") - begin)
    drawn = (
        grid.join(counts, on=["step", "bin"], how="left")
        # A sliver at the end would show a wild rate.
        .filter(length >= width / 2)
        .select(
            "step",
            (begin + length / 2).alias("at"),
            (pl.col("count").fill_null(0).cast(pl.Float64) / length).alias("y"),
        )
        .sort("at")
    )
    x, y = with_gaps(drawn, 2)
    return Trace("flows completed", "main", x, y, kind="line", panel=0, is_in_legend=True)


def nodes_over_run(
    samples: pl.DataFrame,
    name: str,
    run: StoredRun,
    width: float,
    *,
    panel: int,
    scale: float = 1.0,
    looks: dict[str, dict[str, str]],
    is_in_legend: bool,
) -> list[Trace]:
    """One trace per node of a series over all steps: the mean of each bin, of what the series has per node summed."""
    origin = origin_of(run)
    first, last = spans(run)[0]["start"], spans(run)[-1]["end"]
    at = pl.col("time") - origin
    binned = (
        samples.filter((pl.col("name") == name) & pl.col("node").is_not_null() & at.is_between(first, last + 5))
        .group_by("step", "node", "time", maintain_order=True)
        .agg(pl.col("value").sum())
        .group_by("step", "node", (at / width).floor().alias("bin"), maintain_order=True)
        .agg(pl.col("value").mean() * scale)
        .select("node", "step", ((pl.col("bin") + 0.5) * width).alias("at"), "value")
        .sort("node", "at")
    )
    traces = []
    for part in binned.partition_by("node", maintain_order=True):
        node = part["node"][0]
        x, y = with_gaps(part.drop("node"), 3)
        look = looks.get(node, {"colour": "faint", "dash": "solid"})
        traces.append(Trace(node, look["colour"], x, y, dash=look["dash"], panel=panel, is_in_legend=is_in_legend))
    return traces


def over_the_run(run: StoredRun, rows: pl.DataFrame, samples: pl.DataFrame) -> Chart:
    """Throughput, processor, heap, garbage collection and queues over one time axis, phases and steps marked."""
    marked = spans(run)
    width = whole_width(marked[-1]["end"], at_least=1)
    sampled = whole_width(marked[-1]["end"], at_least=5)
    nodes = samples["node"].drop_nulls().unique().sort().to_list()
    looks = {
        node: {"colour": f"node-{node.lower()}", "dash": DASHES[place % len(DASHES)]}
        for place, node in enumerate(nodes)
    }
    inbound = samples.filter(pl.col("labels").str.contains('"inbound"', literal=True))
    traces = [completed_over_run(rows, run, max(width, 2.0))]
    for panel, (name, frame, scale) in enumerate(
        (
            ("node_cpu_cores", samples, 1.0),
            ("node_heap_used_bytes", samples, 1 / MIB),
            ("node_gc_share", samples, 100.0),
            ("artemis_queue_messages", inbound, 1.0),
        ),
        start=1,
    ):
        traces += nodes_over_run(
            frame, name, run, sampled, panel=panel, scale=scale, looks=looks, is_in_legend=panel == 1
        )
    return Chart(
        "over-time",
        "The whole run",
        "Throughput, and per node processor, heap in use, garbage collection and messages waiting in the broker, over one "
        "time axis. Grey: warm-up; tinted: measured; red with ✗: an invalid step. The numbers on top are the steps. "
        "Drag to zoom, double-click to zoom out.",
        "",
        traces,
        x_title="seconds since the first step's load began",
        width="wide",
        panels=("flows/s", "cores", "heap, MiB", "GC, % of time", "queue, messages"),
    )


def stage_means(point: Point) -> dict[str, float]:
    """Mean milliseconds of each stage over the point's valid steps, start and end included; empty without stage rows."""
    per_step = []
    for step in point.valid:
        tables = step["stages"]["flows"] if not step["stages"]["reason"] else []
        total = sum(table["rows"] for table in tables)
        if not total:
            continue
        sums: dict[str, float] = {}
        for table in tables:
            lines = {
                "start": table["start_ms"]["mean"],
                **{line["stage"]: line["mean_ms"] for line in table["stages"]},
                "end": table["end_ms"]["mean"],
            }
            for stage, value in lines.items():
                sums[stage] = sums.get(stage, 0.0) + (value or 0.0) * table["rows"] / total
        per_step.append(sums)
    return node_means(per_step)


def stage_chart(points: Sequence[Point]) -> Chart | None:
    """Where a flow's time goes at each point; None where no step has stages."""
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
                f"group-{number % GROUP_COUNT_MAX}",
                [point.label for point, _ in means],
                rounded(values, 3),
                kind="bars",
                pattern=PATTERNS[(number + number // GROUP_COUNT_MAX) % len(PATTERNS)],
                labels=labels,
            )
        )
    return Chart(
        "stages",
        "Stages of a flow by point",
        "Mean time of the requests of the measuring window, cut into the stages that the flows time themselves; start and end "
        "are outside the node. What grows with the load is where flows wait.",
        "ms",
        traces,
        x_title="",
        is_over_time=False,
        width="wide",
        axis="category",
        is_stacked=True,
    )


def costs_of(point: Point, name: str) -> dict[str, float]:
    """Mean over the point's valid steps of one cost, by node; empty where it could not be measured."""
    return node_means([step["costs"].get(name) or {} for step in point.valid if step["costs"].get(name)])


LAB_PARTS = ("bridge", "locust", "prometheus")
"""Parts of the lab that cost processor time and are not what is measured."""


def under_test(costs: dict[str, float]) -> dict[str, float]:
    """What the nodes and their database cost, without the lab's own parts."""
    return {name: value for name, value in costs.items() if name not in LAB_PARTS}


def cost_chart(points: Sequence[Point]) -> Chart | None:
    """Processor time of a flow at each point, by node; None where it was not measured."""
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
        "Processor time of a flow by point",
        "Processor time that all parts of the lab spent in the measuring window, divided by its flows; bridge, locust and "
        "prometheus are the lab's own, PostgreSQL's is of the whole load. Even bars: a flow's price does not depend on the load.",
        "CPU-ms per flow",
        traces,
        x_title="",
        is_over_time=False,
        width="wide",
        axis="category",
        is_stacked=True,
    )


def step_charts(step: dict[str, Any], rows: pl.DataFrame) -> dict[str, Any]:
    """Throughput over time and the latency histogram of one step, in bins. ``rows`` are the step's own."""
    window = step["window"]
    origin, total = window["load_started_at"], window["load_ended_at"] - window["load_started_at"]
    width = bin_seconds(total)
    done = rows.filter(is_done())
    counts = dict(done.group_by(((pl.col("ended_at") - origin) / width).floor().cast(pl.Int64)).len().iter_rows())
    places = [place for place in range(int(total // width) + 1) if min(width, total - place * width) >= width / 2]
    lengths = [min(width, total - place * width) for place in places]
    flows = Trace(
        "completed",
        "main",
        [round(place * width + length / 2, 1) for place, length in zip(places, lengths, strict=True)],
        [round(counts.get(place, 0) / length, 2) for place, length in zip(places, lengths, strict=True)],
        kind="area",
    )
    column = "latency_intended_ms" if step["open_load"] else "latency_ms"
    measured = ended_within(done, Window(window["started_at"], window["ended_at"]))[column].drop_nulls().sort()
    mean_rate = step["throughput_per_second"]
    drawn = [
        Chart(
            "step-throughput",
            "Throughput over time",
            "",
            "flows/s",
            [flows],
            marks=[{"kind": "mean", "value": round(mean_rate, 3), "text": f"{mean_rate:.2f} in the window"}],
        ),
        histogram(measured, "step-latency", "Latency distribution", "", "requests"),
    ]
    span = {
        "start": 0,
        "warm_up_end": round(window["started_at"] - origin, 1),
        "stop": round(window["ended_at"] - origin, 1),
        "end": round(total, 1),
    }
    return {"charts": [chart.as_dict() for chart in drawn], "span": span}


def curves(run: StoredRun, points: Sequence[Point]) -> list[Chart]:
    """The curves of a sweep: throughput, latency, and one against the other."""
    confidence = f"{100 * float(run.sweep['confidence']):g} %"
    bars = f"Bars are {confidence} intervals over the valid repeats; a hollow point has one repeat and no interval."
    states = metric_chart(
        run, points, "states", title="Throughput in states", caption=f"States made per second. {bars}", width="wide"
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
                caption=f"{share} took no longer. Marks as in the chart of throughput.",
                width="third",
            )
            for name, share in (("p50", "Half of the requests"), ("p95", "19 of 20"), ("p99", "99 of 100"))
        ),
    ]
