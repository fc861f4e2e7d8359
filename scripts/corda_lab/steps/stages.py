"""The stages of a flow inside the nodes: the values computed from the stage rows of traced flows.

Every traced flow has one row: on the node that started it (initiator), and on every node that answered (responder). The
row of an initiator joins a request by its flow id, those of responders by its trace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from corda_lab.steps.entry import Distribution, FlowStages, ResponderStages, StageLine, StagesEntry
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.rows import Window, deviation_percent, distribution, ended_within
from corda_lab.text.words import STAGE_MEANINGS, STAGES_OUTSIDE, listed

STAGES = tuple(stage for stage in STAGE_MEANINGS if stage not in STAGES_OUTSIDE)
"""The stages inside a node, in order. Stages that another CorDapp adds come after them."""

OTHER = "other"
"""The stage of a flow that is in none."""

DIFFERENCE_PERCENT_MAX = 10.0
"""How far the sum of start, stages and end may be from the time of the request, in %, before a step gets a warning."""


def column_of(stage: str) -> str:
    return f"stage_{stage}_ms"


def ordered_stages(columns: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """The names of the stages among the columns of a table, in the order of the stages."""
    present = [
        name[len("stage_") : -len("_ms")] for name in columns if name.startswith("stage_") and name.endswith("_ms")
    ]
    known = [name for name in STAGES if name in present]
    return known + [name for name in present if name not in STAGES]


def stage_lines(rows: pl.DataFrame, total_ms: pl.Series) -> list[StageLine]:
    """Mean, p50, p95 and share of every stage over ``rows``. A flow without a stage counts as 0 ms for it."""
    lines = []
    for name in ordered_stages(rows.columns):
        column = rows[column_of(name)]
        if column.null_count() == len(column):
            continue
        values = column.fill_null(0.0)
        seen = distribution(values)
        lines.append(
            StageLine(
                stage=name,
                mean_ms=seen.mean,
                p50_ms=seen.p50,
                p95_ms=seen.p95,
                share_percent=share_percent(values, total_ms),
            )
        )
    return lines


def share_percent(part_ms: pl.Series, total_ms: pl.Series) -> float | None:
    """The share of a part in a total time, in %. None if the total is 0."""
    total = float(total_ms.sum())
    return 100 * float(part_ms.sum()) / total if total else None


def total_of(rows: pl.DataFrame) -> pl.Series:
    """The sum of the stages of each row, in milliseconds."""
    return rows.select(
        pl.sum_horizontal(pl.col(column_of(name)).fill_null(0.0) for name in ordered_stages(rows.columns))
    ).to_series()


def flow_table(part: str, requests: pl.DataFrame, stages: pl.DataFrame) -> FlowStages | None:
    """The stage table of one part; None if no stage row joins its requests.

    ``requests`` has the requests in the window that succeeded or failed as expected. ``start`` is the time from the
    request until the flow is created in the node, ``end`` the time from the end of the flow until the answer; both use
    the clock of one machine. ``sum_ms_mean`` (start + stages + end) is compared with ``request_ms_mean``, the time of
    the same requests at the generator. ``bridge_flow_ms_mean`` is the time of the successful flows at the bridge.
    """
    initiators = stages.filter(pl.col("role") == "initiator").rename(
        {"started_at": "flow_started_at", "ended_at": "flow_ended_at"}
    )
    joined = requests.select("flow_id", "started_at", "ended_at", "bridge_flow_ms").join(
        initiators.drop("outcome"), on="flow_id", how="inner"
    )
    if joined.is_empty():
        return None
    totals = total_of(joined)
    start = (joined["created_at"] - joined["started_at"]) * 1000
    end = (joined["ended_at"] - joined["flow_ended_at"]) * 1000
    request = (joined["ended_at"] - joined["started_at"]) * 1000
    sum_mean = float((start + totals + end).sum()) / len(totals)
    request_mean = float(request.sum()) / len(request)
    return FlowStages(
        part=part,
        flow=str(joined["flow"][0]),
        requests=requests["trace_id"].drop_nulls().len(),
        rows=joined.height,
        stages=stage_lines(joined, request),
        start_ms=distribution(start),
        end_ms=distribution(end),
        start_share_percent=share_percent(start, request),
        end_share_percent=share_percent(end, request),
        sum_ms_mean=sum_mean,
        request_ms_mean=request_mean,
        bridge_flow_ms_mean=mean_of(joined["bridge_flow_ms"]),
        difference_percent=deviation_percent(sum_mean, request_mean),
    )


def mean_of(values: pl.Series) -> float | None:
    """The mean of the values that are not null; None if there are none."""
    known = values.drop_nulls()
    return float(known.sum()) / len(known) if len(known) else None


def responder_tables(stages: pl.DataFrame, traces: pl.Series) -> list[ResponderStages]:
    """The stage tables of the responders, by flow and node, over the rows of ``traces``."""
    answered = stages.filter((pl.col("role") == "responder") & pl.col("trace_id").is_in(traces.implode()))
    tables = []
    for rows in answered.sort("flow", "node").partition_by("flow", "node", maintain_order=True):
        totals = total_of(rows)
        tables.append(
            ResponderStages(
                flow=str(rows["flow"][0]),
                node=str(rows["node"][0]),
                rows=rows.height,
                stages=stage_lines(rows, totals),
                sum_ms_mean=float(totals.sum()) / len(totals),
            )
        )
    return tables


def consensus_latency(stages: pl.DataFrame, traces: pl.Series) -> pl.DataFrame:
    """The consensus latency of every trace: columns ``trace_id``, ``flow``, ``parties`` and ``latency_ms``.

    It is the time from the arrival of the notary's signature at the initiator until the last party committed the
    transaction; of the last one, if there are several. ``parties`` is the number of nodes that recorded it.
    """
    return (
        stages.filter(pl.col("trace_id").is_in(traces.implode()))
        .group_by("trace_id")
        .agg(
            pl.col("notarised_at").max(),
            pl.col("recorded_at").max().alias("last_recorded_at"),
            pl.col("node").filter(pl.col("recorded_at").is_not_null()).n_unique().alias("parties"),
            pl.col("flow").filter(pl.col("role") == "initiator").first().alias("flow"),
        )
        .drop_nulls(["notarised_at", "last_recorded_at", "flow"])
        .with_columns(((pl.col("last_recorded_at") - pl.col("notarised_at")) * 1000).alias("latency_ms"))
        .select("trace_id", "flow", "parties", "latency_ms")
        .sort("trace_id")
    )


def complete_only(latencies: pl.DataFrame) -> pl.DataFrame:
    """The traces with as many parties as most of their flow have. Others lack a row, maybe that of the last party."""
    usual = latencies.group_by("flow").agg(pl.col("parties").mode().max().alias("usual"))
    return latencies.join(usual, on="flow", how="inner").filter(pl.col("parties") == pl.col("usual"))


def as_meant_within(requests: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The requests that ended in the window and succeeded, or failed as the workload expects."""
    return ended_within(requests, window).filter(pl.col("outcome").is_in(["ok", "expected"]))


