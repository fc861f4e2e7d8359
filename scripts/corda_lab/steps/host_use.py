"""What the hosts of a stack used in the measuring window: processor, memory and network, from a sample each second."""

import polars as pl

from corda_lab.steps.entry import HostUseEntry
from corda_lab.steps.rows import Window

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
