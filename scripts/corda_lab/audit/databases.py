"""Asks the databases of the running or stopped lab: the same tables from H2 and PostgreSQL, as CSV in one stream.

The tables are those of Corda 4.6 and newer. Every one is a query of its own that may fail: kinds of notaries have
different tables. Times come as milliseconds since 1970, bytes in hexadecimal. Nothing in the databases changes.
"""

import csv
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bare.commands import last_words
from corda_lab.audit.model import Window
from corda_lab.errors import LabError
from corda_lab.lab.cordapps import PLATFORM_VERSIONS, platform_version
from corda_lab.lab.docker import READER, docker, docker_to_file, on_each
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings

FIRST_CORDA = "4.6"
"""The first version of Corda whose ledgers are read. Older ones have other tables, and no client ids."""
MARK = "@@"
"""Begins the line before each table: ``@@ PartyA/vault``."""
END = "end"
"""The name in the last line: what has none was cut off."""
FAILED = "failed"
"""The table of a node that could not be read: why."""
STATE = "sqlstate"
"""The table behind each of PostgreSQL: how its query ended. A table that was cut off has rows too."""
HARMLESS = {"00000", "42P01"}
"""Success, and a missing table."""
CUT_OFF = "the answer of a database was cut off"
FIELD_BYTES_MAX = 128 * 1024**2
"""Twice the largest transaction, in hexadecimal."""

LEDGERS = "/ledgers"
"""Where the volumes of the nodes are in the container that reads them."""
NODE_FILE = "persistence.mv.db"
LABEL = "org.cordalab.audit"
"""Label of the containers that read volumes, with the project as its value."""
NETWORK = "/network/network-parameters"
"""The file that completes a network. A later bootstrap, for another preset or more parties, leaves it as it is."""
NETWORK_SECONDS_MAX = 30.0

TRIES_MAX = 10
"""How often a node is asked. A copy that was taken while H2 moved its pages does not open."""
AGAIN_SECONDS = 2.0
"""Time between two copies. After a load, H2 moves pages for some seconds."""
TRY_SECONDS_MIN = 2.0
ENDING_SECONDS = 6.0
"""How long a command may take to end after its time is over."""

IDS_MAX = 1_000
"""Ids in one query. They are part of an argument, which has at most 128 KiB on Linux."""
ARGUMENT_CHARACTERS_MAX = 60_000

H2_SCRIPT, POSTGRES_SCRIPT = (
    (Path(__file__).parent / "inside" / name).read_text(encoding="utf-8") for name in ("read_h2.sh", "read_postgres.sh")
)


