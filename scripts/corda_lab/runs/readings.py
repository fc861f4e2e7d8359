"""Reads all counters before and after a load: the four counts, and what the load cost nodes and databases."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.lab import Lab
from corda_lab.runs import counters, node_metrics, spans
from corda_lab.runs.running import ask_all
from corda_lab.steps import counts
from corda_lab.steps.costs import DATABASE, Reading
from corda_lab.steps.entry import CountsEntry, DatabaseRead
from corda_lab.steps.stages import Tracing
from corda_lab.text import ui
from lab_workload.load import DatabaseSize
from lab_workload.subject import Subject

CLOCK_TICKS_PER_SECOND = 100
"""Unit of the times in ``/proc`` (``getconf CLK_TCK``). It is 100 on every Linux that Docker supports."""

# Files of processes that end meanwhile cannot be read. The command itself is one of them.
WRITTEN_COMMAND = "cat /proc/[0-9]*/io 2>/dev/null"

DATABASE_COMMAND = f"cat /proc/[0-9]*/stat; {WRITTEN_COMMAND}"

NODE_COMMAND = (
    f"cat /proc/net/dev; {WRITTEN_COMMAND}; "
    "if [ -f /opt/corda/persistence/persistence.mv.db ]; then wc -c < /opt/corda/persistence/persistence.mv.db; fi"
)


@dataclass(frozen=True)
class NodeReading:
    """Bytes that a node's container sent, received (not by loopback) and wrote, and the size of its H2 file."""

    sent: int | None = None
    received: int | None = None
    written: int | None = None
    file: int | None = None


def parse_node(text: str) -> NodeReading:
    sent = received = file = None
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) >= 9 and fields[8].isdecimal():
            is_counted = name.strip() != "lo"
            received = (received or 0) + (int(fields[0]) if is_counted else 0)
            sent = (sent or 0) + (int(fields[8]) if is_counted else 0)
        elif line.strip().isdecimal():
            file = int(line)
    return NodeReading(sent, received, parse_written(text), file)


def parse_written(text: str) -> int | None:
    """Return the bytes that all processes of a container have caused to be written to disk; None if unknown.

    ``text`` has the lines of ``/proc/<pid>/io``. A process counts what it changes in the page cache, and what children
    that it waited for have changed, but not what was deleted before it reached the disk.
    """
    written: int | None = None
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in ("write_bytes", "cancelled_write_bytes") and value.strip().isdecimal():
            written = (written or 0) + (int(value) if name == "write_bytes" else -int(value))
    return written


def parse_processes(text: str) -> float | None:
    """Return the CPU-seconds of all processes of a container, including ended ones; None if there are no processes.

    ``text`` has the lines of ``/proc/<pid>/stat``. The times of a process include those of children that have ended and
    that it waited for. PostgreSQL's first process waits for the process of every connection.
    """
    ticks, seen = 0, False
    for line in text.splitlines():
        # The name is in parentheses and may contain spaces. The state and the other fields follow it.
        fields = line.rpartition(")")[2].split()
        if len(fields) >= 15 and all(field.isdecimal() for field in fields[11:15]):
            ticks, seen = ticks + sum(int(field) for field in fields[11:15]), True
    return ticks / CLOCK_TICKS_PER_SECOND if seen else None


def read(compose: Lab, nodes: Sequence[str], database_size: DatabaseSize) -> Reading:
    """Take a reading now. What a node does not answer is left out. ``database_size`` matters with H2 only."""

    def read_node(node: str) -> NodeReading:
        return parse_node(compose.exec(node.lower(), "sh", "-c", NODE_COMMAND, check=False).stdout)

    seen = ask_all(read_node, nodes)
    written = {node: one.written for node, one in seen.items()}
    used: float | None = None
    if compose.settings.values.get("DATABASE") == "postgres":
        done = compose.exec("postgres", "sh", "-c", DATABASE_COMMAND, check=False)
        used, written[DATABASE] = parse_processes(done.stdout), parse_written(done.stdout)
        stored = stored_in_postgres(compose, nodes)
    elif database_size == "compacted":
        stored = compacted(compose, nodes)
    else:
        stored = Stored(_known({node: one.file for node, one in seen.items()}), "file")
    return Reading(
        sent=_known({node: one.sent for node, one in seen.items()}),
        received=_known({node: one.received for node, one in seen.items()}),
        disk_written=_known(written),
        database=stored.bytes,
        database_read=stored.read,
        database_cpu_seconds=used,
    )


def _known(values: dict[str, int | None]) -> dict[str, int]:
    return {name: value for name, value in values.items() if value is not None}


QUERY_SECONDS_MAX = 60
ROW_BYTES = 56
"""What a page of a large object takes besides its content: 36 bytes in the table, 20 in its index."""

# A schema has the name of its node. The sizes of tables include their indexes and what they keep outside of the row.
# Those of checkpoints and flows in progress are left out: nothing in them lasts, and what was deleted stays in their
# size until a vacuum.
POSTGRES_QUERY = f"""\
SELECT node, SUM(bytes)::bigint FROM (
  SELECT n.nspname AS node, pg_total_relation_size(c.oid)::bigint AS bytes
  FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
  WHERE c.relname NOT LIKE 'node\\_checkpoint%' AND c.relname NOT LIKE 'node\\_flow\\_%'
  UNION ALL
  SELECT r.rolname, pg_column_size(l.data) + {ROW_BYTES}
  FROM pg_largeobject l JOIN pg_largeobject_metadata m ON m.oid = l.loid JOIN pg_roles r ON r.oid = m.lomowner
) AS stored GROUP BY node
"""

