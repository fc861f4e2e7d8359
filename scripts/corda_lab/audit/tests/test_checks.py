"""Each way in which a ledger can be wrong is found, with its ids; and a ledger that agrees passes."""

import time
from dataclasses import replace

import pytest

from corda_lab.audit.checks import judge
from corda_lab.audit.model import (
    Flow,
    Ledgers,
    NotaryLog,
    Recorded,
    Request,
    Scope,
    StateRef,
    Transaction,
    VaultState,
    Window,
)
from corda_lab.results.audits import Audit, Violation, ViolationKind
from support import ledgers as network
from support.ledgers import BEGAN, COIN, IOU, ISSUE, NOTARY, PAYMENT, PROMISE, REQUESTS, A, B, C, cash

RUN = Scope((Window(BEGAN, BEGAN + 60),))
Kind = ViolationKind


def judged(ledgers: Ledgers, requests: tuple[Request, ...] | None = REQUESTS, scope: Scope = RUN) -> Audit:
    return judge(ledgers, requests, scope)


def only(found: Audit, kind: ViolationKind) -> Violation:
    """The single violation of a kind, which has to be among those that were found."""
    [one] = [each for each in found.violations if each.kind is kind]
    return one


def without(ledgers: Ledgers, node: str, *identities: str) -> Ledgers:
    """The ledgers after a node has lost transactions and everything of them in its vault."""
    one = ledgers.nodes[node]
    return network.with_node(
        ledgers,
        replace(
            one,
            transactions={key: value for key, value in one.transactions.items() if key not in identities},
            vault={key: value for key, value in one.vault.items() if key.transaction not in identities},
        ),
    )


def with_row(ledgers: Ledgers, node: str, state: StateRef, row: VaultState) -> Ledgers:
    one = ledgers.nodes[node]
    return network.with_node(ledgers, replace(one, vault={**one.vault, state: row}))


def logged(ledgers: Ledgers, state: StateRef, consumer: str) -> Ledgers:
    """The ledgers after the notary has committed another consumer of a state."""
    assert ledgers.log is not None
    return replace(ledgers, log=replace(ledgers.log, consumers={**(ledgers.log.consumers or {}), state: consumer}))


def recorded_at(ledgers: Ledgers, node: str, identity: str, recorded: Recorded) -> Ledgers:
    one = ledgers.nodes[node]
    return network.with_node(ledgers, replace(one, transactions={**one.transactions, identity: recorded}))


def test_a_ledger_that_agrees_passes_with_its_counts() -> None:
    found = judged(network.consistent())
    assert found.violations == ()
    assert found.reasons == ()
    assert found.counts["acknowledged"] == 2
    assert found.counts["nodes"] == 4
    # PartyB fetched the set-up's coin during the run.
    assert found.counts["transactions"] == 4


def test_the_whole_ledger_is_judged_without_a_run() -> None:
    found = judged(network.consistent(), None, Scope())
    assert (found.violations, found.reasons) == ((), ())
    assert found.counts["transactions"] == 4


@pytest.mark.parametrize("node", [A, B])
def test_a_transaction_that_one_party_lost_is_found(node: str) -> None:
    found = judged(without(network.consistent(), node, PROMISE))
    one = only(found, Kind.MISSING_AT_PARTICIPANT)
    assert (one.node, one.ids) == (node, (PROMISE,))


def test_a_transaction_that_only_its_payee_lost_is_found() -> None:
    """Only the bytes of a payment say who the payee is: no other vault has the state."""
    one = only(judged(without(network.consistent(), B, PAYMENT)), Kind.MISSING_AT_PARTICIPANT)
    assert (one.node, one.ids) == (B, (PAYMENT,))


def test_a_state_that_a_vault_lacks_is_found_although_the_transaction_is_there() -> None:
    ledgers = network.consistent()
    node = ledgers.nodes[B]
    kept = {state: row for state, row in node.vault.items() if state.transaction != PROMISE}
    one = only(judged(network.with_node(ledgers, replace(node, vault=kept))), Kind.MISSING_AT_PARTICIPANT)
    assert (one.node, one.ids) == (B, (PROMISE, f"{PROMISE}(0)"))


