"""What one unit of work costs: processor, allocation, network and database, per node.

``docs/methodology.md`` defines every figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.compose import Compose
from corda_lab.steps.rows import Window

CLOCK_TICKS_PER_SECOND = 100
"""Of the times in ``/proc``, on every Linux that Docker runs on (``getconf CLK_TCK``)."""

DATABASE = "PostgreSQL"
"""How the database server is called among the nodes in the figures."""

DATABASE_COMMAND = "cat /proc/[0-9]*/stat"

NODE_COMMAND = (
    "cat /proc/net/dev; "
    "if [ -f /opt/corda/persistence/persistence.mv.db ]; then wc -c < /opt/corda/persistence/persistence.mv.db; fi"
)


@dataclass(frozen=True)
class Reading:
    """Counters at one moment: bytes by node, sent to other containers and taken by the database.

    ``database_cpu_seconds`` is what PostgreSQL has used of the processor; None where the nodes have H2 inside them.
    """

    sent: Mapping[str, int]
    database: Mapping[str, int]
    database_cpu_seconds: float | None = None


def parse_node(text: str) -> tuple[int | None, int | None]:
    """Bytes sent by all interfaces but the loopback, and bytes of the H2 file where there is one."""
    sent: int | None = None
    database: int | None = None
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) >= 9 and fields[8].isdecimal():
            sent = (sent or 0) + (0 if name.strip() == "lo" else int(fields[8]))
        elif line.strip().isdecimal():
            database = int(line)
    return sent, database


def parse_processes(text: str) -> float | None:
    """Seconds of processor that all processes of a container have used, with those that have ended; None without any.

    The lines are of ``/proc/<pid>/stat``. A process's times include those of its children once they have ended and were waited
    for, as PostgreSQL's first process does with every connection's.
    """
    ticks, seen = 0, False
    for line in text.splitlines():
        # The name, in brackets, may have spaces; after it come the state and the other fields.
        fields = line.rpartition(")")[2].split()
        if len(fields) >= 15 and all(field.isdecimal() for field in fields[11:15]):
            ticks, seen = ticks + sum(int(field) for field in fields[11:15]), True
    return ticks / CLOCK_TICKS_PER_SECOND if seen else None


def read(compose: Compose, prometheus: Prometheus, nodes: Sequence[str]) -> Reading:
    """Take a reading now. A node that cannot be asked is left out."""
    sent: dict[str, int] = {}
    database: dict[str, int] = {}
    for node in nodes:
        done = compose.run("exec", "-T", node.lower(), "sh", "-c", NODE_COMMAND, check=False)
        bytes_sent, bytes_stored = parse_node(done.stdout)
        if bytes_sent is not None:
            sent[node] = bytes_sent
        if bytes_stored is not None:
            database[node] = bytes_stored
    used: float | None = None
    if compose.settings.values.get("DATABASE") == "postgres":
        done = compose.run("exec", "-T", "postgres", "sh", "-c", DATABASE_COMMAND, check=False)
        used = parse_processes(done.stdout)
        by_schema = {value.labels.get("schema"): value.value for value in prometheus.latest("pg_schema_size_bytes")}
        database = {node: int(by_schema[node.lower()]) for node in nodes if node.lower() in by_schema}
    return Reading(sent, database, used)


def counter_rise(metrics: pl.DataFrame, name: str, window: Window, *, label: str | None = None) -> dict[str, float]:
    """Rise per second of a counter between its first and its last scrape in the window, by node or by another label."""
    key = pl.col("labels").str.json_path_match(f"$.{label}") if label else pl.col("node")
    samples = (
        metrics.filter((pl.col("name") == name) & pl.col("time").is_between(window.started_at, window.ended_at))
        .with_columns(key.alias("key"))
        .drop_nulls("key")
        .sort("time")
    )
    rises = samples.group_by("key").agg(
        (pl.col("value").last() - pl.col("value").first()).alias("rise"),
        (pl.col("time").last() - pl.col("time").first()).alias("seconds"),
    )
    return {
        str(found): float(rise) / float(seconds)
        for found, rise, seconds in rises.sort("key").iter_rows()
        if seconds > 0
    }


def figures(step: Mapping[str, Any], metrics: pl.DataFrame, before: Reading, after: Reading) -> dict[str, Any]:
    """The entry ``costs`` of a step.

    Processor and allocation are rates over the measuring window ÷ its throughput. What was sent and stored, and the processor
    of PostgreSQL, are counted from before the load to the rest after it, warm-up included, ÷ all flows that were done. Bytes
    per state are known only where every part that made something says how many states.
    """
    window = Window(step["window"]["started_at"], step["window"]["ended_at"])
    rate = step["throughput_per_second"]
    requests = step["requests"]
    done = requests["ok"] + requests["expected"]
    made = [(part["states_per_flow"], part["requests"]["ok"]) for part in step["parts"] if part["requests"]["ok"]]
    states = 0 if any(each is None for each, _ in made) else sum(each * count for each, count in made)
    cpu = counter_rise(metrics, "node_cpu_seconds_total", window) | counter_rise(
        metrics, "lab_cpu_seconds_total", window, label="job"
    )
    stored = _differences(before.database, after.database)
    return {
        "cpu_seconds_per_flow": _shares(cpu, rate) | _shares(_database_cpu(before, after), done),
        "allocated_bytes_per_flow": _shares(counter_rise(metrics, "node_allocated_bytes_total", window), rate),
        "sent_bytes_per_flow": _shares(_differences(before.sent, after.sent), done),
        "database_bytes_per_flow": _shares(stored, done),
        "database_bytes_per_state": _shares(stored, states),
    }


def _database_cpu(before: Reading, after: Reading) -> dict[str, float]:
    if before.database_cpu_seconds is None or after.database_cpu_seconds is None:
        return {}
    return {DATABASE: after.database_cpu_seconds - before.database_cpu_seconds}


def _differences(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, float]:
    return {node: float(after[node] - count) for node, count in before.items() if node in after}


def _shares(amounts: Mapping[str, float], count: float) -> dict[str, float]:
    return {name: amount / count for name, amount in amounts.items()} if count else {}
