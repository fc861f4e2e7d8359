"""Reads the costs of nodes and database: CPU time of the database, bytes sent, bytes stored."""

from collections.abc import Sequence

from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.compose import Compose
from corda_lab.steps.costs import Reading

CLOCK_TICKS_PER_SECOND = 100
"""Unit of the times in ``/proc`` (``getconf CLK_TCK``). It is 100 on every Linux that Docker supports."""


DATABASE_COMMAND = "cat /proc/[0-9]*/stat"


NODE_COMMAND = (
    "cat /proc/net/dev; "
    "if [ -f /opt/corda/persistence/persistence.mv.db ]; then wc -c < /opt/corda/persistence/persistence.mv.db; fi"
)


def parse_node(text: str) -> tuple[int | None, int | None]:
    """Return the bytes sent by all interfaces except loopback, and the size of the H2 file. Each is None if missing."""
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


def read(compose: Compose, prometheus: Prometheus, nodes: Sequence[str]) -> Reading:
    """Take a reading now. Nodes that do not answer are left out."""
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
