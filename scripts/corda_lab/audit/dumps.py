"""Reads the files with what the databases of the nodes have answered, and puts the ledgers together."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corda_lab.audit.amqp import UnreadableError
from corda_lab.audit.queries import END, FAILED, HARMLESS, MARK, STATE, Deadline
from corda_lab.audit.tables import (
    Flow,
    FlowStatus,
    Ledgers,
    NodeLedger,
    NotaryLog,
    Recorded,
    StateRef,
    Transaction,
    VaultState,
)
from corda_lab.audit.transactions import People, read_transaction
from corda_lab.errors import LabError
from corda_lab.text.words import plural

FIELD_BYTES_MAX = 128 * 1024**2
"""Twice the largest transaction, in hexadecimal."""

# Ordinals of net.corda.node.services.statemachine.Checkpoint.FlowStatus. A failed, completed or killed flow is kept
# only for a caller that asks by client id.
FLOW_STATUSES: Mapping[str, FlowStatus] = {
    "0": "suspended",
    "1": "ended",
    "2": "ended",
    "3": "hospital",
    "4": "ended",
    "5": "suspended",
}

RELEVANT = "0"
"""Ordinal of net.corda.core.node.services.Vault.RelevancyStatus.RELEVANT."""

NOT_VERIFYING = ("simple", "jpa", "raft", "bft")
"""The kinds of notaries that store no transaction. A kind that the lab does not have may."""

REQUIRED = ("parties", "keys", "transactions", "vault", "participants", "flows", "flow_names")
"""The tables that every node has."""

CUT_OFF = "the answer of a database was cut off"

Row = dict[str, str]


class DumpError(LabError):
    """What a database has answered is not whole."""


@dataclass
class NodeTables:
    """The tables of a node, without the bytes of its transactions."""

    name: str
    tables: dict[str, list[Row]] = field(default_factory=dict)

    def rows(self, *names: str) -> list[Row]:
        """The rows of the tables with these names, as far as the node has them."""
        return [row for name in names for row in self.tables.get(name, ())]

    def has(self, *names: str) -> bool:
        return any(name in self.tables for name in names)


@dataclass(frozen=True)
class Section:
    """A table in an answer: its node, its name, and its rows, which can be read once, before the next table.

    It ``exists`` if the database has it.
    """

    node: str
    name: str
    exists: bool
    rows: Iterator[Row]


def sections(source: Path) -> Iterator[Section]:
    """Every table of an answer. Raises DumpError if the answer was cut off."""
    csv.field_size_limit(FIELD_BYTES_MAX)
    with source.open(encoding="utf-8", errors="replace", newline="") as stream:
        head = next(stream, "")
        while head.startswith(f"{MARK} ") and head.split()[1] != END:
            node, _, name = head.split()[1].partition("/")
            following: list[str] = []
            # A table that the database does not have has no head.
            reader = csv.reader(_until_mark(stream, following))
            columns = [column.lower() for column in next(reader, [])]
            rows = (_row(columns, values) for values in reader)
            if name == STATE:
                _require_whole(node, rows)
            else:
                yield Section(node, name, bool(columns), rows)
                for _ in rows:
                    pass
            head = following[0] if following else ""
        if head.split() != [MARK, END]:
            raise DumpError(CUT_OFF, exit_code=1)


def _require_whole(node: str, rows: Iterator[Row]) -> None:
    """Raise DumpError if the query before did not succeed, other than for a missing table."""
    states = {row[STATE] for row in rows}
    if bad := states - set(HARMLESS):
        raise DumpError(f"a query of the database of {node} failed (SQLSTATE {', '.join(sorted(bad))})", exit_code=1)


def _row(columns: list[str], values: list[str]) -> Row:
    if len(columns) != len(values):
        raise DumpError(CUT_OFF, exit_code=1)
    return dict(zip(columns, values, strict=True))


def _until_mark(lines: Iterable[str], following: list[str]) -> Iterator[str]:
    """The lines until the next mark, which is added to ``following``."""
    for line in lines:
        if line.startswith(f"{MARK} "):
            following.append(line)
            return
        yield line


def read_tables(sources: Iterable[Path]) -> dict[str, NodeTables]:
    """Read all tables but the bytes, by node. Raises DumpError if an answer lacks what every node has."""
    found: dict[str, NodeTables] = {}
    for source in sources:
        for section in sections(source):
            if section.name == FAILED:
                continue
            node = found.setdefault(section.node, NodeTables(section.node))
            if section.exists and not section.name.startswith("bytes"):
                node.tables[section.name] = list(section.rows)
    for node in found.values():
        for name in REQUIRED:
            if not node.has(name):
                raise DumpError(f"the database of {node.name} does not answer the query {name}", exit_code=1)
    return found


def failures(source: Path) -> dict[str, str]:
    """Why nodes could not be read, by node. They are the first tables of an answer."""
    found: dict[str, str] = {}
    for section in sections(source):
        if section.name != FAILED:
            break
        found[section.node] = " ".join(" ".join(row.values()) for row in section.rows).strip()
    return found


def people_of(nodes: Mapping[str, NodeTables]) -> People:
    """Whose keys are whose. A node's own keys are those of its name, and the fresh ones that it has made."""
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    for node in nodes.values():
        for row in node.rows("parties"):
            names[row["owning_key_hash"]] = row["party_name"]
            if (owner := organisation(row["party_name"])) in nodes:
                owners[row["owning_key_hash"]] = owner
    for node in nodes.values():
        for row in node.rows("keys"):
            owners.setdefault(row["public_key_hash"], node.name)
    return People(owners, names)


