"""The cost of one flow: CPU, allocation, collections, network, disk, checkpoints and database, by node.

``docs/methodology.md`` defines every value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from corda_lab.steps.entry import DatabaseRead, Number, PartEntry, TransactionCheck, Values
from corda_lab.steps.rows import Window

DATABASE = "PostgreSQL"


@dataclass(frozen=True)
class Reading:
    """Counters at one moment: bytes by node, sent to other containers and stored in the database.

    ``database_cpu_seconds`` is the CPU time that PostgreSQL has used; None if the nodes use H2. ``received`` and
    ``disk_written`` are bytes, the latter also of ``DATABASE``. ``database_read`` says how ``database`` was read.
    """

    sent: Mapping[str, int]
    database: Mapping[str, int]
    database_cpu_seconds: float | None = None
    received: Mapping[str, int] = field(default_factory=dict)
    disk_written: Mapping[str, int] = field(default_factory=dict)
    database_read: DatabaseRead | None = None


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
    window: Window,
    metrics: pl.DataFrame,
    before: Reading,
    after: Reading,
    *,
    rate: float,
    flows: int,
    states: int = 0,
    transactions: int = 0,
    load_started_at: float = 0.0,
) -> Values:
    """The costs of one flow, of one state and of one transaction.

    CPU, allocation and collections are rates over the measuring window ÷ its throughput (``rate``). Everything else is
    a difference from before the load (``load_started_at``, unix seconds) to the rest after it, including the warm-up,
    ÷ all ``flows`` that were completed in that time, the ``states`` that they made, or their ``transactions``. What is
    divided by 0 is not known.
    """
    cpu = counter_rise(metrics, "node_cpu_seconds_total", window) | counter_rise(
        metrics, "lab_cpu_seconds_total", window, label="job"
    )
    stored = _stored(before, after)
    return {
        "cpu_seconds_per_flow": _shares(cpu, rate) | _shares(_database_cpu(before, after), flows),
        "allocated_bytes_per_flow": _shares(counter_rise(metrics, "node_allocated_bytes_total", window), rate),
        "gc_seconds_per_flow": _shares(counter_rise(metrics, "node_gc_seconds_total", window), rate),
        "sent_bytes_per_flow": _shares(_differences(before.sent, after.sent), flows),
        "received_bytes_per_flow": _shares(_differences(before.received, after.received), flows),
        "disk_written_bytes_per_flow": _shares(_differences(before.disk_written, after.disk_written), flows),
        "checkpoints_per_flow": _shares(rise_since(metrics, "node_checkpoints_total", load_started_at), flows),
        "database_bytes_per_flow": _shares(stored, flows),
        "database_bytes_per_state": _shares(stored, states),
        "database_bytes_per_transaction": _shares(stored, transactions),
    }


def database_read(before: Reading, after: Reading) -> DatabaseRead | None:
    """How the sizes of the databases were read; None if they were not, or in different ways."""
    return after.database_read if _stored(before, after) else None


def _stored(before: Reading, after: Reading) -> dict[str, float]:
    return _differences(before.database, after.database) if before.database_read == after.database_read else {}


def states_made(parts: Sequence[PartEntry]) -> int:
    """The states that the flows made; 0 if a part that had a success does not define its states per flow."""
    made = [(part.states_per_flow, part.requests.ok) for part in parts if part.requests.ok]
    return 0 if any(states is None for states, _ in made) else sum((states or 0) * count for states, count in made)


def recorded(transactions: Sequence[TransactionCheck]) -> int:
    """The transactions that the flows made: the most that any vault received. 0 if no vault was searched."""
    return max((one.told - one.missing + one.others for one in transactions), default=0)


def rise_since(metrics: pl.DataFrame, name: str, started_at: float) -> dict[str, float]:
    """The increase of a counter by node, from its last scrape before a time (unix seconds) to its last scrape of all.

    A node without a scrape before that time is left out: what it had counted by then is not known.
    """
    samples = metrics.filter((pl.col("name") == name) & pl.col("node").is_not_null()).sort("time")
    first = samples.filter(pl.col("time") <= started_at).group_by("node").agg(pl.col("time").last().alias("first"))
    rises = (
        samples.join(first, on="node")
        .filter(pl.col("time") >= pl.col("first"))
        .sort("time")
        .group_by("node")
        .agg(rise_over_resets(pl.col("value")).alias("rise"))
    )
    return {str(node): float(rise) for node, rise in rises.sort("node").iter_rows()}


def _database_cpu(before: Reading, after: Reading) -> dict[str, float]:
    if before.database_cpu_seconds is None or after.database_cpu_seconds is None:
        return {}
    return {DATABASE: after.database_cpu_seconds - before.database_cpu_seconds}


def _differences(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
    # A counter that is lower than before belongs to another process; what it counted is not known.
    return {node: float(after[node] - count) for node, count in before.items() if after.get(node, -1) >= count}


def _shares(amounts: Mapping[str, float], count: float) -> dict[str, Number]:
    return {name: amount / count for name, amount in amounts.items()} if count else {}
