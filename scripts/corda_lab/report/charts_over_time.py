"""Charts over time: of a whole sweep, and of one of its steps."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from corda_lab.report import faults
from corda_lab.report.chart import DASHES, MIB, Chart, Mark, Trace, bin_seconds, histogram, rates, rounded
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.rows import Window, ended_within, is_done

TIME_BIN_COUNT_MAX = 1500
"""Most bins of a chart of the whole run. More bins than a screen has pixels would not be visible."""

ROW_COLUMNS = ("step", "started_at", "ended_at", "latency_ms", "latency_intended_ms", "outcome")


@dataclass(frozen=True)
class Panel:
    """One panel of the chart of the whole run: a series of ``metrics.parquet`` by node, multiplied by ``scale``."""

    series: str
    title: str
    scale: float = 1.0
    queue: str | None = None
    """The only kind of queue that is drawn; None for series without queues."""


PANELS = (
    Panel("node_cpu_cores", "cores"),
    Panel("node_heap_used_bytes", "heap, MiB", scale=1 / MIB),
    Panel("node_gc_share", "GC, % of time", scale=100.0),
    Panel("artemis_queue_messages", "queue, messages", queue="inbound"),
)
"""The panels of the chart of the whole run below its throughput, from top to bottom."""


def origin_of(run: StoredRun) -> float:
    """The start of the time axis in unix seconds: when the load of the first step began."""
    return min(float(step.window.load_started_at) for step in run.steps)


def span_of(step: StepEntry, origin: float) -> dict[str, Any]:
    """The phases and faults of a step on a time axis, in seconds from its ``origin`` (unix seconds)."""
    window = step.window
    return {
        "start": round(window.load_started_at - origin, 1),
        "warm_up_end": round(window.started_at - origin, 1),
        "stop": round(window.ended_at - origin, 1),
        "end": round(window.load_ended_at - origin, 1),
        "faults": faults.bands(step, origin),
    }


def spans(run: StoredRun) -> list[dict[str, Any]]:
    origin = origin_of(run)
    return [
        {"name": str(step.index), "is_valid": step.validity.valid, **span_of(step, origin)} for step in in_time(run)
    ]


def in_time(run: StoredRun) -> list[StepEntry]:
    return sorted(run.steps, key=lambda step: step.window.load_started_at)


def with_gaps(frame: pl.DataFrame, digits: int) -> tuple[list[float | None], list[float | None]]:
    """x and y of bins sorted by step and time, with a gap between the end of a step and the start of the next."""
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


def completed_over_run(rows: pl.DataFrame, run: StoredRun, width: int) -> Trace:
    """Flows completed per second over all steps, in bins of ``width`` seconds, with gaps between the steps."""
    origin = origin_of(run)
    ends = {part["step"][0]: part["ended_at"] for part in rows.filter(is_done()).partition_by("step")}
    x: list[float | None] = []
    y: list[float | None] = []
    for step in in_time(run):
        window = step.window
        times = ends.get(step.index, pl.Series(dtype=pl.Float64)) - window.load_started_at
        at, rate = rates(times, window.load_ended_at - window.load_started_at, width)
        if x:
            x.append(x[-1])
            y.append(None)
        x += [round(window.load_started_at - origin + seconds, 1) for seconds in at]
        y += rounded(rate, 2)
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
    """One trace per node of a metric over all steps: means of bins. Series that differ in other labels are summed."""
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
    marked = spans(run)
    width, sampled = (
        bin_seconds(marked[-1]["end"], at_least=seconds, count_max=TIME_BIN_COUNT_MAX) for seconds in (2, 5)
    )
    nodes = samples["node"].drop_nulls().unique().sort().to_list()
    looks = {
        node: {"colour": f"node-{node.lower()}", "dash": DASHES[place % len(DASHES)]}
        for place, node in enumerate(nodes)
    }
    traces = [completed_over_run(rows, run, width)]
    for place, panel in enumerate(PANELS, start=1):
        of_queue = pl.col("labels").str.contains(f'"{panel.queue}"', literal=True)
        frame = samples.filter(of_queue) if panel.queue else samples
        traces += nodes_over_run(
            frame, panel.series, run, sampled, panel=place, scale=panel.scale, looks=looks, is_in_legend=place == 1
        )
    return Chart(
        "over-time",
        "The whole run",
        "Throughput, and for each node CPU, heap in use, garbage collection and messages that wait in the broker. "
        "Grey: warm-up. Tinted: measuring window. Red with ✗: invalid step. Red with a name: a fault, followed by the "
        "time until throughput was back. The numbers at the top are the steps. Drag to zoom in; double-click to zoom "
        "out.",
        "",
        traces,
        x_title="seconds since the load of the first step began",
        width="wide",
        panels=("flows/s", *(panel.title for panel in PANELS)),
    )


def step_charts(step: StepEntry, rows: pl.DataFrame) -> dict[str, Any]:
    window = step.window
    origin, total = window.load_started_at, window.load_ended_at - window.load_started_at
    done = rows.filter(is_done())
    x, y = rates(done["ended_at"] - origin, total, bin_seconds(total))
    flows = Trace("completed", "main", rounded(x, 1), rounded(y, 2), kind="area")
    measured = ended_within(done, Window(window.started_at, window.ended_at))
    latency = measured[step.judged_latency_column].drop_nulls().sort()
    mean_rate = step.throughput_per_second
    drawn = [
        Chart(
            "step-throughput",
            "Throughput over time",
            "",
            "flows/s",
            [flows],
            marks=[Mark("mean", round(mean_rate, 3), f"mean {mean_rate:.2f}")],
        ),
        histogram(latency, "step-latency", "Latency distribution", "", "requests"),
    ]
    return {"charts": [chart.as_dict() for chart in drawn], "span": span_of(step, origin)}