def test_a_transaction_at_a_party_that_takes_no_part_is_found() -> None:
    found = judged(recorded_at(network.consistent(), C, PROMISE, Recorded("flow", BEGAN + 3)))
    one = only(found, Kind.AT_ANOTHER_PARTY)
    assert (one.node, one.ids) == (C, (PROMISE,))


@pytest.mark.parametrize("has_it", [False, True])
def test_an_oracle_signs_and_need_not_have_the_transaction(has_it: bool) -> None:
    ledgers = network.consistent()
    signed = ledgers.transactions[PROMISE]._replace(signers=frozenset({A, B, C}))
    ledgers = network.with_transactions(ledgers, [signed])
    if has_it:
        ledgers = recorded_at(ledgers, C, PROMISE, Recorded("flow-sign", BEGAN + 3))
    assert judged(ledgers).violations == ()


def test_a_backchain_may_be_at_a_party_that_takes_no_part_in_it() -> None:
    paid_on = Transaction("C4", (StateRef(PAYMENT, 0),), (cash(120, C),), frozenset({B}), is_notarised=True)
    ledgers = network.with_transactions(network.consistent(), [paid_on])
    state = StateRef(PAYMENT, 0)
    ledgers = with_row(ledgers, B, state, VaultState("cash", True, BEGAN + 2, BEGAN + 4, frozenset({B})))
    ledgers = with_row(ledgers, C, StateRef("C4", 0), VaultState("cash", False, BEGAN + 4, None, frozenset({C})))
    ledgers = recorded_at(ledgers, B, "C4", Recorded("flow-on", BEGAN + 4))
    for identity in (COIN, ISSUE, PAYMENT, "C4"):
        ledgers = recorded_at(ledgers, C, identity, Recorded("flow-receive", BEGAN + 4))
    ledgers = logged(ledgers, state, "C4")
    assert judged(ledgers, (*REQUESTS, Request("run-4", B, "acknowledged", "flow-on", "C4"))).violations == ()


def test_a_notary_stores_no_transaction_unless_it_verifies_them_and_then_their_backchains_only() -> None:
    ledgers = network.consistent()
    for identity in (COIN, ISSUE, PAYMENT):
        ledgers = recorded_at(ledgers, NOTARY, identity, Recorded(None, BEGAN + 2))

    def found(notary_verifies: bool) -> list[tuple[str | None, tuple[str, ...]]]:
        violations = judged(replace(ledgers, notary_verifies=notary_verifies)).violations
        assert {one.kind for one in violations} == {Kind.AT_ANOTHER_PARTY}
        return [(one.node, one.ids) for one in violations]

    assert found(notary_verifies=False) == [(NOTARY, (COIN,)), (NOTARY, (ISSUE,)), (NOTARY, (PAYMENT,))]
    assert found(notary_verifies=True) == [(NOTARY, (PAYMENT,))]


@pytest.mark.parametrize(("is_relevant", "is_found"), [(True, True), (False, False)])
def test_a_coin_of_somebody_else_in_a_vault_is_found_unless_it_is_only_observed(
    is_relevant: bool, is_found: bool
) -> None:
    paid = StateRef(PAYMENT, 0)
    row = VaultState(network.CASH, False, BEGAN + 2, None, frozenset({B}), is_relevant)
    found = judged(with_row(network.consistent(), A, paid, row))
    if not is_found:
        assert found.violations == ()
        return
    one = only(found, Kind.VALUE_NOT_CONSERVED)
    assert (one.node, one.ids) == (A, (str(paid),))
    assert "has 120 more of GBP" in one.text


def test_a_request_that_was_told_of_an_older_transaction_is_found() -> None:
    one = only(
        judged(network.consistent(), (*REQUESTS, Request("run-4", A, "acknowledged", "flow-4", COIN))),
        Kind.ROW_WITHOUT_TRANSACTION,
    )
    assert (one.node, one.ids) == (A, (COIN, "run-4"))
    assert one.text.endswith("which is older than the load")


