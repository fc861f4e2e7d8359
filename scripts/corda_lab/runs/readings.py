"""Reads the counters behind the costs of nodes and database: bytes over the network, to disk and in the database."""

from collections.abc import Sequence
from dataclasses import dataclass

from corda_lab.lab.deployed import Deployed
from corda_lab.runs import databases
from corda_lab.runs.running import ask_all
from corda_lab.steps.costs import DATABASE, Reading
from corda_lab.steps.entry import DatabaseSize

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
    """Bytes that the container of a node has sent, received and written, and the size of its H2 file; None if missing.

    The loopback interface is left out.
    """

    sent: int | None = None
    received: int | None = None
    written: int | None = None
    file: int | None = None


def parse_node(text: str) -> NodeReading:
    """Parse the output of ``NODE_COMMAND``."""
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


def read(compose: Deployed, nodes: Sequence[str], database_size: DatabaseSize) -> Reading:
    """Take a reading now. What a node does not answer is left out. ``database_size`` matters with H2 only."""

    def read_node(node: str) -> NodeReading:
        return parse_node(compose.run("exec", "-T", node.lower(), "sh", "-c", NODE_COMMAND, check=False).stdout)

    seen = ask_all(read_node, nodes)
    written = {node: one.written for node, one in seen.items()}
    used: float | None = None
    if compose.settings.values.get("DATABASE") == "postgres":
        done = compose.run("exec", "-T", "postgres", "sh", "-c", DATABASE_COMMAND, check=False)
        used, written[DATABASE] = parse_processes(done.stdout), parse_written(done.stdout)
        stored = databases.stored_in_postgres(compose, nodes)
    elif database_size == "compacted":
        stored = databases.compacted(compose, nodes)
    else:
        stored = databases.Stored(_known({node: one.file for node, one in seen.items()}), "file")
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