class Deadline:
    """The time by which reading has to end."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return max(0.0, self._ends - time.monotonic())


@dataclass(frozen=True)
class Extract:
    """What is read: a window of the ledgers, None for all of them; or only the bytes of the transactions ``ids``."""

    window: Window | None = None
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """How a database writes a column as milliseconds since 1970, the reverse, and bytes in hexadecimal."""

    milliseconds: str
    moment: str
    bytes: str

    def within(self, column: str, window: Window | None) -> str:
        """Whether a time is in a window."""
        if window is None:
            return "1 = 1"
        since = f"{column} >= {self.moment.format(int(window.since * 1000))}"
        if window.until is None:
            return since
        return f"{since} and {column} <= {self.moment.format(int(window.until * 1000) + 1)}"


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
_BYTES_OF = (
    "SELECT coalesce(min(CASE data_type WHEN 'oid' THEN 'lo_get(transaction_value)' END), 'transaction_value') "
    "AS transaction_value FROM information_schema.columns WHERE table_schema = '{schema}' "
    "AND table_name = 'node_transactions' AND column_name = 'transaction_value' \\gset"
)
"""Sets the variable ``transaction_value`` of psql: large objects in most versions, bytes in others."""


def queries(dialect: Dialect, extract: Extract) -> dict[str, str]:
    """The queries by the names of their tables."""
    of_bytes = f"select tx_id, {dialect.bytes} as bytes from node_transactions where"
    if extract.ids:
        names = ", ".join(f"'{identity}'" for identity in extract.ids[:IDS_MAX] if identity.isalnum())
        return {"bytes": f"{of_bytes} tx_id in ({names})"}
    milliseconds = dialect.milliseconds.format
    recorded, consumed = (dialect.within(f"v.{name}_timestamp", extract.window) for name in ("recorded", "consumed"))
    within = dialect.within("timestamp", extract.window)
    committed = "select output_index, transaction_id, consuming_transaction_id from"
    tables = {
        "parties": "select party_name, owning_key_hash from node_info_party_cert",
        "keys": "select public_key_hash from node_our_key_pairs",
        # One that is not verified yet is only on its way.
        "transactions": f"select tx_id, state_machine_run_id, {milliseconds('timestamp')} as at from node_transactions "
        "where status <> 'U'",
        "vault": "select output_index, transaction_id, contract_state_class_name, state_status, "
        f"{milliseconds('recorded_timestamp')} as recorded, {milliseconds('consumed_timestamp')} as consumed, "
        "relevancy_status from vault_states",
        "participants": "select p.output_index, p.transaction_id, p.public_key_hash, p.x500_name from state_party p "
        "join vault_states v on v.transaction_id = p.transaction_id and v.output_index = p.output_index "
        f"where ({recorded}) or ({consumed})",
        "flows": "select flow_id, status from node_checkpoints",
        "flow_names": "select flow_id, flow_name, flow_identifier from node_flow_metadata",
        "committed": f"{committed} node_notary_committed_states",
        "committed_bft": f"{committed} node_bft_committed_states",
        "committed_ids": "select transaction_id from node_notary_committed_txs",
        "committed_ids_bft": "select transaction_id from node_bft_committed_txs",
        "committed_ids_raft": "select transaction_id from node_raft_committed_txs",
        "requested": f"select consuming_transaction_id, {milliseconds('request_timestamp')} as at "
        "from node_notary_request_log",
        "bytes": f"{of_bytes} {within}",
    }
    if extract.window is not None:
        spent = dialect.within("consumed_timestamp", extract.window)
        spent = f"select transaction_id from vault_states where {spent}"
        tables["bytes_spent"] = f"{of_bytes} not ({within}) and tx_id in ({spent})"
    return tables


def unsupported(settings: Settings) -> str | None:
    """Why the ledgers of this version of Corda are not read; None if they are."""
    version = settings["CORDA_VERSION"]
    platform = platform_version(version)
    if platform is None or platform >= PLATFORM_VERSIONS[FIRST_CORDA]:
        return None
    return f"ledgers are read from Corda {FIRST_CORDA} on, and the nodes are of {version}"


def present(compose: Lab) -> dict[str, str]:
    """The services that have containers, with the context of the engine of each. Raises LabError if no node has one."""
    contexts = {service.name: service.container.context for service in compose.services()}
    if not contexts.keys() & {node.lower() for node in compose.settings.nodes}:
        raise LabError("There is no lab to audit", "Start one with `scripts/lab up`.", exit_code=1)
    return contexts


def network_created_at(compose: Lab) -> float:
    """When the network of the lab was made, in unix seconds: no ledger of it is older. Raises LabError.

    Node infos have new serials after every bootstrap, so no database says it in every version of Corda.
    """
    present(compose)
    arguments = [
        *("run", "--rm", f"--label={LABEL}={compose.project}", "--user=1000:1000", *READER),
        f"--volume={compose.project}_network:{NETWORK.rpartition('/')[0]}:ro",
        *("--entrypoint=stat", compose.settings.own_node_image, "--format=%Y", NETWORK),
    ]
    done = docker(*arguments, seconds_max=NETWORK_SECONDS_MAX)
    try:
        return float(done.stdout)
    except ValueError:
        why = last_words(done.stderr or done.stdout) or "nothing"
        raise LabError(f"when the network was made cannot be read: {why}", exit_code=1) from None


class Databases:
    """The databases of all nodes of a lab. What they answer is written into files in ``folder``.

    ``files`` has the name of another H2 file on the volume of some nodes, or of another schema in PostgreSQL.
    """

    def __init__(self, compose: Lab, folder: Path, deadline: Deadline, files: Mapping[str, str] | None = None) -> None:
        self.compose = compose
        self.folder = folder
        self.deadline = deadline
        self.files = files or {}
        self.reasons: list[str] = []
        """For every database that did not answer, why."""
        self._answers = 0

    def read(self, extract: Extract) -> list[Path]:
        """Ask all of them. Raises LabError if there is no lab."""
        nodes, contexts = self.compose.settings.nodes, present(self.compose)
        if self.compose.settings.values.get("DATABASE") == "postgres":
            return self._read_postgres(extract)
        self.reasons += [f"{node} has no container" for node in nodes if node.lower() not in contexts]
        nodes_on: dict[str, list[str]] = {}
        for node in (node for node in nodes if node.lower() in contexts):
            nodes_on.setdefault(contexts[node.lower()], []).append(node)
        # All engines at once, for they have the same deadline. On a single one, Ctrl-C ends the command at once.
        answers = on_each(nodes_on, lambda context: self._read_h2(context, nodes_on[context], extract))
        return [file for files in answers.values() for file in files]

    def _read_h2(self, context: str, nodes: Sequence[str], extract: Extract) -> list[Path]:
        """Read the H2 files of nodes whose volumes an engine has. Those that do not open are copied again."""
        answers: list[Path] = []
        left = {node: self.files.get(node, NODE_FILE) for node in nodes}

        def ask() -> None:
            answer = self._new_file("-".join(filter(None, ("h2", context))))
            command = h2_command(self.compose, left, extract, max(1, int(self.deadline.left)))
            shown = "docker run … " + " ".join(left)
            seconds_max = self.deadline.left + ENDING_SECONDS
            docker_to_file(answer, *command, on=context, shown=shown, seconds_max=seconds_max)
            answers.append(answer)
            failed = failures(answer)
            for node in left.keys() - failed.keys():
                del left[node]
            if failed:
                why = "; ".join(f"{node}: {text}" for node, text in failed.items())
                raise LabError(f"`{shown}` failed: {why}", exit_code=1)

        if problem := _tried(ask, self.deadline):
            self.reasons.append(f"the ledgers of {', '.join(left)} could not be read: {problem}")
        return answers

    def _read_postgres(self, extract: Extract) -> list[Path]:
        answer = self._new_file("postgres")

        def ask() -> None:
            nodes, left = self.compose.settings.nodes, self.deadline.left
            commands = postgres_commands(nodes, extract, seconds_max=left, schemas=self.files)
            command = ["sh", "-c", POSTGRES_SCRIPT, "audit", *in_pieces(commands)]
            self.compose.exec_to_file(answer, "postgres", *command, seconds_max=self.deadline.left)

        if problem := _tried(ask, self.deadline):
            self.reasons.append(f"PostgreSQL could not be read: {problem}")
            return []
        return [answer]

    def _new_file(self, name: str) -> Path:
        self._answers += 1
        return self.folder / f"{name}-{self._answers}.csv"


def h2_command(compose: Lab, files: Mapping[str, str], extract: Extract, seconds: int) -> list[str]:
    """The arguments of ``docker`` that read the H2 files of nodes, in one container on the lab's own image of a node.

    It is apart from the nodes, so it takes nothing of their memory, and works on those that have stopped. An image that
    the lab has not built has H2's classes in its capsule.
    """
    volumes = [f"--volume={compose.project}_{node.lower()}-persistence:{LEDGERS}/{node}:ro" for node in files]
    return [
        *("run", "--rm", f"--label={LABEL}={compose.project}", "--network=none", "--user=1000:1000"),
        *("--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--pids-limit=256", "--memory=1g"),
        # What it prints goes to a file of the lab's, and may be hundreds of megabytes.
        "--log-driver=none",
        *volumes,
        *("--entrypoint=timeout", compose.reader_image, "--kill-after=5", str(seconds)),
        *("bash", "-c", H2_SCRIPT, "audit", h2_statements(extract)),
        *(f"{node}={LEDGERS}/{node}/{file}" for node, file in files.items()),
    ]


def h2_statements(extract: Extract) -> str:
    """Statements that each write a table."""
    tables = {name: query.replace("'", "''") for name, query in queries(H2, extract).items()}
    return "\n".join(f"call csvwrite('{name}.csv', '{query}');" for name, query in tables.items())


def postgres_commands(
    nodes: Iterable[str], extract: Extract, *, seconds_max: float, schemas: Mapping[str, str] | None = None
) -> str:
    """The queries of several nodes as one script for psql.

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
        lines += [f'SET LOCAL search_path = "{schema}";', _BYTES_OF.format(schema=schema)]
        for name, query in queries(POSTGRES, extract).items():
            lines += [
                f"\\echo {MARK} {node}/{name}",
                f"COPY ({query}) TO STDOUT WITH (FORMAT csv, HEADER);",
                *(f"\\echo {MARK} {node}/{STATE}", f"\\echo {STATE}", "\\echo :SQLSTATE"),
            ]
    return "\n".join([*lines, "COMMIT;", f"\\echo {MARK} {END}", ""])


