"""Reads what nodes and database have used up: processor time, disk, sizes."""

from collections.abc import Sequence

from corda_lab.clients.prometheus import Prometheus
from corda_lab.lab.compose import Compose
from corda_lab.steps.costs import Reading

CLOCK_TICKS_PER_SECOND = 100
"""Of the times in ``/proc``, on every Linux that Docker runs on (``getconf CLK_TCK``)."""


DATABASE_COMMAND = "cat /proc/[0-9]*/stat"


NODE_COMMAND = (
    "cat /proc/net/dev; "
    "if [ -f /opt/corda/persistence/persistence.mv.db ]; then wc -c < /opt/corda/persistence/persistence.mv.db; fi"
)


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