def test_members_of_a_notary_that_disagree_are_found() -> None:
    ledgers = network.consistent()
    assert ledgers.log is not None
    state = StateRef(COIN, 0)
    log = replace(ledgers.log, conflicts={state: frozenset({PAYMENT, "C7"})})
    one = only(judged(replace(ledgers, log=log)), Kind.CONSUMED_TWICE)
    assert one.ids == (str(state), PAYMENT, "C7")


def test_a_flow_that_ran_again_under_a_second_client_id_is_found() -> None:
    ledgers = network.with_transactions(network.consistent(), [network.TRANSACTIONS[3]._replace(id="C9")])
    for node in (A, B):
        ledgers = recorded_at(ledgers, node, "C9", Recorded(f"flow-again-{node}", BEGAN + 4))
        ledgers = with_row(ledgers, node, StateRef("C9", 0), VaultState(IOU, False, BEGAN + 4, None, frozenset({A, B})))
    one = only(judged(ledgers), Kind.DOUBLED)
    assert one.ids[0] == "C9"


def test_a_flow_of_an_unknown_request_is_no_double_but_cannot_be_told() -> None:
    requests = tuple(
        request._replace(status="unknown", transaction=None, flow_id=None)
        if request.transaction == PROMISE
        else request
        for request in REQUESTS
    )
    found = judged(network.consistent(), requests)
    assert found.violations == ()
    assert found.verdict == "cannot tell"


def test_two_requests_that_were_told_of_one_transaction_are_found() -> None:
    again = Request("run-4", A, "acknowledged", "flow-again", PAYMENT)
    one = only(judged(network.consistent(), (*REQUESTS, again)), Kind.DOUBLED)
    assert one.ids == (PAYMENT, "run-1", "run-4")


def test_a_client_id_of_two_requests_is_found() -> None:
    again = Request("run-3", A, "other")
    assert only(judged(network.consistent(), (*REQUESTS, again)), Kind.DOUBLED).ids == ("run-3",)


def consumed_again() -> Ledgers:
    second = network.TRANSACTIONS[2]._replace(id="C8", outputs=(cash(150, B),))
    ledgers = network.with_transactions(network.consistent(), [second])
    for node in (A, B):
        ledgers = recorded_at(ledgers, node, "C8", Recorded("flow-pay", BEGAN + 4))
    return with_row(ledgers, B, StateRef("C8", 0), VaultState("cash", False, BEGAN + 4, None, frozenset({B})))


def test_a_state_that_two_transactions_consume_is_found() -> None:
    found = judged(consumed_again())
    twice = {one.ids for one in found.violations if one.kind is Kind.CONSUMED_TWICE}
    assert (f"{COIN}(0)", PAYMENT, "C8") in twice


def test_a_state_that_the_notary_gave_to_another_transaction_is_found() -> None:
    one = only(judged(logged(network.consistent(), StateRef(COIN, 0), ISSUE)), Kind.CONSUMED_TWICE)
    assert one.ids == (f"{COIN}(0)", PAYMENT, ISSUE)


def test_a_coin_that_was_spent_and_is_still_in_the_vault_is_value_from_nothing() -> None:
    state = StateRef(COIN, 0)
    ledgers = with_row(network.consistent(), A, state, VaultState("cash", False, BEGAN - 5, None, frozenset({A})))
    one = only(judged(ledgers), Kind.VALUE_NOT_CONSERVED)
    assert (one.node, one.ids) == (A, (f"{COIN}(0)",))
    assert "has 50 more of GBP" in one.text


def test_a_coin_that_vanished_from_the_vault_is_value_lost() -> None:
    state = StateRef(PAYMENT, 0)
    row = VaultState("cash", True, BEGAN + 2, BEGAN + 4, frozenset({B}))
    one = only(judged(with_row(network.consistent(), B, state, row)), Kind.VALUE_NOT_CONSERVED)
    assert "has 120 less of GBP" in one.text


