"""What is asked of the database of a node: the same tables from H2 and PostgreSQL, as CSV in one stream.

The tables are those of Corda 4.6 and newer. Every one is a query of its own that may fail: kinds of notaries have
different tables. Times come as milliseconds since 1970, bytes in hexadecimal.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MARK = "@@"
"""Begins the line before each table."""
END = "end"
"""The name in the last line: what has none was cut off."""
LEDGERS = "/ledgers"
"""Where the volumes of the nodes are in the container that reads them."""
FAILED = "failed"
"""The table of a node that could not be read: why."""
STATE = "sqlstate"
"""The table behind each of PostgreSQL: how its query ended. A table that was cut off has rows too."""
HARMLESS = ("00000", "42P01")
"""Success, and a missing table."""

IDS_MAX = 1_000
"""Ids in one query. They are part of an argument, which has at most 128 KiB on Linux."""
ARGUMENT_CHARACTERS_MAX = 60_000

H2_SCRIPT = (Path(__file__).parent / "inside" / "read_h2.sh").read_text(encoding="utf-8")
POSTGRES_SCRIPT = 'printf "%s" "$@" | psql --username=lab --dbname=corda --no-psqlrc --quiet --tuples-only --no-align'
"""Arguments: the commands for psql, in pieces."""


class Deadline:
    """The time by which reading has to end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._ends - time.monotonic())


@dataclass(frozen=True)
class Wanted:
    """Which part of a ledger is read. Times are in unix seconds; ``since`` None is the beginning, ``until`` None now.

    ``ids`` are transactions whose bytes are read besides. ``only_ids`` leaves out everything else.
    """

    since: float | None = None
    until: float | None = None
    ids: tuple[str, ...] = field(default=())
    only_ids: bool = False


_BYTES_OF = (
    "SELECT coalesce(min(CASE data_type WHEN 'oid' THEN 'lo_get(transaction_value)' END), 'transaction_value') "
    "AS transaction_value FROM information_schema.columns WHERE table_schema = '{schema}' "
    "AND table_name = 'node_transactions' AND column_name = 'transaction_value' \\gset"
)
"""Sets the variable ``transaction_value`` of psql: large objects in most versions, bytes in others."""


@dataclass(frozen=True)
class Dialect:
    """How a database writes what differs."""

    milliseconds: str
    """A time as milliseconds since 1970; ``{}`` is the column."""
    moment: str
    """A time from milliseconds since 1970."""
    bytes: str
    """Bytes in hexadecimal."""

    def within(self, column: str, wanted: Wanted) -> str:
        """Whether a time is in the part that is wanted."""
        parts = []
        if wanted.since is not None:
            parts.append(f"{column} >= {self.moment.format(int(wanted.since * 1000))}")
        if wanted.until is not None:
            parts.append(f"{column} <= {self.moment.format(int(wanted.until * 1000) + 1)}")
        return " and ".join(parts) or "1 = 1"


H2 = Dialect(
    milliseconds="datediff('MILLISECOND', timestamp '1970-01-01 00:00:00', {})",
    moment="dateadd('MILLISECOND', {}, timestamp '1970-01-01 00:00:00')",
    # CSVWRITE writes them so.
    bytes="transaction_value",
)
POSTGRES = Dialect(
    milliseconds="(extract(epoch from {}) * 1000)::bigint",
    moment="(timestamp '1970-01-01 00:00:00' + interval '1 millisecond' * {})",
    # psql replaces the variable.
    bytes="encode(:transaction_value, 'hex')",
)


