"""The cost of one flow: CPU, allocation, network and database, by node.

``docs/methodology.md`` defines every value.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from corda_lab.steps.entry import CostsEntry, RequestValues
from corda_lab.steps.rows import Window

DATABASE = "PostgreSQL"
"""Name of the database server in the costs by node."""


@dataclass(frozen=True)
class Reading:
    """Counters at one moment: bytes by node, sent to other containers and stored in the database.

    ``database_cpu_seconds`` is the CPU time that PostgreSQL has used; None if the nodes use H2.
    """

    sent: Mapping[str, int]
    database: Mapping[str, int]
    database_cpu_seconds: float | None = None


def counter_rise(metrics: pl.DataFrame, name: str, window: Window, *, label: str | None = None) -> dict[str, float]:
    """The increase per second of a counter from its first to its last scrape in the window, by node or by ``label``.

    A counter that falls has started again at 0. What it counted between its last scrape and that start is lost.
    """
    key = pl.col("labels").str.json_path_match(f"$.{label}") if label else pl.col("node")
    samples = (
        metrics.filter((pl.col("name") == name) & pl.col("time").is_between(window.started_at, window.ended_at))
        .with_columns(key.alias("key"))
        .drop_nulls("key")
        .sort("time")
    )
    rises = samples.group_by("key").agg(
        rise_over_resets(pl.col("value")).alias("rise"),
        (pl.col("time").last() - pl.col("time").first()).alias("seconds"),
    )
    return {
        str(found): float(rise) / float(seconds)
        for found, rise, seconds in rises.sort("key").iter_rows()
        if seconds > 0
    }


def rise_over_resets(values: pl.Expr) -> pl.Expr:
    """The increase of a counter over its samples in order. After a reset, it has risen from 0."""
    step = values.diff()
    return pl.when(step < 0).then(values).otherwise(step).sum()


def cost_values(
    values: RequestValues,
    states_per_flow: Mapping[str, int | None],
    window: Window,
    metrics: pl.DataFrame,
    before: Reading,
    after: Reading,
) -> CostsEntry:
    """The entry ``costs`` of a step.

    CPU and allocation are rates over the measuring window ÷ its throughput. Sent bytes, database bytes and the CPU time
    of PostgreSQL are differences from before the load to the rest after it, including the warm-up, ÷ all flows that
    were completed. Bytes per state are known only if every part that had a success defines its states per flow.
    """
    rate = values.throughput_per_second
    done = values.requests.ok + values.requests.expected
    made = [(states_per_flow[part.name], part.requests.ok) for part in values.parts if part.requests.ok]
    states = 0 if any(each is None for each, _ in made) else sum((each or 0) * count for each, count in made)
    cpu = counter_rise(metrics, "node_cpu_seconds_total", window) | counter_rise(
        metrics, "lab_cpu_seconds_total", window, label="job"
    )
    stored = _differences(before.database, after.database)
    return CostsEntry(
        cpu_seconds_per_flow=_shares(cpu, rate) | _shares(_database_cpu(before, after), done),
        allocated_bytes_per_flow=_shares(counter_rise(metrics, "node_allocated_bytes_total", window), rate),
        sent_bytes_per_flow=_shares(_differences(before.sent, after.sent), done),
        database_bytes_per_flow=_shares(stored, done),
        database_bytes_per_state=_shares(stored, states),
    )


def _database_cpu(before: Reading, after: Reading) -> dict[str, float]:
    if before.database_cpu_seconds is None or after.database_cpu_seconds is None:
        return {}
    return {DATABASE: after.database_cpu_seconds - before.database_cpu_seconds}


def _differences(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
    # A counter that is lower than before belongs to another process; what it counted is not known.
    return {node: float(after[node] - count) for node, count in before.items() if after.get(node, -1) >= count}


def _shares(amounts: Mapping[str, float], count: float) -> dict[str, float]:
    return {name: amount / count for name, amount in amounts.items()} if count else {}