def organisation(x500_name: str) -> str:
    """The organisation in an X.500 name: in the lab, the name of the node."""
    found = re.search(r"(?:^|,)\s*O=([^,]+)", x500_name)
    return found[1].strip() if found else ""


@dataclass
class Bytes:
    """The transactions whose bytes were read, and the ids of those whose bytes are not understood, with why."""

    transactions: dict[str, Transaction] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)


def read_bytes(sources: Iterable[Path], people: People, into: Bytes, deadline: Deadline) -> None:
    """Read the transactions of all answers, each once. Raises DumpError, also at the deadline."""
    for source in sources:
        for section in sections(source):
            if not section.name.startswith("bytes"):
                continue
            for row in section.rows:
                identity = row["tx_id"].upper()
                if identity in into.transactions or identity in into.unreadable:
                    continue
                if deadline.left == 0:
                    read = len(into.transactions)
                    text = f"only {plural(read, 'transaction')} could be read within {deadline.seconds:.0f} s"
                    raise DumpError(text, exit_code=1)
                try:
                    into.transactions[identity] = read_transaction(identity, bytes.fromhex(row["bytes"]), people)
                except (UnreadableError, ValueError) as error:
                    into.unreadable[identity] = str(error)


def ledgers_of(
    nodes: Mapping[str, NodeTables],
    transactions: Mapping[str, Transaction],
    people: People,
    notaries: Iterable[str],
    notary: str,
) -> Ledgers:
    """Put the ledgers together. ``notaries`` are the names of the notary's nodes, ``notary`` is its kind."""
    members = frozenset(notaries)
    ledgers = {name: _ledger(node, people, is_notary=name in members) for name, node in nodes.items()}
    return Ledgers(
        ledgers,
        transactions,
        notary_log([nodes[name] for name in sorted(members) if name in nodes], notary),
        notary_verifies=notary not in NOT_VERIFYING,
    )


def _ledger(node: NodeTables, people: People, *, is_notary: bool) -> NodeLedger:
    participants: dict[StateRef, set[str]] = {}
    for row in node.rows("participants"):
        name = organisation(row["x500_name"]) or people.nodes.get(row["public_key_hash"], "")
        participants.setdefault(_state(row), set()).add(name)
    named = {row["flow_id"]: row for row in node.rows("flow_names")}
    return NodeLedger(
        name=node.name,
        transactions={
            row["tx_id"].upper(): Recorded(row["state_machine_run_id"] or None, _seconds(row["at"]))
            for row in node.rows("transactions")
        },
        vault={
            state: VaultState(
                row["contract_state_class_name"],
                row["state_status"] == "1",
                _seconds(row["recorded"]),
                _seconds(row["consumed"]),
                frozenset(participants.get(state, ())),
                row["relevancy_status"] == RELEVANT,
            )
            for row in node.rows("vault")
            for state in [_state(row)]
        },
        flows=tuple(
            Flow(
                row["flow_id"],
                FLOW_STATUSES.get(row["status"], "suspended"),
                named.get(row["flow_id"], {}).get("flow_name") or None,
                named.get(row["flow_id"], {}).get("flow_identifier") or None,
            )
            for row in node.rows("flows")
        ),
        is_notary=is_notary,
    )


def notary_log(members: Iterable[NodeTables], notary: str) -> NotaryLog | None:
    """The log of a notary of a kind, together from all of its nodes; None without one."""
    nodes = list(members)
    if not nodes:
        return None
    committed: dict[StateRef, set[str]] = {}
    for node in nodes:
        for row in node.rows("committed", "committed_bft"):
            committed.setdefault(_state(row), set()).add(row["consuming_transaction_id"].upper())
    consumers = {state: min(found) for state, found in committed.items()}
    conflicts = {state: frozenset(found) for state, found in committed.items() if len(found) > 1}
    ids = ("committed_ids", "committed_ids_bft", "committed_ids_raft")
    has_ids = any(node.has(*ids) for node in nodes)
    transactions = frozenset(row["transaction_id"].upper() for node in nodes for row in node.rows(*ids))
    requested: dict[str, float] = {}
    for node in nodes:
        for row in node.rows("requested"):
            if (at := _seconds(row["at"])) is not None:
                identity = row["consuming_transaction_id"].upper()
                requested[identity] = max(at, requested.get(identity, at))
    # A Raft cluster has the same table as any node, and leaves it empty.
    is_read = notary != "raft" and (notary != "bft" or bool(consumers))
    return NotaryLog(consumers if is_read else None, transactions if has_ids else None, requested, conflicts)


def _state(row: Row) -> StateRef:
    return StateRef(row["transaction_id"].upper(), int(row["output_index"]))


def _seconds(milliseconds: str) -> float | None:
    return int(milliseconds) / 1000 if milliseconds else None