def in_pieces(text: str) -> list[str]:
    return [text[at : at + ARGUMENT_CHARACTERS_MAX] for at in range(0, len(text), ARGUMENT_CHARACTERS_MAX)]


def _tried(ask: Callable[[], None], deadline: Deadline) -> str | None:
    """Ask until there is an answer. Returns why there is none."""
    problem = f"no time was left of {deadline.seconds:.0f} s"
    for number in range(TRIES_MAX):
        time.sleep(min(AGAIN_SECONDS, deadline.left) if number else 0)
        if deadline.left < TRY_SECONDS_MIN:
            break
        try:
            ask()
        except LabError as error:
            # The command itself has the whole script in it.
            words = " ".join(error.message.rpartition("` ")[2].removeprefix("failed: ").split())
            problem = words or f"reading did not end within {deadline.seconds:.0f} s"
        else:
            return None
    return problem


Row = dict[str, str]


@dataclass(frozen=True)
class Table:
    """A table in an answer, with its rows, which can be read once, before the next table."""

    node: str
    name: str
    exists: bool
    """Whether the database has it."""
    rows: Iterator[Row]


def tables_in(answer: Path) -> Iterator[Table]:
    """Every table of an answer. Raises LabError if the answer was cut off."""
    csv.field_size_limit(FIELD_BYTES_MAX)
    with answer.open(encoding="utf-8", errors="replace", newline="") as stream:
        head = next(stream, "").split()
        while len(head) == 2 and head[0] == MARK and head[1] != END:
            node, _, name = head[1].partition("/")
            following: list[str] = []
            # A table that the database does not have has no head.
            reader = csv.reader(_until_mark(stream, following))
            columns = [column.lower() for column in next(reader, [])]
            rows = (_row(columns, values) for values in reader)
            if name == STATE:
                # A query that failed, other than for a missing table, has left out rows.
                if failed := {row[STATE] for row in rows} - HARMLESS:
                    why = f"SQLSTATE {', '.join(sorted(failed))}"
                    raise LabError(f"a query of the database of {node} failed ({why})", exit_code=1)
            else:
                yield Table(node, name, bool(columns), rows)
                for _ in rows:
                    pass
            head = following
        if head != [MARK, END]:
            raise LabError(CUT_OFF, exit_code=1)


def _row(columns: list[str], values: list[str]) -> Row:
    if len(columns) != len(values):
        raise LabError(CUT_OFF, exit_code=1)
    return dict(zip(columns, values, strict=True))


def _until_mark(lines: Iterable[str], following: list[str]) -> Iterator[str]:
    """The lines until the next mark, whose words are added to ``following``."""
    for line in lines:
        if line.startswith(f"{MARK} "):
            following += line.split()
            return
        yield line


def failures(answer: Path) -> dict[str, str]:
    """Why nodes could not be read, by node. They are the first tables of an answer."""
    reasons: dict[str, str] = {}
    for table in tables_in(answer):
        if table.name != FAILED:
            break
        reasons[table.node] = " ".join(" ".join(row.values()) for row in table.rows).strip()
    return reasons
