"""Times of several hosts, made times of one: that of the load generator. What is not known well enough is left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from corda_lab.steps.entry import ClockEntry, ClockReading, Distribution, FlowStages, HostUseEntry
from corda_lab.steps.rows import Window

SHARE_MAX = 0.1
"""A value is shown if the clocks behind it may be wrong by at most this share of its median."""
OFFSET_SECONDS_MAX = 1.0
"""With a clock that differs by more, no load begins: not all times of a run are corrected."""
ROW_TIMES = ("intended_at", "started_at", "ended_at")
"""The columns of a request that are times of its worker."""
BRIDGE_TIMES = ("bridge_received_at", "bridge_started_at")
"""The columns of a request that are times of the bridge."""
NEVER_READ = ClockEntry(before=None, after=None)
NO_VALUES = Distribution(count=0, mean=None, min=None, p50=None, p90=None, p95=None, p99=None, max=None)


@dataclass(frozen=True)
class Correction:
    """What to take from times of a host to get times of the load generator's host, and by how much it may be wrong."""

    offset_seconds: float = 0.0
    error_seconds: float = 0.0


def correction(clock: ClockEntry) -> Correction | None:
    """The correction over a load: halfway between the two readings, and wrong by half of their difference at most.

    None if one of the readings is missing. The errors of the readings come on top.
    """
    before, after = clock.before, clock.after
    if before is None or after is None:
        return None
    drift = abs(after.offset_ms - before.offset_ms) / 2
    error = drift + max(before.error_ms, after.error_ms)
    return Correction((before.offset_ms + after.offset_ms) / 2 / 1000, error / 1000)


def entries(
    before: Mapping[str, ClockReading], after: Mapping[str, ClockReading], reference: str, hosts: Sequence[str]
) -> dict[str, ClockEntry]:
    """The clocks of hosts before and after a load, as they differ from that of the host ``reference``.

    ``before`` and ``after`` have readings against a third clock, of the hosts that answered.
    """
    return {
        host: ClockEntry(before=_against(before, host, reference), after=_against(after, host, reference))
        for host in hosts
    }


def _against(readings: Mapping[str, ClockReading], host: str, reference: str) -> ClockReading | None:
    if host == reference:
        return ClockReading(offset_ms=0.0, error_ms=0.0)
    if host not in readings or reference not in readings:
        return None
    one, other = readings[host], readings[reference]
    return ClockReading(
        offset_ms=round(one.offset_ms - other.offset_ms, 4), error_ms=round(one.error_ms + other.error_ms, 4)
    )


def corrections(clocks: Mapping[str, ClockEntry]) -> dict[str, Correction]:
    """The corrections of the hosts whose clock is known."""
    found = {host: correction(clock) for host, clock in clocks.items()}
    return {host: one for host, one in found.items() if one is not None}


def corrected_requests(
    requests: pl.DataFrame, hosts: Mapping[int, str], bridge: str, clocks: Mapping[str, ClockEntry]
) -> pl.DataFrame:
    """Requests with the times of the load generator's host. ``hosts`` has the host of each worker, by its index.

    ``bridge`` is the host of the bridge. Times of a host whose clock is not known stay as they are.
    """
    known = corrections(clocks)
    offsets = {str(worker): known[host].offset_seconds for worker, host in hosts.items() if host in known}
    shifted = _shifted(requests, "worker", offsets, ROW_TIMES)
    offset = known[bridge].offset_seconds if bridge in known else 0.0
    return shifted.with_columns((pl.col(name) - offset).alias(name) for name in BRIDGE_TIMES if name in shifted.columns)


def corrected_stage_rows(
    rows: pl.DataFrame, hosts: Mapping[str, str], clocks: Mapping[str, ClockEntry], times: Sequence[str]
) -> pl.DataFrame:
    """Stage rows with the times of the load generator's host. ``hosts`` has the host of each node."""
    known = corrections(clocks)
    offsets = {node: known[host].offset_seconds for node, host in hosts.items() if host in known}
    return _shifted(rows, "node", offsets, times)


def corrected_samples(samples: pl.DataFrame, clocks: Mapping[str, ClockEntry]) -> pl.DataFrame:
    """Samples of hosts, by the column ``host``, with the times of the load generator's host."""
    offsets = {host: one.offset_seconds for host, one in corrections(clocks).items()}
    return _shifted(samples, "host", offsets, ("time",))


def _shifted(table: pl.DataFrame, by: str, offsets: Mapping[str, float], times: Sequence[str]) -> pl.DataFrame:
    if not any(offsets.values()):
        return table
    offset = pl.col(by).cast(pl.String()).replace_strict(dict(offsets), default=0.0, return_dtype=pl.Float64())
    return table.with_columns((pl.col(name) - offset).alias(name) for name in times if name in table.columns)


def error_ms(clocks: Mapping[str, ClockEntry]) -> float | None:
    """By how much a time between two hosts may be wrong after the correction: the two largest errors together.

    None if the clock of a host is not known.
    """
    known = corrections(clocks)
    if len(known) < len(clocks):
        return None
    largest = sorted((one.error_seconds for one in known.values()), reverse=True)[:2]
    return round(1000 * sum(largest), 3)