COMPACT_SECONDS_MAX = 120
COMPACT_TRIES = 3
"""A node at rest may still write while its file is copied, and that copy is of no use."""
COMPACT_SCRIPT = (Path(__file__).parent / "inside" / "compact.sh").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Stored:
    """Bytes stored by node, and how they were read; None if they could not be."""

    bytes: Mapping[str, int]
    read: DatabaseRead | None


def stored_in_postgres(compose: Lab, nodes: Sequence[str]) -> Stored:
    """Return the size of every node's tables, indexes and large objects in PostgreSQL. Warns if it cannot be read."""
    options = ["--username=lab", "--dbname=corda", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]
    limit = f"SET statement_timeout = '{QUERY_SECONDS_MAX}s'"
    commands = [f"--command={limit}", f"--command={POSTGRES_QUERY}"]
    done = compose.exec("postgres", "psql", *options, *commands, check=False)
    if done.returncode != 0:
        ui.warn("the size of the databases is not known: PostgreSQL did not answer the query for it")
        return Stored({}, None)
    by_schema = parse_sizes(done.stdout)
    return Stored({node: by_schema[node.lower()] for node in nodes if node.lower() in by_schema}, "server")


def parse_sizes(text: str) -> dict[str, int]:
    """Parse lines such as ``partya|4096``."""
    return {name: int(size) for name, bar, size in (line.partition("|") for line in text.splitlines()) if bar}


def compacted(compose: Lab, nodes: Sequence[str]) -> Stored:
    """Return the size of every node's H2 file after the compaction of a copy. Nodes without one are left out.

    A file as it is tells little: H2 reuses its space late, and lets it grow in leaps. Call this at rest: it takes some
    seconds of a core for each node. Warns if a copy cannot be compacted.
    """
    sizes: dict[str, int] = {}
    for node in nodes:
        try:
            size = next(filter(None, (_compact(compose, node) for _ in range(COMPACT_TRIES))), None)
        except LabError as error:
            ui.warn(f"the size of the database of {node} is not known: {error.message}")
            continue
        if size is None:
            ui.warn(f"the size of the database of {node} is not known: no copy of its file could be compacted")
        else:
            sizes[node] = size
    return Stored(sizes, "compacted" if sizes else None)


def _compact(compose: Lab, node: str) -> int | None:
    """Return the size of a compacted copy of a node's H2 file; None if this copy cannot be compacted."""
    command = ("bash", "-c", COMPACT_SCRIPT)
    done = compose.exec(node.lower(), *command, check=False, seconds_max=COMPACT_SECONDS_MAX)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdecimal() else None


REST_BEFORE_SECONDS_MAX = 60.0


class Observer:
    """Reads all counters when it is created, after the set-up, and again at rest after the load.

    ``database_size`` says how to read the size of H2 databases. Raises LabError if the lab is not at rest after the
    set-up.
    """

    def __init__(self, lab: Lab, subject: Subject, database_size: DatabaseSize = "file") -> None:
        self._lab = lab
        self._bridge = bridge = lab.bridge
        self._subject = subject
        self._database_size = database_size
        if not counters.await_rest(lab, seconds_max=REST_BEFORE_SECONDS_MAX):
            raise LabError("The lab is not at rest", "Wait until `scripts/lab status` shows no outstanding flows.")
        self._began_at = time.time()
        self._nodes = bridge.nodes()
        self._metrics = node_metrics.read(lab)
        self._before = counters.snapshot(bridge, self._metrics, subject)
        self._offsets = spans.offsets(lab, list(self._nodes), bytes_max=spans.KEPT_BYTES_MAX)
        self._costs = read(lab, list(self._nodes), database_size)

    @property
    def before(self) -> counts.Snapshot:
        return self._before

    def count(self, requests: pl.DataFrame, rest: counters.Rest) -> CountsEntry:
        """Wait until the lab is at rest, and return the four counts over the load.

        They do not agree if a vault cannot be read. Raises LabError if any other counter cannot be read.
        """
        at_rest = rest.wait(self._lab)
        vaults, unread = counters.read_vaults(self._subject.vault_places, self._bridge.vault_unconsumed)
        self._metrics_after = node_metrics.read(self._lab)
        after = counters.snapshot(self._bridge, self._metrics_after, self._subject, vaults)
        counted = counts.difference(self._before, after, self._subject, succeeded=counts.succeeded_by_part(requests))
        told = counts.told_transactions(requests, self._subject)
        recorded, unread_ids = counters.read_vaults(
            told, lambda node, state: self._bridge.vault_transactions(node, state, self._began_at)
        )
        transactions = counts.check_transactions(told, recorded)
        changes = {"at_rest": at_rest, "rest_seconds": rest.seconds, "transactions": transactions}
        return counts.judged(counted.model_copy(update=changes), [*unread, *unread_ids])

    def spans(self, directory: Path, requests: pl.DataFrame) -> tuple[pl.DataFrame, Tracing]:
        """Collect the spans of ``requests`` since the start of the load. Raises LabError."""
        time.sleep(spans.FLUSH_SECONDS)
        paths = spans.collect(self._lab, self._offsets, directory)
        dropped = spans.dropped_over(spans.dropped(self._metrics), spans.dropped(self._metrics_after))
        unread = sorted({*self._offsets} - {*paths})
        tracing = Tracing(bool(self._offsets), dropped, unread, has_one_clock=self._lab.is_here)
        return spans.read(paths.values(), self._nodes, requests), tracing

    def readings(self) -> tuple[Reading, Reading]:
        return self._costs, read(self._lab, list(self._nodes), self._database_size)
