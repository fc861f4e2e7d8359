"""Proves from rows, answers of the node and vaults what became of every flow of a load, independently of the run.

It holds for loads of one flow. Each success records one transaction with the states that the workload declares.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import polars as pl

from corda_lab.clients.bridge import FlowStatus
from corda_lab.runs.unknown import RESOLVED
from corda_lab.steps.plan import Subject
from corda_lab.text.words import plural

Place = tuple[str, str]
"""A class of states and a node."""

EXAMPLES_MAX = 3


@dataclass(frozen=True)
class Vaults:
    """What a load left on the ledger, by place: its transactions, and the change in the number of unconsumed states."""

    transactions: Mapping[Place, set[str]]
    states: Mapping[Place, int]

    @property
    def transactions_max(self) -> int:
        """The transactions of the place with the most of them."""
        return max((len(ids) for ids in self.transactions.values()), default=0)


@dataclass
class Proof:
    """What is known of the flows of a load, and what contradicts it."""

    acknowledged: int = 0
    resolved: dict[str, int] = field(default_factory=dict)
    unrecorded: int = 0
    problems: list[str] = field(default_factory=list)


def prove(rows: pl.DataFrame, asked: Mapping[str, FlowStatus], vaults: Vaults, subject: Subject) -> Proof:
    """Check that every acknowledged flow is on the ledger once, that every other one is resolved, and nothing else is.

    ``rows`` has the columns of ``requests.parquet``; without results, it has no resolutions. ``asked`` is what the node
    said about client ids that the rows leave open, or that have no row.
    """
    proof = Proof()
    acknowledged = _ids(rows.filter(pl.col("outcome") == "ok"), "tx_id")
    proof.acknowledged = len(acknowledged)
    resolved = resolutions(rows, asked)
    proof.resolved = dict(Counter(state for state, _ in resolved.values()))
    unrecorded = {client: one for client, one in asked.items() if client not in set(rows["client_id"])}
    proof.unrecorded = sum(one.state == "completed" for one in unrecorded.values())
    found = [
        *acknowledged,
        *(transaction for state, transaction in resolved.values() if state == "ok"),
        *(_upper(one.transaction) for one in unrecorded.values() if one.state == "completed"),
    ]
    told = set(found) - {""}
    if nameless := found.count(""):
        proof.problems.append(f"{plural(nameless, 'flow')} succeeded without the id of a transaction")
    twice = [one for one, count in Counter(found).items() if one and count > 1]
    proof.problems += listed_ids("transactions that answered more than one flow", twice)
    open_states = [client for client, (state, _) in resolved.items() if state not in {"ok", "failed", "not_started"}]
    open_states += [client for client, one in unrecorded.items() if one.state in {"running", "unreachable"}]
    proof.problems += listed_ids("flows whose outcome stayed unknown", open_states)
    # Without a row there is no client id to ask by. The flows that it began are then known only to the ledger.
    proof.problems += ledger_problems(told if rows.height or asked else None, vaults, subject)
    if not rows.height and not asked:
        proof.unrecorded = vaults.transactions_max
    return proof


def resolutions(rows: pl.DataFrame, asked: Mapping[str, FlowStatus]) -> dict[str, tuple[str, str]]:
    """What became of each row with an unknown outcome: client id → (resolution, id of the transaction or empty)."""
    # Rows of a run without results have the columns too, and nothing in them.
    has_resolutions = "resolved" in rows.columns and not asked
    found = {}
    for row in rows.filter(pl.col("outcome") == "unknown").iter_rows(named=True):
        client = str(row["client_id"])
        if has_resolutions:
            found[client] = (str(row["resolved"]), _upper(row["resolved_tx_id"]))
        else:
            answer = asked.get(client, FlowStatus("unreachable"))
            found[client] = (RESOLVED.get(answer.state, "unknown"), _upper(answer.transaction))
    return found


def ledger_problems(told: set[str] | None, vaults: Vaults, subject: Subject) -> list[str]:
    """What is wrong in the vaults, if these transactions, each with the states of one success, are to be there.

    If ``told`` is None, only the number of states is compared with that of transactions.
    """
    (part,) = subject.parts
    found = []
    for (state, node), ids in vaults.transactions.items():
        if told is not None:
            found += listed_ids(f"transactions missing in the vault of {node}", told - ids)
            found += listed_ids(f"transactions of no known flow in the vault of {node}", ids - told)
        states, wanted = vaults.states[state, node], len(ids) * part.changes[state][node]
        if states != wanted:
            found.append(f"the vault of {node} has {states} new states of {len(ids)} transactions instead of {wanted}")
    return found


def open_clients(rows: pl.DataFrame, users: int, ask: Callable[[str], FlowStatus]) -> dict[str, FlowStatus]:
    """Ask what became of each request that was killed with its generator, and of those with an unknown outcome.

    A generator process numbers its requests from 1. Requests without a row are the numbers that are missing, and those
    after the last. Each user has one request in flight, so after that many absent ones in a row, there are no more.
    """
    if not rows.height:
        return {}
    unknown = rows.filter(pl.col("outcome") == "unknown")["client_id"]
    found = {str(client): ask(str(client)) for client in unknown}
    prefix = str(rows["client_id"][0]).rpartition("-")[0]
    recorded = {int(str(client).rpartition("-")[2]) for client in rows["client_id"]}
    absent, number = 0, 1
    while number <= max(recorded) or absent <= users:
        if number not in recorded:
            client = f"{prefix}-{number}"
            found[client] = ask(client)
            absent = absent + 1 if found[client].state == "absent" else 0
        number += 1
    return found


def _ids(rows: pl.DataFrame, column: str) -> list[str]:
    return [_upper(one) for one in rows[column]]


def _upper(transaction: str | None) -> str:
    return (transaction or "").upper()


def listed_ids(what: str, ids: Collection[str]) -> list[str]:
    """``transactions missing …: 5 (AB, CD, EF, …)`` as the only problem; none without ids."""
    shown = ", ".join(sorted(ids)[:EXAMPLES_MAX])
    return [f"{what}: {len(ids)} ({shown}{', …' if len(ids) > EXAMPLES_MAX else ''})"] if ids else []
