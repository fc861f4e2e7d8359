"""What is asked of the database of a node: the same tables from H2 and PostgreSQL, as CSV in one stream.

Every table is a query of its own that may fail: versions of Corda and kinds of notaries have different tables. Times
come as milliseconds since 1970, bytes in hexadecimal.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

MARK = "@@"
"""Begins the line before each table."""
END = "end"
"""The name in the last line: what has none was cut off."""

IDS_MAX = 1_000
"""Ids in one query. They are part of an argument, which has at most 128 KiB on Linux."""
ARGUMENT_CHARACTERS_MAX = 60_000


@dataclass(frozen=True)
class Wanted:
    """Which part of a ledger is read. Times are in unix seconds; ``since`` None is the beginning, ``until`` None now.

    ``ids`` are transactions whose bytes are read besides. ``only_ids`` leaves out everything else.
    """

    since: float | None = None
    until: float | None = None
    ids: tuple[str, ...] = field(default=())
    only_ids: bool = False


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
    # psql replaces the variable: large objects in most versions, bytes in others.
    bytes="encode(:transaction_value, 'hex')",
)


def queries(dialect: Dialect, wanted: Wanted) -> dict[str, str]:
    """The queries by the names of their tables. A suffix of ``OLDER`` is for versions without the one before."""
    names = ", ".join(f"'{identity}'" for identity in wanted.ids[:IDS_MAX] if identity.isalnum())
    by_id = {"bytes_by_id": f"select tx_id, {dialect.bytes} as bytes from node_transactions where tx_id in ({names})"}
    if wanted.only_ids:
        return by_id
    recorded = dialect.milliseconds.format("recorded_timestamp")
    consumed = dialect.milliseconds.format("consumed_timestamp")
    within = dialect.within("timestamp", wanted)
    touched = " or ".join(
        f"({dialect.within(f'v.{column}', wanted)})" for column in ("recorded_timestamp", "consumed_timestamp")
    )
    spent = f"select transaction_id from vault_states where {dialect.within('consumed_timestamp', wanted)}"
    vault = (
        "output_index, transaction_id, contract_state_class_name, state_status, "
        f"{recorded} as recorded, {consumed} as consumed"
    )
    seen = f"left join (select transaction_id, {recorded} as at from vault_states) v on v.transaction_id = t.tx_id"
    return {
        "parties": "select party_name, owning_key_hash from node_info_party_cert",
        "keys": "select public_key_hash from node_our_key_pairs",
        "transactions": "select tx_id, state_machine_run_id, "
        # One that is not verified yet is only on its way.
        f"{dialect.milliseconds.format('timestamp')} as at from node_transactions where status <> 'U'",
        "transactions_old": f"select t.tx_id, t.state_machine_run_id, min(v.at) as at from node_transactions t {seen} "
        "group by t.tx_id, t.state_machine_run_id",
        "transactions_v3": "select t.tx_id, m.state_machine_run_id, min(v.at) as at from node_transactions t "
        f"left join node_transaction_mappings m on m.tx_id = t.tx_id {seen} group by t.tx_id, m.state_machine_run_id",
        "vault": f"select {vault}, relevancy_status from vault_states",
        "vault_old": f"select {vault} from vault_states",
        "participants": "select p.output_index, p.transaction_id, p.public_key_hash, p.x500_name from state_party p "
        "join vault_states v on v.transaction_id = p.transaction_id and v.output_index = p.output_index "
        f"where {touched}",
        "flows": "select flow_id, status from node_checkpoints",
        "flows_old": "select checkpoint_id as flow_id from node_checkpoints",
        "flow_names": "select flow_id, flow_name, flow_identifier from node_flow_metadata",
        "committed": "select output_index, transaction_id, consuming_transaction_id from node_notary_committed_states",
        "commit_log": "select output_index, transaction_id, consuming_transaction_id from node_notary_commit_log",
        "committed_bft": "select output_index, transaction_id, consuming_transaction_id from node_bft_committed_states",
        "committed_ids": "select transaction_id from node_notary_committed_txs",
        "committed_ids_bft": "select transaction_id from node_bft_committed_txs",
        "committed_ids_raft": "select transaction_id from node_raft_committed_txs",
        "requested": "select consuming_transaction_id, "
        f"{dialect.milliseconds.format('request_timestamp')} as at from node_notary_request_log",
        "bytes": f"select tx_id, {dialect.bytes} as bytes from node_transactions where {within}",
        "bytes_old": f"select tx_id, {dialect.bytes} as bytes from node_transactions",
        **(
            {}
            if wanted.since is None
            else {
                "bytes_spent": f"select tx_id, {dialect.bytes} as bytes from node_transactions "
                f"where not ({within}) and tx_id in ({spent})"
            }
        ),
        **(by_id if names else {}),
    }


OLDER = ("_old", "_v3")
"""The suffixes of queries for older versions: Corda 4 before 4.6, and Corda 3."""
OLD = {
    "transactions": ("node_transactions", "timestamp", "state_machine_run_id"),
    "vault": ("vault_states", "relevancy_status"),
    "flows": ("node_checkpoints", "status"),
    "bytes": ("node_transactions", "timestamp"),
}
"""The tables with other queries for older versions: the table that is asked, and the column that each query needs.

