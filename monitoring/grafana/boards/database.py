"""Database: what the nodes ask of it, and what it holds. The last section is about PostgreSQL only."""

from grafana.boards import shared
from grafana.boards.model import Board, Panel, Query, Section
from grafana.boards.queries import CORDA, NODE, WINDOW, rate, sum_by

_CORDA = 'datname="corda"'
_HITS = f"sum({rate('pg_stat_database_blks_hit', _CORDA)})"
_READS = f"sum({rate('pg_stat_database_blks_read', _CORDA)})"
_POSTGRES = 'job="postgres"'

TIMEOUTS = Panel(
    title="Waits for a connection timed out",
    description="Waits for a database connection per second that a node gave up. Good: 0. Otherwise flows fail or are "
    "tried again: the pool is too small, or the database too slow.",
    unit="ops",
    queries=(Query(sum_by("node", rate("hikari_connection_timeouts_total", NODE)), "{{node}}"),),
)

SIZE = Panel(
    title="Database size per node",
    description="With H2, the file of each node. With PostgreSQL, the tables and indexes of each node's schema, and "
    "the large objects of all nodes, in which Corda stores transactions. Good: grows with the recorded states and no "
    "faster.",
    unit="bytes",
    queries=(
        Query(f"sum by (node) (corda_database_file_bytes{{{NODE}}})", "{{node}}"),
        Query(f"sum by (schema) (pg_schema_size_bytes{{{_POSTGRES}}} > 0)", "schema {{schema}}"),
        Query(f"sum(pg_large_objects_size_bytes{{{_POSTGRES}}})", "large objects of all"),
    ),
    width=8,
)

DISK_FREE = Panel(
    title="Free disk",
    description="Bytes that each node may still write to the disk with its volumes. All volumes are usually on the "
    "same disk. Good: far above 2 GiB, below which there is an alert.",
    unit="bytes",
    queries=(Query(f"min by (node) (container_disk_free_bytes{{{CORDA}, {NODE}}})", "{{node}}"),),
    width=8,
)

CONNECTIONS = Panel(
    title="PostgreSQL connections",
    description="Connections to PostgreSQL by node and state. Good: far fewer than the pools allow, and none idle in a "
    "transaction for long.",
    unit="none",
    queries=(
        Query(
            f'sum by (usename, state) (pg_stat_activity_count{{{_CORDA}, usename!=""}} > 0)', "{{usename}} {{state}}"
        ),
    ),
    decimals=0,
)

TRANSACTIONS = Panel(
    title="PostgreSQL transactions per second",
    description="Database transactions of all nodes that were committed and rolled back. Good: commits follow the "
    "load, and rollbacks stay near 0.",
    unit="ops",
    queries=(
        Query(f"sum({rate('pg_stat_database_xact_commit', _CORDA)})", "committed"),
        Query(f"sum({rate('pg_stat_database_xact_rollback', _CORDA)})", "rolled back"),
    ),
)

CACHE_HITS = Panel(
    title="PostgreSQL cache hits",
    description="Share of the requested blocks that were in PostgreSQL's own cache. Good: near 100 %. The others came "
    "from the operating system or the disk.",
    unit="percentunit",
    queries=(Query(f"{_HITS} / (({_HITS} + {_READS}) > 0)", "hits"),),
    max=1,
)

LOCKS = Panel(
    title="PostgreSQL locks",
    description="Locks held in the lab's database, by mode. Good: no exclusive modes for longer than a moment.",
    unit="none",
    queries=(Query(f"sum by (mode) (pg_locks_count{{{_CORDA}}} > 0)", "{{mode}}"),),
    decimals=0,
)

IO = Panel(
    title="PostgreSQL I/O",
    description="Time spent reading and writing data files, in seconds per second. It does not include the write-ahead "
    "log. Good: far below 1.",
    unit="percentunit",
    queries=(
        Query(f"sum({rate('pg_stat_database_blk_read_time', _CORDA)}) / 1000", "reading"),
        Query(f"sum({rate('pg_stat_database_blk_write_time', _CORDA)}) / 1000", "writing"),
    ),
    width=8,
)

ROWS = Panel(
    title="Rows written by schema",
    description="Rows that each node inserted, updated and deleted per second. Good: proportional to the achieved "
    "rate, with few deletions besides those of checkpoints.",
    unit="ops",
    queries=tuple(
        Query(sum_by("schema", rate(f"pg_schema_rows_{what}_total", _POSTGRES)), f"{{{{schema}}}} {what}")
        for what in ("inserted", "updated", "deleted")
    ),
    width=8,
)

LARGE_OBJECTS = Panel(
    title="Growth of the large objects",
    description="Bytes per second by which the large objects of all nodes grow: the transactions, each stored by every "
    "participant. Good: proportional to the achieved rate. If it grows faster, transactions or attachments have grown.",
    unit="binBps",
    queries=(
        Query(f"clamp_min(sum(deriv(pg_large_objects_size_bytes{{{_POSTGRES}}}{WINDOW})), 0)", "large objects of all"),
    ),
    width=8,
)

BOARD = Board(
    uid="database",
    title="Database",
    description="What the nodes ask of H2 or PostgreSQL, and what it holds, by node and by schema.",
    sections=(
        Section(
            "What the nodes ask",
            (shared.DATABASE_TRANSACTIONS, shared.DATABASE_TIME, shared.DATABASE_CONNECTIONS, TIMEOUTS),
        ),
        Section("What it holds", (SIZE, DISK_FREE, shared.CHECKPOINTS.columns(8))),
        Section("What it takes", (shared.CONTAINER_CPU.columns(12), shared.CONTAINER_MEMORY.columns(12))),
        Section(
            "PostgreSQL (only with DATABASE=postgres)",
            (CONNECTIONS, TRANSACTIONS, CACHE_HITS, LOCKS, IO, ROWS, LARGE_OBJECTS),
            collapsed=True,
        ),
    ),
)