def node_times(requests: pl.DataFrame, stages: pl.DataFrame | None) -> pl.DataFrame:
    """``created_at`` and ``flow_ended_at`` (unix seconds, in the node) of the requests that have a stage row."""
    names = ("created_at", "flow_ended_at")
    if stages is None:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.Float64))
    initiators = stages.filter(pl.col("role") == "initiator").select(
        "flow_id", "created_at", pl.col("ended_at").alias("flow_ended_at")
    )
    return requests.select("flow_id").join(initiators, on="flow_id", how="inner").select(names).drop_nulls()


def node_latency(requests: pl.DataFrame, stages: pl.DataFrame | None, window: Window) -> Distribution | None:
    """The time in the node, in ms, of the flows done in the window; None if no flow has a stage row."""
    times = node_times(as_meant_within(requests, window), stages)
    return None if times.is_empty() else distribution((times["flow_ended_at"] - times["created_at"]) * 1000)


@dataclass(frozen=True)
class Tracing:
    """Whether nodes keep spans, how many each has dropped over a load, and whose could not be read."""

    is_on: bool = False
    dropped: Mapping[str, int] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    has_one_clock: bool = True

    def why_none(self, requests: pl.DataFrame, *, are_whole: bool) -> str:
        if are_whole:
            return "Corda has spans since 4.10. Before, only the creation and the end of the lab's own flows are known."
        if not self.is_on:
            return "The nodes keep no spans: Corda has them since 4.10, and the lab keeps them unless TRACES is off."
        if requests["trace_id"].null_count() == requests.height:
            return "No request of the measuring window was traced."
        return "No span of a request of the measuring window is there. A node keeps them as long as its container."


def stage_values(
    requests: pl.DataFrame, stages: pl.DataFrame | None, window: Window, parts: Sequence[str], tracing: Tracing
) -> StagesEntry:
    """The entry ``stages`` of a step. ``parts`` are the names of the workload's parts.

    Of a lab on several hosts, values between hosts are left out.
    """
    meant = as_meant_within(requests, window)
    tables = []
    are_whole = stages is not None and ordered_stages(stages.columns) == [OTHER]
    if stages is not None and not are_whole:
        for part in parts:
            table = flow_table(part, meant.filter(pl.col("part") == part), stages)
            if table is not None:
                tables.append(table)
    found = StagesEntry(reason=None, spans_dropped=dict(tracing.dropped))
    if stages is None or not tables:
        return found.model_copy(update={"reason": tracing.why_none(meant, are_whole=are_whole)})
    traces = meant["trace_id"].drop_nulls()
    latencies = consensus_latency(stages, traces)
    complete = complete_only(latencies)
    values = {
        "flows": tables,
        "responders": responder_tables(stages, traces),
        "consensus_latency_ms": distribution(complete["latency_ms"]),
        "consensus_left_out": latencies.height - complete.height,
    }
    found = found.model_copy(update=values)
    return found if tracing.has_one_clock else without_values_between_hosts(found)


def without_values_between_hosts(found: StagesEntry) -> StagesEntry:
    """The entry without the values whose two times are those of different clocks."""
    left_out = [f"{name} of {table.part}" for table in found.flows if table.rows for name in ("start", "end")]
    left_out += ["consensus latency"] if found.consensus_latency_ms.count else []
    no_times: dict[str, object] = {"start_ms": Distribution(), "start_share_percent": None}
    no_times |= {"end_ms": Distribution(), "end_share_percent": None}
    flows = [table.model_copy(update=no_times) for table in found.flows]
    changes = {"flows": flows, "consensus_latency_ms": Distribution(), "clocks_left_out": left_out}
    return found.model_copy(update=changes)


def warnings(stages: StagesEntry) -> list[Reason]:
    found = []
    for table in stages.flows:
        difference = table.difference_percent
        if difference is not None and abs(difference) > DIFFERENCE_PERCENT_MAX:
            found.append(reason("stages_differ", part=table.part, percent=difference))
        if table.rows < table.requests:
            missing = table.requests - table.rows
            found.append(reason("traces_missing", missing=missing, requests=table.requests, part=table.part))
    if stages.clocks_left_out:
        found.append(reason("clocks_apart", figures=listed(stages.clocks_left_out)))
    for node, count in stages.spans_dropped.items():
        if count:
            found.append(reason("spans_dropped", node=node, count=count))
    return found