The query of the oldest version needs none.
"""

LEDGERS = "/ledgers"
"""Where the volumes of the nodes are in the container that reads them."""
FAILED = "failed"
"""The table of a node that could not be read: why."""
STATE = "sqlstate"
"""The table behind each of PostgreSQL: how its query ended. A table that was cut off has rows too."""
HARMLESS = ("00000", "42P01", "42703")
"""Success, and a missing table or column."""

# The node goes on writing to its file, and H2 lets only one process open it. A copy opens at its last complete chunk,
# as after a crash, with the classes of the node's image, which know the format. H2 takes back what was not committed,
# so the copy must not be opened read-only. Two nodes are read at a time. Each has a folder of its own, which ends with
# the container.
H2_SCRIPT = """\
set -u
sql=$1 old_sql=$2 old=$3
shift 3
jar=$(ls /opt/corda/lib/h2-*.jar) || exit 1
# Rows are written as they are read, not kept until all are there. The H2 of Corda 3.3 has no such setting.
case $jar in */h2-1.4.194.jar) lazy= ;; *) lazy=';LAZY_QUERY_EXECUTION=1' ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() {
  java -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jar" org.h2.tools.Shell \\
    -url "jdbc:h2:file:$PWD/copy;IFEXISTS=TRUE$lazy" -user sa -password '' \\
    -sql "$1"
}
ask_old() {
  missing=
  for name in $old; do
    if [ ! -e "$name.csv" ]; then missing="$missing $name"; fi
  done
  if [ -z "$missing" ]; then return 0; fi
  ask "$old_sql" || return 1
  for name in $missing; do
    for found in "${name}_old.csv" "${name}_v3.csv"; do
      if [ -e "$found" ]; then mv "$found" "$name.csv" && break; fi
    done
    if [ ! -e "$name.csv" ]; then
      echo "error: no query knows the columns for $name in this version of Corda"
      return 1
    fi
  done
  rm -f -- *_old.csv *_v3.csv
}
read_node() {
  cd "$work/$1" && cp "$2" copy.mv.db && ask "$sql" && ask_old && rm copy.mv.db
}
absent='(Table|Column) "[^"]*" not found'
is_whole() {
  ! grep -E '^Error:' "$1" | grep -qvE "$absent"
}
for one in "$@"; do
  node=${one%%=*}
  mkdir "$work/$node"
  ({ read_node "$node" "${one#*=}" > "$work/$node.log" 2>&1 && is_whole "$work/$node.log"; } ||
    touch "$work/$node.failed") &
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
done
wait
for one in "$@"; do
  node=${one%%=*}
  if [ -e "$work/$node.failed" ]; then
    echo "@@ $node/failed"
    echo WHY
    { grep -vE "$absent" "$work/$node.log" | grep -i -m 1 -E 'exception|error|denied|space|no such' ||
      tail -n 1 "$work/$node.log"; } |
      tr '\\n",' '   '
    echo
  fi
