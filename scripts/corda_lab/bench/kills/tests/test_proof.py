"""What became of every flow of a load whose bridge or generator was killed, proved from rows, answers and vaults."""

from typing import Any

import polars as pl

from corda_lab.bench.kills.proof import Vaults, open_clients, prove
from corda_lab.clients.bridge import FlowStatus
from corda_lab.steps.plan import Subject
from support.runs import part
from support.simulation import IOU_STATE

SUBJECT = Subject("PartyA", (part("Iou"),))
PLACES = ((IOU_STATE, "PartyA"), (IOU_STATE, "PartyB"))
SCHEMA = {"client_id": pl.String, "outcome": pl.String, "tx_id": pl.String}
RESOLVED = {**SCHEMA, "resolved": pl.String, "resolved_tx_id": pl.String}


def rows(*known: tuple[Any, ...]) -> pl.DataFrame:
    """Rows as (number, outcome, transaction), and with (resolution, transaction) if the run was stored."""
    schema = RESOLVED if known and len(known[0]) > 3 else SCHEMA
    return pl.DataFrame([(f"run-ab-{row[0]}", *row[1:]) for row in known], schema=schema, orient="row")


def ledger(*transactions: str, states: int | None = None) -> Vaults:
    count = len(transactions) if states is None else states
    return Vaults({place: set(transactions) for place in PLACES}, dict.fromkeys(PLACES, count))


STORED = rows(
    (1, "ok", "aa", None, None),
    (2, "ok", "BB", None, None),
    (3, "unknown", None, "ok", "cc"),
    (4, "unknown", None, "failed", None),
    (5, "unknown", None, "not_started", None),
    (6, "failed", None, None, None),
)
"""The rows of a run whose bridge was killed. Three transactions are on the ledger."""


def test_every_flow_of_a_stored_run_is_where_it_belongs() -> None:
    proof = prove(STORED, {}, ledger("AA", "BB", "CC"), SUBJECT)
    assert proof.problems == []
    assert (proof.acknowledged, proof.unrecorded) == (2, 0)
    assert proof.resolved == {"ok": 1, "failed": 1, "not_started": 1}


def test_an_acknowledged_flow_that_is_not_on_the_ledger_is_found_in_every_vault() -> None:
    assert prove(STORED, {}, ledger("AA", "CC"), SUBJECT).problems == [
        "transactions missing in the vault of PartyA: 1 (BB)",
        "transactions missing in the vault of PartyB: 1 (BB)",
    ]


def test_a_vault_of_one_party_alone_is_compared_too() -> None:
    whole = ledger("AA", "BB", "CC")
    lost = {**whole.transactions, PLACES[1]: {"AA", "CC"}}
    assert prove(STORED, {}, Vaults(lost, {**whole.states, PLACES[1]: 2}), SUBJECT).problems == [
        "transactions missing in the vault of PartyB: 1 (BB)"
    ]


def test_a_flow_that_ran_twice_is_found_as_a_transaction_of_no_flow() -> None:
    problems = prove(STORED, {}, ledger("AA", "BB", "CC", "DD"), SUBJECT).problems
    assert "transactions of no known flow in the vault of PartyA: 1 (DD)" in problems


def test_a_state_that_was_recorded_twice_is_found() -> None:
    assert prove(STORED, {}, ledger("AA", "BB", "CC", states=4), SUBJECT).problems == [
        "the vault of PartyA has 4 new states of 3 transactions instead of 3",
        "the vault of PartyB has 4 new states of 3 transactions instead of 3",
    ]


def test_one_transaction_cannot_be_the_answer_to_two_flows() -> None:
    twice = rows((1, "ok", "AA"), (2, "ok", "aa"))
    assert prove(twice, {}, ledger("AA"), SUBJECT).problems == ["transactions that answered more than one flow: 1 (AA)"]


def test_a_success_without_a_transaction_proves_nothing() -> None:
    nameless = rows((1, "ok", None))
    assert prove(nameless, {}, ledger(), SUBJECT).problems == ["1 flow succeeded without the id of a transaction"]


def test_an_outcome_that_stays_unknown_is_a_problem() -> None:
    left = rows((1, "unknown", None, "unknown", None))
    assert prove(left, {}, ledger(), SUBJECT).problems == ["flows whose outcome stayed unknown: 1 (run-ab-1)"]


def test_flows_without_a_row_are_those_that_the_node_knows() -> None:
    killed = rows((1, "ok", "AA"), (2, "unknown", None))
    answers = {
        "run-ab-2": FlowStatus("completed", "bb"),
        "run-ab-3": FlowStatus("completed", "CC"),
        "run-ab-4": FlowStatus("failed"),
        "run-ab-5": FlowStatus("absent"),
    }
    proof = prove(killed, answers, ledger("AA", "BB", "CC"), SUBJECT)
    assert proof.problems == []
    assert (proof.acknowledged, proof.unrecorded, proof.resolved) == (1, 1, {"ok": 1})
    running = prove(killed, {**answers, "run-ab-3": FlowStatus("running")}, ledger("AA", "BB"), SUBJECT)
    assert running.problems == ["flows whose outcome stayed unknown: 1 (run-ab-3)"]


def test_without_any_row_only_the_ledger_knows_the_flows() -> None:
    proof = prove(rows(), {}, ledger("AA", "BB"), SUBJECT)
    assert (proof.problems, proof.unrecorded) == ([], 2)
    assert prove(rows(), {}, ledger("AA", states=2), SUBJECT).problems != []


def test_asks_for_gaps_for_unknown_ones_and_for_what_follows_the_last_row() -> None:
    asked: list[str] = []
    # 3 was in flight, 6 and 8 were answered after the last row was written, 7 never reached the node.
    known = {3, 6, 8}

    def ask(client: str) -> FlowStatus:
        asked.append(client)
        return FlowStatus("completed", client) if int(client.rpartition("-")[2]) in known else FlowStatus("absent")

    killed = rows((1, "ok", "AA"), (2, "ok", "BB"), (4, "failed", None), (5, "unknown", None))
    found = open_clients(killed, 2, ask)
    assert sorted(int(client.rpartition("-")[2]) for client in asked) == [3, 5, 6, 7, 8, 9, 10, 11]
    assert [client for client, one in found.items() if one.state == "completed"] == [
        f"run-ab-{number}" for number in (3, 6, 8)
    ]
    assert open_clients(rows(), 2, ask) == {}