def test_a_payment_of_more_than_it_consumes_is_value_from_nothing() -> None:
    payment = network.TRANSACTIONS[2]
    ledgers = network.with_transactions(network.consistent(), [payment._replace(outputs=(cash(121, B), cash(30, A)))])
    one = only(judged(ledgers), Kind.VALUE_NOT_CONSERVED)
    assert one.ids[0] == PAYMENT
    assert "150 into 151" in one.text


def test_bytes_that_are_not_those_of_their_id_are_found() -> None:
    right = [one._replace(has_own_id=True) for one in network.TRANSACTIONS]
    ledgers = network.with_transactions(network.consistent(), right)
    assert judged(ledgers).violations == ()
    changed = network.with_transactions(ledgers, [network.TRANSACTIONS[2]._replace(has_own_id=False)])
    assert only(judged(changed), Kind.ID_DIFFERS).ids == (PAYMENT,)


def test_ids_that_are_made_in_another_way_cannot_be_told() -> None:
    none = [one._replace(has_own_id=False) for one in network.TRANSACTIONS]
    found = judged(network.with_transactions(network.consistent(), none))
    assert found.violations == ()
    assert "no transaction has the id of its bytes" in found.reasons[0]


def test_an_issue_that_its_issuer_did_not_sign_is_value_from_nothing() -> None:
    issue = network.TRANSACTIONS[1]
    ledgers = network.with_transactions(network.consistent(), [issue._replace(signing_parties=frozenset({"O=X"}))])
    assert only(judged(ledgers), Kind.VALUE_NOT_CONSERVED).ids == (ISSUE,)


def test_a_vault_row_without_its_transaction_is_found() -> None:
    ledgers = with_row(
        network.consistent(), B, StateRef("C7", 0), VaultState(IOU, False, BEGAN + 4, None, frozenset({B}))
    )
    one = only(judged(ledgers), Kind.VAULT_WITHOUT_TRANSACTION)
    assert (one.node, one.ids) == (B, ("C7", "C7(0)"))


def test_an_entry_of_the_notary_without_a_transaction_is_found() -> None:
    one = only(judged(logged(network.consistent(), StateRef(PAYMENT, 1), "C6")), Kind.NOTARY_WITHOUT_TRANSACTION)
    assert one.ids == ("C6", f"{PAYMENT}(1)")


def test_an_entry_of_the_notary_from_before_the_run_is_not_the_runs() -> None:
    ledgers = network.consistent()
    assert ledgers.log is not None
    log = replace(ledgers.log, transactions=frozenset({PAYMENT, "C6"}), committed_at={"C6": BEGAN - 100})
    assert judged(replace(ledgers, log=log)).violations == ()


def test_a_transaction_whose_inputs_the_notary_never_committed_is_found() -> None:
    ledgers = network.consistent()
    assert ledgers.log is not None
    found = judged(replace(ledgers, log=replace(ledgers.log, consumers={})))
    assert only(found, Kind.NOT_NOTARISED).ids == (PAYMENT, f"{COIN}(0)", f"{ISSUE}(0)")


def test_a_transaction_with_a_time_window_that_the_notary_never_committed_is_found() -> None:
    promise = network.TRANSACTIONS[3]._replace(is_notarised=True)
    found = judged(network.with_transactions(network.consistent(), [promise]))
    assert only(found, Kind.NOT_NOTARISED).ids == (PROMISE,)


def test_what_a_raft_cluster_stores_is_compared_by_transaction_only() -> None:
    ledgers = network.consistent()
    log = NotaryLog(None, frozenset({PAYMENT, "C6"}))
    found = judged(replace(ledgers, log=log))
    assert [one.kind for one in found.violations] == [Kind.NOTARY_WITHOUT_TRANSACTION]
    assert len(found.reasons) == 1