def queries(dialect: Dialect, wanted: Wanted) -> dict[str, str]:
    """The queries by the names of their tables."""
    names = ", ".join(f"'{identity}'" for identity in wanted.ids[:IDS_MAX] if identity.isalnum())
    of_bytes = f"select tx_id, {dialect.bytes} as bytes from node_transactions where"
    by_id = {"bytes_by_id": f"{of_bytes} tx_id in ({names})"}
    if wanted.only_ids:
        return by_id
    within = dialect.within("timestamp", wanted)
    spent = f"select transaction_id from vault_states where {dialect.within('consumed_timestamp', wanted)}"
    touched = " or ".join(
        f"({dialect.within(f'v.{column}', wanted)})" for column in ("recorded_timestamp", "consumed_timestamp")
    )
    committed = "select output_index, transaction_id, consuming_transaction_id from"
    found = {
        "parties": "select party_name, owning_key_hash from node_info_party_cert",
        "keys": "select public_key_hash from node_our_key_pairs",
        "transactions": "select tx_id, state_machine_run_id, "
        # One that is not verified yet is only on its way.
        f"{dialect.milliseconds.format('timestamp')} as at from node_transactions where status <> 'U'",
        "vault": "select output_index, transaction_id, contract_state_class_name, state_status, "
        f"{dialect.milliseconds.format('recorded_timestamp')} as recorded, "
        f"{dialect.milliseconds.format('consumed_timestamp')} as consumed, relevancy_status from vault_states",
        "participants": "select p.output_index, p.transaction_id, p.public_key_hash, p.x500_name from state_party p "
        "join vault_states v on v.transaction_id = p.transaction_id and v.output_index = p.output_index "
        f"where {touched}",
        "flows": "select flow_id, status from node_checkpoints",
        "flow_names": "select flow_id, flow_name, flow_identifier from node_flow_metadata",
        "committed": f"{committed} node_notary_committed_states",
        "committed_bft": f"{committed} node_bft_committed_states",
        "committed_ids": "select transaction_id from node_notary_committed_txs",
        "committed_ids_bft": "select transaction_id from node_bft_committed_txs",
        "committed_ids_raft": "select transaction_id from node_raft_committed_txs",
        "requested": "select consuming_transaction_id, "
        f"{dialect.milliseconds.format('request_timestamp')} as at from node_notary_request_log",
        "bytes": f"{of_bytes} {within}",
    }
    if wanted.since is not None:
        found["bytes_spent"] = f"{of_bytes} not ({within}) and tx_id in ({spent})"
    return {**found, **(by_id if names else {})}


def h2_arguments(files: Mapping[str, str], wanted: Wanted) -> list[str]:
    """The arguments of ``H2_SCRIPT`` for the files of nodes: the queries as statements that each write a table."""
    statements = []
    for name, query in queries(H2, wanted).items():
        quoted = query.replace("'", "''")
        statements.append(f"call csvwrite('{name}.csv', '{quoted}');")
    return ["\n".join(statements), *(f"{node}={file}" for node, file in files.items())]


def in_pieces(text: str) -> list[str]:
    return [text[at : at + ARGUMENT_CHARACTERS_MAX] for at in range(0, len(text), ARGUMENT_CHARACTERS_MAX)]


def postgres_commands(
    nodes: Iterable[str], wanted: Wanted, *, seconds_max: float, schemas: Mapping[str, str] | None = None
) -> str:
    """The queries of several nodes as one script for psql, whose tables follow lines such as ``@@ PartyA/vault``.

    Everything is read at one moment. A query that fails ends nothing: each has a savepoint. ``schemas`` has another
    schema than their own for some nodes.
    """
    lines = [
        f"SET statement_timeout = '{max(1, int(seconds_max))}s';",
        "\\set ON_ERROR_ROLLBACK on",
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;",
    ]
    for node in nodes:
        schema = (schemas or {}).get(node, node.lower())
        lines += [
            f'SET LOCAL search_path = "{schema}";',
            _BYTES_OF.format(schema=schema),
        ]
        for name, query in queries(POSTGRES, wanted).items():
            lines += [
                f"\\echo {MARK} {node}/{name}",
                f"COPY ({query}) TO STDOUT WITH (FORMAT csv, HEADER);",
                *(f"\\echo {MARK} {node}/{STATE}", f"\\echo {STATE}", "\\echo :SQLSTATE"),
            ]
    return "\n".join([*lines, "COMMIT;", f"\\echo {MARK} {END}", ""])