done
for one in "$@"; do
  node=${one%%=*}
  if [ -e "$work/$node.failed" ]; then continue; fi
  for table in "$work/$node"/*.csv; do
    name=${table##*/}
    echo "@@ $node/${name%.csv}"
    cat "$table"
  done
done
echo "@@ end"
"""
"""Arguments: the statements, those for older versions, the names of the latter's tables; then each node and its file.

Nodes that could not be read come first. H2's shell goes on after a statement that fails.
"""

POSTGRES_SCRIPT = 'printf "%s" "$@" | psql --username=lab --dbname=corda --no-psqlrc --quiet --tuples-only --no-align'
"""Arguments: the commands for psql, in pieces."""


def h2_arguments(files: Mapping[str, str], wanted: Wanted) -> list[str]:
    """The arguments of ``H2_SCRIPT`` for the files of nodes: the queries as statements that each write a table."""
    new: list[str] = []
    old: list[str] = []
    for name, query in queries(H2, wanted).items():
        quoted = query.replace("'", "''")
        (old if name.endswith(OLDER) else new).append(f"call csvwrite('{name}.csv', '{quoted}');")
    names = " ".join([] if wanted.only_ids else OLD)
    return ["\n".join(new), "\n".join(old), names, *(f"{node}={file}" for node, file in files.items())]


def in_pieces(text: str) -> list[str]:
    """A text as arguments of a command, none of which is too long."""
    return [text[at : at + ARGUMENT_CHARACTERS_MAX] for at in range(0, len(text), ARGUMENT_CHARACTERS_MAX)]


def _older(asked: Mapping[str, str], name: str) -> list[str]:
    """The queries of a table for older versions, the newest first."""
    return [asked[name + suffix] for suffix in OLDER if name + suffix in asked]


def _copied(query: str) -> str:
    return f"COPY ({query}) TO STDOUT WITH (FORMAT csv, HEADER);"


def _by_columns(found: str, table: str, *columns: str, asked: Sequence[str]) -> list[str]:
    """The commands that ask the first query whose column the table has, or the last. ``found`` begins the search."""
    lines = [
        f"SELECT count(*) > 0 AS has_{column} {found} table_name = '{table}' AND column_name = '{column}' \\gset"
        for column in columns
    ]
    for column, query in zip(columns, asked[:-1], strict=True):
        word = "if" if column == columns[0] else "elif"
        lines += [f"\\{word} :has_{column}", _copied(query)]
    return [*lines, "\\else", _copied(asked[-1]), "\\endif"]


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
        found = f"FROM information_schema.columns WHERE table_schema = '{schema}' AND"
        lines.append(f'SET LOCAL search_path = "{schema}";')
        lines.append(
            "SELECT coalesce(min(CASE data_type WHEN 'oid' THEN 'lo_get(transaction_value)' END), 'transaction_value') "
            f"AS transaction_value {found} table_name = 'node_transactions' AND column_name = 'transaction_value' "
            "\\gset"
        )
        asked = queries(POSTGRES, wanted)
        for name, query in asked.items():
            if name.endswith(OLDER):
                continue
            lines.append(f"\\echo {MARK} {node}/{name}")
            if name in OLD:
                lines += _by_columns(found, *OLD[name], asked=[query, *_older(asked, name)])
            else:
                lines.append(_copied(query))
            lines += [f"\\echo {MARK} {node}/{STATE}", f"\\echo {STATE}", "\\echo :SQLSTATE"]
    return "\n".join([*lines, "COMMIT;", f"\\echo {MARK} {END}", ""])