def test_a_raft_cluster_has_nothing_to_tell_of_a_load_that_consumes_nothing() -> None:
    ledgers = replace(network.consistent(), log=NotaryLog(None, frozenset({PAYMENT})))
    found = judged(ledgers, None, Scope((Window(BEGAN + 2.5),)))
    assert found.counts["transactions"] == 1, "the IOU"
    assert (found.violations, found.reasons) == ((), ())


@pytest.mark.parametrize(("status", "kind"), [("suspended", Kind.FLOW_SUSPENDED), ("hospital", Kind.FLOW_IN_HOSPITAL)])
def test_a_flow_that_was_left_is_found(status: str, kind: ViolationKind) -> None:
    ledgers = network.consistent()
    left = Flow("flow-left", "suspended" if status == "suspended" else "hospital", "org.cordalab.flows.Iou", "run-9")
    found = judged(network.with_node(ledgers, replace(ledgers.nodes[B], flows=(left,))))
    one = only(found, kind)
    assert (one.node, one.ids) == (B, ("flow-left", "run-9"))


def test_a_row_that_names_a_transaction_nobody_has_is_found() -> None:
    row = Request("run-4", A, "acknowledged", "flow-4", "C5")
    one = only(judged(network.consistent(), (*REQUESTS, row)), Kind.ROW_WITHOUT_TRANSACTION)
    assert (one.node, one.ids) == (A, ("C5", "run-4"))


@pytest.mark.parametrize(
    "row",
    [
        VaultState(IOU, True, BEGAN + 3, BEGAN + 5, frozenset({A, B})),
        VaultState("org.example.Other", False, BEGAN + 3, None, frozenset({A, B})),
    ],
    ids=["status", "class"],
)
def test_a_state_that_two_vaults_have_differently_is_found(row: VaultState) -> None:
    found = judged(with_row(network.consistent(), B, StateRef(PROMISE, 0), row))
    assert any(one.kind is Kind.VAULTS_DIFFER and one.ids == (f"{PROMISE}(0)",) for one in found.violations)


def test_what_could_not_be_read_is_a_reason_and_no_violation() -> None:
    ledgers = network.consistent()
    kept = {identity: one for identity, one in ledgers.transactions.items() if identity != COIN}
    found = judged(replace(ledgers, transactions=kept, log=None))
    assert found.violations == ()
    assert len(found.reasons) == 3
    assert found.verdict == "cannot tell"


def test_transactions_from_before_the_run_are_not_judged() -> None:
    """A coin of the set-up that its owner lost is no violation of the run, unless the run consumed it."""
    ledgers = recorded_at(network.consistent(), A, "C-old", Recorded("flow-old", BEGAN - 100))
    assert judged(ledgers).violations == ()


def test_a_notary_may_have_the_backchains_that_it_verified() -> None:
    ledgers = replace(network.consistent(), notary_verifies=True)
    ledgers = recorded_at(ledgers, NOTARY, ISSUE, Recorded("flow", BEGAN + 2))
    assert judged(ledgers).violations == ()


def test_a_large_run_is_judged_in_seconds() -> None:
    """Tens of thousands of transactions, at two parties each."""

    many = {f"T{number:06}": network.TRANSACTIONS[3]._replace(id=f"T{number:06}") for number in range(30_000)}
    ledgers = network.with_transactions(network.consistent(), many.values())
    for name in (A, B):
        node = ledgers.nodes[name]
        rows = {StateRef(each, 0): VaultState(IOU, False, BEGAN + 5, None, frozenset({A, B})) for each in many}
        recorded = {each: Recorded(f"flow-{each}", BEGAN + 5) for each in many}
        ledgers = network.with_node(
            ledgers,
            replace(node, transactions={**node.transactions, **recorded}, vault={**node.vault, **rows}),
        )
    requests = tuple(Request(f"run-{each}", A, "acknowledged", f"flow-{each}", each) for each in many)
    started = time.process_time()
    assert judged(ledgers, (*REQUESTS, *requests)).violations == ()
    assert time.process_time() - started < 20
