"""Reads the ledgers of a lab: asks its databases, and puts together what they have answered."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corda_lab.audit.amqp import UnreadableError
from corda_lab.audit.databases import FAILED, IDS_MAX, Databases, Deadline, Extract, Row, tables_in
from corda_lab.audit.model import (
    Flow,
    FlowStatus,
    Ledgers,
    NodeLedger,
    NotaryLog,
    Recorded,
    Scope,
    StateRef,
    Transaction,
    VaultState,
)
from corda_lab.audit.transactions import People, read_transaction
from corda_lab.errors import LabError
from corda_lab.text.words import plural

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
UNREADABLE_SHOWN_MAX = 3

Tables = dict[str, list[Row]]
"""The tables of a node by name, without the bytes of its transactions."""


@dataclass
class Bytes:
    """The transactions whose bytes were read, and the ids of those whose bytes are not understood, with why."""

    transactions: dict[str, Transaction] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)

    def add(self, answers: Iterable[Path], people: People, deadline: Deadline) -> None:
        """Read the transactions of all answers, each once. Raises LabError, also at the deadline."""
        tables = (table for answer in answers for table in tables_in(answer) if table.name.startswith("bytes"))
        for row in (row for table in tables for row in table.rows):
            identity = row["tx_id"].upper()
            if identity in self.transactions or identity in self.unreadable:
                continue
            if deadline.left == 0:
                read = plural(len(self.transactions), "transaction")
                raise LabError(f"only {read} could be read within {deadline.seconds:.0f} s", exit_code=1)
            try:
                self.transactions[identity] = read_transaction(identity, bytes.fromhex(row["bytes"]), people)
            except (UnreadableError, ValueError) as error:
                self.unreadable[identity] = str(error)

    @property
    def problems(self) -> list[str]:
        """Why transactions were not understood, with an example of each reason."""
        examples: dict[str, str] = {}
        for identity, why in self.unreadable.items():
            examples.setdefault(why, identity)
        shown = list(examples.items())[:UNREADABLE_SHOWN_MAX]
        return [f"transaction {identity} is not understood: {why}" for why, identity in shown]


def read_ledgers(databases: Databases, scope: Scope, read: Bytes) -> Ledgers | None:
    """Read all nodes; None if no ledger can be put together. Raises LabError if there is no lab.

    ``read`` gets the transactions whose bytes were read.
    """
    settings = databases.compose.settings
    answers = databases.read(Extract(scope.span))
    try:
        nodes = read_tables(answers)
        if not databases.reasons and (absent := set(settings.nodes) - nodes.keys()):
            raise LabError(f"the databases did not answer for {', '.join(sorted(absent))}", exit_code=1)
        people = people_of(nodes)
        read.add(answers, people, databases.deadline)
        kind = settings.values.get("NOTARY", "simple")
        ledgers = ledgers_of(nodes, read.transactions, people, settings.notaries, kind)
        # A vault that does not know that a state was consumed does not name its transaction either.
        if missing := missing_inputs(ledgers, scope) - read.unreadable.keys():
            further = databases.read(Extract(ids=tuple(sorted(missing))[:IDS_MAX]))
            read.add(further, people, databases.deadline)
    except LabError as error:
        databases.reasons.append(error.message)
        return None
    return ledgers


def missing_inputs(ledgers: Ledgers, scope: Scope) -> set[str]:
    """Transactions that some node has, whose outputs are consumed in scope, and whose bytes were not read."""
    known, held, parents = ledgers.transactions, set[str](), set[str]()
    for node in ledgers.nodes.values():
        held |= node.transactions.keys()
        for identity, recorded in node.transactions.items():
            if identity in known and scope.contains(recorded.at):
                parents |= known[identity].parents
    return (parents & held) - known.keys()


def read_tables(answers: Iterable[Path]) -> dict[str, Tables]:
    """Read all tables but the bytes, by node. Raises LabError if an answer lacks what every node has."""
    nodes: dict[str, Tables] = {}
    for table in (table for answer in answers for table in tables_in(answer) if table.name != FAILED):
        tables = nodes.setdefault(table.node, {})
        if table.exists and not table.name.startswith("bytes"):
            tables[table.name] = list(table.rows)
    for node, tables in nodes.items():
        for name in REQUIRED:
            if name not in tables:
                raise LabError(f"the database of {node} does not answer the query {name}", exit_code=1)
    return nodes


def people_of(nodes: Mapping[str, Tables]) -> People:
    """Whose keys are whose. A node's own keys are those of its name, and the fresh ones that it has made."""
    names = {row["owning_key_hash"]: row["party_name"] for tables in nodes.values() for row in tables["parties"]}
    owners = {key: owner for key, name in names.items() if (owner := organisation(name)) in nodes}
    for node, tables in nodes.items():
        for row in tables["keys"]:
            owners.setdefault(row["public_key_hash"], node)
    return People(owners, names)


