"""The values of bursts: how long each took and how fast it was, on the clocks of generator, bridge and node.

The requests of a burst start evenly spread over a short time. A burst ends when the last of them has ended, and the
next begins after a rest. So the rows belong to the bursts in the order of their intended starts, each with the same
number of rows; only a burst that the end of the load has cut off has fewer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.steps.entry import BurstEntry, BurstsEntry, NodeValues, RequestValues, Steadiness
from corda_lab.steps.open_load import GENERATOR_LATE_SHARE_MAX, own_lag, with_lag
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.rows import counts_by_outcome, deviation_percent, distribution, is_done
from corda_lab.steps.stages import mean_of, node_times
from lab_workload.load import Load


def bursts_values(requests: pl.DataFrame, stages: pl.DataFrame | None, load: Load) -> BurstsEntry:
    """The entry ``bursts`` of a step. ``stages`` has the stage rows of the nodes, or is None."""
    timed = with_lag(requests, load.places)
    own = own_lag(timed)
    return BurstsEntry(
        requests=load.users,
        within_seconds=load.within_seconds,
        pool=load.places,
        rest_seconds=load.rest_seconds,
        bursts=tuple(burst_values(rows, stages) for rows in rows_of_bursts(requests, load.users)),
        lag_ms=distribution(timed["lag_ms"]),
        generator_late=own.late,
        generator_lag_ms_max=own.allowed_ms,
    )


def rows_of_bursts(requests: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    yield from requests.sort("intended_at", "request_id").iter_slices(size)


def burst_values(rows: pl.DataFrame, stages: pl.DataFrame | None) -> BurstEntry:
    """The values of one burst.

    The bridge tells durations and no times. So what a request took outside of its flow is taken to have passed half
    before the flow began, and half after it had ended.
    """
    began, last_started, ended = rows.select(
        pl.col("intended_at").min(), pl.col("started_at").max(), pl.col("ended_at").max()
    ).row(0)
    done, total = rows.filter(is_done()), ended - began
    seen = done.drop_nulls("bridge_flow_ms").with_columns(
        ((pl.col("latency_ms") - pl.col("bridge_flow_ms")).clip(lower_bound=0.0) / 2000).alias("outside_seconds")
    )
    rpc = _Clock(seen["started_at"] + seen["outside_seconds"], seen["ended_at"] - seen["outside_seconds"], done.height)
    times = node_times(done, stages)
    node = _Clock(times["created_at"], times["flow_ended_at"], done.height)
    return BurstEntry(
        started_at=began,
        **counts_by_outcome(rows),
        last_started_seconds=last_started - began,
        total_seconds=total,
        throughput_per_second=done.height / total if total > 0 else 0.0,
        latency_mean_ms=mean_of(done["latency_intended_ms"]),
        rpc_total_seconds=rpc.total_seconds,
        rpc_throughput_per_second=rpc.throughput_per_second,
        rpc_latency_mean_ms=mean_of(seen["bridge_flow_ms"]),
        node_total_seconds=node.total_seconds,
        node_throughput_per_second=node.throughput_per_second,
        node_latency_mean_ms=mean_of(node.latency_ms),
    )


class _Clock:
    """The flows of a burst as one clock saw them. All times are in unix seconds.

    If it saw fewer than ``flows``, how long all of them took is not known.
    """

    def __init__(self, began: pl.Series, ended: pl.Series, flows: int) -> None:
        self.latency_ms = (ended - began) * 1000
        self.total_seconds: float | None = None
        self._flows = flows
        if flows and len(began) == flows:
            self.total_seconds = max(ended.to_list()) - min(began.to_list())

    @property
    def throughput_per_second(self) -> float | None:
        """Flows ÷ the time from the first begin to the last end."""
        return self._flows / self.total_seconds if self.total_seconds else None


def within_bursts(
    values: RequestValues, by_node: Sequence[NodeValues], bursts: Sequence[BurstEntry]
) -> tuple[RequestValues, tuple[NodeValues, ...]]:
    """The values of a step of bursts and of its nodes, with the throughput within a burst for that over the window.

    The window has the rests too. Parts, states and nodes have their share of the throughput. The halves of the window
    are the first and the last bursts, without the one in the middle.
    """
    rates = [burst.throughput_per_second for burst in bursts]
    throughput, whole = sum(rates) / len(rates), values.throughput_per_second
    factor = throughput / whole if whole else 0.0
    half = max(1, len(rates) // 2)
    first, second = sum(rates[:half]) / half, sum(rates[-half:]) / half
    changes = {
        "throughput_per_second": throughput,
        "throughput_states_per_second": _scaled(values.throughput_states_per_second, factor),
        "parts": tuple(
            part.model_copy(
                update={
                    "throughput_per_second": part.throughput_per_second * factor,
                    "throughput_states_per_second": _scaled(part.throughput_states_per_second, factor),
                }
            )
            for part in values.parts
        ),
        "steadiness": Steadiness(
            first_half_per_second=first, second_half_per_second=second, change_percent=deviation_percent(second, first)
        ),
    }
    shares = tuple(
        node.model_copy(update={"throughput_per_second": node.throughput_per_second * factor}) for node in by_node
    )
    return values.model_copy(update=changes), shares


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


@dataclass(frozen=True)
class ClockMeans:
    """The means over the bursts of a step on one clock. They are None if nothing is known on it."""

    name: str
    total_seconds: float | None
    throughput_per_second: float | None
    latency_mean_ms: float | None


CLOCKS = {"generator": "", "RPC client": "rpc_", "node": "node_"}
"""The clocks on which a burst is timed, and how the names of their fields in ``BurstEntry`` begin."""


def clocks_of(values: BurstsEntry) -> list[ClockMeans]:
    fields = ("total_seconds", "throughput_per_second", "latency_mean_ms")
    return [ClockMeans(name, *(values.mean(prefix + field) for field in fields)) for name, prefix in CLOCKS.items()]


def generator_was_limit(values: BurstsEntry) -> Reason | None:
    """Why the generator limited the bursts, and not the system; None if it did not."""
    late, total = values.generator_late, values.lag_ms.count
    if late <= max(1, GENERATOR_LATE_SHARE_MAX * total):
        return None
    return reason("generator_late", late=late, requests=total, allowed_ms=values.generator_lag_ms_max)
