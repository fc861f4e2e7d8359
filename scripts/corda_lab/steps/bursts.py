"""The values of bursts: how long each took and how fast it was, on the clocks of generator, bridge and node.

The requests of a burst start evenly spread over a short time. A burst ends when the last of them has ended, and the
next begins after a rest. So the rows belong to the bursts in the order of their intended starts, each with the same
number of rows; only a burst that the end of the load has cut off has fewer.
"""

from collections.abc import Iterator, Mapping

import polars as pl

from corda_lab.steps.entry import Number, ValueName, Values, of_whole
from corda_lab.steps.rows import counts_by_outcome, is_done
from corda_lab.steps.stages import mean_of, node_times
from lab_workload.load import Load

CLOCKS: Mapping[str, tuple[ValueName, ValueName, ValueName]] = {
    "generator": ("burst_total_seconds", "burst_throughput_per_second", "burst_latency_mean_ms"),
    "RPC client": ("burst_rpc_total_seconds", "burst_rpc_throughput_per_second", "burst_rpc_latency_mean_ms"),
    "node": ("burst_node_total_seconds", "burst_node_throughput_per_second", "burst_node_latency_mean_ms"),
}
"""The clocks on which a burst is timed: its total time, its throughput and the mean latency of its flows."""


def bursts_values(requests: pl.DataFrame, stages: pl.DataFrame | None, load: Load) -> Values:
    """The values of each burst, by its number from 1. ``stages`` has the stage rows of the nodes, or is None.

    The throughput of each half of the load is that of the first and of the last bursts, without the one in the middle.
    """
    found: Values = {}
    for number, rows in enumerate(rows_of_bursts(requests, load.users), start=1):
        for name, value in burst_values(rows, stages).items():
            if value is not None:
                found.setdefault(name, {})[str(number)] = value
    rates = list(found["burst_throughput_per_second"].values())
    half = max(1, len(rates) // 2)
    first, second = sum(rates[:half]) / half, sum(rates[-half:]) / half
    return found | of_whole(first_half_per_second=first, second_half_per_second=second)


def rows_of_bursts(requests: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    yield from requests.sort("intended_at", "request_id").iter_slices(size)


def burst_values(rows: pl.DataFrame, stages: pl.DataFrame | None) -> dict[ValueName, Number | None]:
    """The values of one burst.

    ``burst_started_at`` is its first intended start, in unix seconds. ``burst_last_started_seconds`` is the time from
    it to the last real start, ``burst_total_seconds`` that to the last end. The bridge tells durations and no times. So
    what a request took outside of its flow is taken to have passed half before the flow began, and half after it had
    ended.
    """
    began, last_started, ended = rows.select(
        pl.col("intended_at").min(), pl.col("started_at").max(), pl.col("ended_at").max()
    ).row(0)
    done, total = rows.filter(is_done()), ended - began
    counts = counts_by_outcome(rows)
    seen = done.drop_nulls("bridge_flow_ms").with_columns(
        ((pl.col("latency_ms") - pl.col("bridge_flow_ms")).clip(lower_bound=0.0) / 2000).alias("outside_seconds")
    )
    rpc_seconds = _total(
        seen["started_at"] + seen["outside_seconds"], seen["ended_at"] - seen["outside_seconds"], done.height
    )
    times = node_times(done, stages)
    node_seconds = _total(times["created_at"], times["flow_ended_at"], done.height)
    return {
        "burst_started_at": began,
        "burst_ok": counts["ok"],
        "burst_expected": counts["expected"],
        "burst_failed": counts["failed"],
        "burst_unknown": counts["unknown"],
        "burst_last_started_seconds": last_started - began,
        "burst_total_seconds": total,
        "burst_throughput_per_second": done.height / total if total > 0 else 0.0,
        "burst_latency_mean_ms": mean_of(done["latency_intended_ms"]),
        "burst_rpc_total_seconds": rpc_seconds,
        "burst_rpc_throughput_per_second": done.height / rpc_seconds if rpc_seconds else None,
        "burst_rpc_latency_mean_ms": mean_of(seen["bridge_flow_ms"]),
        "burst_node_total_seconds": node_seconds,
        "burst_node_throughput_per_second": done.height / node_seconds if node_seconds else None,
        "burst_node_latency_mean_ms": mean_of((times["flow_ended_at"] - times["created_at"]) * 1000),
    }


def _total(began: pl.Series, ended: pl.Series, flows: int) -> float | None:
    """The seconds from the first begin to the last end on a clock; None if it did not see all ``flows``."""
    return max(ended.to_list()) - min(began.to_list()) if flows and len(began) == flows else None