def organisation(x500_name: str) -> str:
    """The organisation in an X.500 name: in the lab, the name of the node."""
    match = re.search(r"(?:^|,)\s*O=([^,]+)", x500_name)
    return match[1].strip() if match else ""


def ledgers_of(
    nodes: Mapping[str, Tables],
    transactions: Mapping[str, Transaction],
    people: People,
    notaries: Iterable[str],
    notary: str,
) -> Ledgers:
    """Put the ledgers together. ``notaries`` are the names of the notary's nodes, ``notary`` is its kind."""
    members = set(notaries)
    ledgers = {name: _ledger(name, tables, people, is_notary=name in members) for name, tables in nodes.items()}
    log = notary_log([nodes[name] for name in sorted(members) if name in nodes], notary)
    return Ledgers(ledgers, transactions, log, notary_verifies=notary not in NOT_VERIFYING)


def _ledger(name: str, tables: Tables, people: People, *, is_notary: bool) -> NodeLedger:
    participants: dict[StateRef, set[str]] = {}
    for row in tables["participants"]:
        participant = organisation(row["x500_name"]) or people.nodes.get(row["public_key_hash"], "")
        participants.setdefault(_state(row), set()).add(participant)
    about = {row["flow_id"]: row for row in tables["flow_names"]}
    return NodeLedger(
        name=name,
        transactions={
            row["tx_id"].upper(): Recorded(row["state_machine_run_id"] or None, _seconds(row["at"]))
            for row in tables["transactions"]
        },
        vault={
            (state := _state(row)): VaultState(
                row["contract_state_class_name"],
                row["state_status"] == "1",
                _seconds(row["recorded"]),
                _seconds(row["consumed"]),
                frozenset(participants.get(state, ())),
                row["relevancy_status"] == RELEVANT,
            )
            for row in tables["vault"]
        },
        flows=tuple(
            Flow(
                row["flow_id"],
                FLOW_STATUSES.get(row["status"], "suspended"),
                about.get(row["flow_id"], {}).get("flow_name") or None,
                about.get(row["flow_id"], {}).get("flow_identifier") or None,
            )
            for row in tables["flows"]
        ),
        is_notary=is_notary,
    )


def notary_log(members: list[Tables], notary: str) -> NotaryLog | None:
    """The log of a notary of a kind, together from all of its nodes; None without one."""
    if not members:
        return None

    def rows(*names: str) -> list[Row]:
        return [row for tables in members for name in names for row in tables.get(name, ())]

    committed: dict[StateRef, set[str]] = {}
    for row in rows("committed", "committed_bft"):
        committed.setdefault(_state(row), set()).add(row["consuming_transaction_id"].upper())
    ids = ("committed_ids", "committed_ids_bft", "committed_ids_raft")
    has_ids = any(name in tables for tables in members for name in ids)
    committed_at: dict[str, float] = {}
    for row in rows("requested"):
        if (at := _seconds(row["at"])) is not None:
            identity = row["consuming_transaction_id"].upper()
            committed_at[identity] = max(at, committed_at.get(identity, at))
    # A Raft cluster has the same table as any node, and leaves it empty.
    is_read = notary != "raft" and (notary != "bft" or bool(committed))
    return NotaryLog(
        consumers={state: min(consumers) for state, consumers in committed.items()} if is_read else None,
        transactions=frozenset(row["transaction_id"].upper() for row in rows(*ids)) if has_ids else None,
        committed_at=committed_at,
        conflicts={state: frozenset(consumers) for state, consumers in committed.items() if len(consumers) > 1},
    )


def _state(row: Row) -> StateRef:
    return StateRef(row["transaction_id"].upper(), int(row["output_index"]))


def _seconds(milliseconds: str) -> float | None:
    return int(milliseconds) / 1000 if milliseconds else None