def slack_seconds(clocks: Mapping[str, ClockEntry]) -> float:
    """By how much a clock may differ from that of the generator: what is seen there may seem earlier, or later.

    A clock that could not be read may be as wrong as one with which a load still begins.
    """
    known = corrections(clocks)
    least = 0.0 if len(known) == len(clocks) else OFFSET_SECONDS_MAX
    return max([least, *(abs(one.offset_seconds) + one.error_seconds for one in known.values())])


def is_known_well(value: Distribution, error: float | None) -> bool:
    """Whether the clocks are known well enough for a value in ms. ``error`` is theirs in ms; None: not known."""
    return error is not None and value.p50 is not None and error <= SHARE_MAX * abs(value.p50)


def without_unknown(table: FlowStages, error: float | None) -> tuple[FlowStages, list[str]]:
    """A stage table without the times between hosts that are not known well enough, and the names of those."""
    left_out = [
        name for name in ("start", "end") if not is_known_well(getattr(table, f"{name}_ms"), error) and table.rows
    ]
    changes = {f"{name}_ms": NO_VALUES for name in left_out} | {f"{name}_share_percent": None for name in left_out}
    return table.model_copy(update=changes), [f"{name} of {table.part}" for name in left_out]


HOSTS_SCHEMA = pl.Schema(
    {
        "host": pl.String,
        "time": pl.Float64,
        "busy_seconds": pl.Float64,
        "stolen_seconds": pl.Float64,
        "total_seconds": pl.Float64,
        "memory_used_bytes": pl.Int64,
        "swapped_pages": pl.Int64,
        "received_bytes": pl.Int64,
        "sent_bytes": pl.Int64,
    }
)
"""The columns of ``hosts.parquet``: unix seconds, and counters since the start of the host. CPU time is that of all
cores; busy time includes the stolen. Bytes are those of the interface with the address of the host in the swarm, and
null if it was not found."""

COUNTED = ("cpu_seconds", "memory_bytes", "disk_written_bytes")
"""What is added up over the containers of a part of the lab."""

NO_HOSTS = pl.DataFrame(schema=HOSTS_SCHEMA)
"""The samples of a load on one machine."""


NEAR_SECONDS = 1.5
"""Samples of two hosts belong together if they are no further apart: they are taken each second."""


def by_part(samples: pl.DataFrame) -> pl.DataFrame:
    """Samples of containers without their ``host``: a part of the lab on several hosts is added up.

    ``samples`` has the columns of ``usage.SAMPLES_SCHEMA`` and ``host``. To each sample of the host on which most were
    taken, the nearest of every other host is added. One without a near sample there is left out.
    """
    parts = samples.sort("time").partition_by("container", maintain_order=True)
    return pl.concat([samples.drop("host").clear(), *(_added_up(part) for part in parts)])


def _added_up(part: pl.DataFrame) -> pl.DataFrame:
    first, *others = sorted(part.partition_by("host", maintain_order=True), key=lambda one: -one.height)
    total = first.drop("host")
    for other in others:
        beside = other.select("time", *(pl.col(name).alias(f"{name}_there") for name in COUNTED))
        total = (
            total.join_asof(beside, on="time", strategy="nearest", tolerance=NEAR_SECONDS)
            .filter(pl.col("cpu_seconds_there").is_not_null())
            .with_columns((pl.col(name) + pl.col(f"{name}_there")).alias(name) for name in COUNTED)
            .drop(f"{name}_there" for name in COUNTED)
        )
    return total


def host_use(samples: pl.DataFrame, window: Window) -> dict[str, HostUseEntry]:
    """The use of each host over a window, by its name. ``samples`` has the columns of ``HOSTS_SCHEMA``.

    A host with less than two samples in the window is left out.
    """
    within = samples.filter(pl.col("time").is_between(window.started_at, window.ended_at)).sort("time")
    counters = ("time", "busy_seconds", "stolen_seconds", "total_seconds", "swapped_pages", "received_bytes")
    rises = within.group_by("host").agg(
        *((pl.col(name).last() - pl.col(name).first()).alias(name) for name in (*counters, "sent_bytes")),
        pl.col("memory_used_bytes").mean(),
    )
    return {
        str(row["host"]): HostUseEntry(
            busy_percent=100 * row["busy_seconds"] / row["total_seconds"],
            stolen_percent=100 * row["stolen_seconds"] / row["total_seconds"],
            memory_used_bytes=row["memory_used_bytes"],
            swapped_pages=row["swapped_pages"],
            received_bytes_per_second=_rate(row["received_bytes"], row["time"]),
            sent_bytes_per_second=_rate(row["sent_bytes"], row["time"]),
        )
        for row in rises.sort("host").iter_rows(named=True)
        if row["time"] > 0 and row["total_seconds"] > 0
    }


def _rate(rise: int | None, seconds: float) -> float | None:
    return None if rise is None else rise / seconds
