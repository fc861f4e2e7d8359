"""Reads how much the nodes have stored: in PostgreSQL, or in H2 as a compacted copy of each node's file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corda_lab.errors import LabError
from corda_lab.lab.deployed import Deployed
from corda_lab.steps.entry import DatabaseRead
from corda_lab.text import ui

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
# The node goes on writing to its file. H2 opens a copy of it at its last complete chunk, as after a crash. The classes
# are those of the node itself, so they know the format. The copy is in the volume of the node: besides its memory,
# nothing else of the container can be written. A copy that a killed command left is deleted.
COMPACT_COMMAND = """\
set -e
jar=$(ls /opt/corda/lib/h2-*.jar)
rm -rf /opt/corda/persistence/copy.*
copy=$(mktemp -d /opt/corda/persistence/copy.XXXXXX)
trap 'rm -rf "$copy"' EXIT
cp /opt/corda/persistence/persistence.mv.db "$copy/copy.mv.db"
java -Xmx128m -XX:+UseSerialGC -cp "$jar" org.h2.mvstore.MVStoreTool -compact "$copy/copy.mv.db" > /dev/null
wc -c < "$copy/copy.mv.db"
"""


@dataclass(frozen=True)
class Stored:
    """Bytes stored by node, and how they were read; None if they could not be."""

    bytes: Mapping[str, int]
    read: DatabaseRead | None


def stored_in_postgres(compose: Deployed, nodes: Sequence[str]) -> Stored:
    """Return the size of every node's tables, indexes and large objects in PostgreSQL. Warns if it cannot be read."""
    options = ["--username=lab", "--dbname=corda", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]
    limit = f"SET statement_timeout = '{QUERY_SECONDS_MAX}s'"
    commands = [f"--command={limit}", f"--command={POSTGRES_QUERY}"]
    done = compose.run("exec", "-T", "postgres", "psql", *options, *commands, check=False)
    if done.returncode != 0:
        ui.warn("the size of the databases is not known: PostgreSQL did not answer the query for it")
        return Stored({}, None)
    by_schema = parse_sizes(done.stdout)
    return Stored({node: by_schema[node.lower()] for node in nodes if node.lower() in by_schema}, "server")


def parse_sizes(text: str) -> dict[str, int]:
    """Parse lines such as ``partya|4096``."""
    return {name: int(size) for name, bar, size in (line.partition("|") for line in text.splitlines()) if bar}


def compacted(compose: Deployed, nodes: Sequence[str]) -> Stored:
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


def _compact(compose: Deployed, node: str) -> int | None:
    """Return the size of a compacted copy of a node's H2 file; None if this copy cannot be compacted."""
    command = ("exec", "-T", node.lower(), "bash", "-c", COMPACT_COMMAND)
    done = compose.run(*command, check=False, seconds_max=COMPACT_SECONDS_MAX)
    return int(done.stdout) if done.returncode == 0 and done.stdout.strip().isdecimal() else None
