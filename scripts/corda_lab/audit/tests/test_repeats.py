"""A flow that did something again is found by the number of its transactions; so is one that cannot be looked for."""

import pytest

from corda_lab.audit.model import Recorded, Request
from corda_lab.audit.tests.test_checks import judged, only, recorded_at, without
from corda_lab.results.audits import ViolationKind
from support import ledgers as network
from support.ledgers import BEGAN, A, B

Kind = ViolationKind


def test_a_flow_that_did_something_again_under_the_same_client_id_is_found() -> None:
    """After a kill of its node, from an older checkpoint: its id is the same, and the transaction has a new salt."""
    ledgers, requests = network.with_flows(network.consistent(), [1] * 7 + [2])
    found = judged(ledgers, requests)
    assert [one.kind for one in found.violations] == [Kind.FLOW_REPEATED], "a request accounts for both"
    one = only(found, Kind.FLOW_REPEATED)
    assert (one.node, one.ids) == (A, ("I7-0", "I7-1", "flow-7"))
    assert "made 2 transactions (I7-0, I7-1), and the others of more made 1 each" in one.text


def test_flows_of_another_kind_or_load_may_make_more() -> None:
    ledgers, requests = network.with_flows(network.consistent(), [1] * 6 + [2] * 6)
    as_parts = tuple(one._replace(part="two" if one.flow_id in MADE_TWO else one.part) for one in requests)
    as_loads = tuple(one._replace(load=2 if one.flow_id in MADE_TWO else 1) for one in requests)
    for each in (as_parts, as_loads):
        found = judged(ledgers, each)
        assert (found.violations, found.reasons) == ((), ())


MADE_TWO = {f"flow-{number}" for number in range(6, 12)}


def test_flows_that_differ_by_nature_cannot_tell() -> None:
    found = judged(*network.with_flows(network.consistent(), [1] * 6 + [2] * 6))
    assert found.violations == ()
    (reason,) = found.reasons
    assert "of more made different numbers of transactions (6 made 1, 6 made 2)" in reason


def test_of_few_flows_none_stands_out() -> None:
    found = judged(*network.with_flows(network.consistent(), [1, 1, 1, 2]))
    assert (found.violations, found.reasons) == ((), ())


def test_a_backchain_that_a_flow_fetched_is_none_that_it_made() -> None:
    ledgers, requests = network.with_flows(network.consistent(), [1] * 8)
    # PartyB made it before; the flow of PartyA took it over.
    ledgers = recorded_at(ledgers, B, "I7-1", Recorded("flow-of-b", BEGAN + 4))
    ledgers = recorded_at(ledgers, A, "I7-1", Recorded("flow-7", BEGAN + 6))
    told = Request("run-b", B, "acknowledged", "flow-of-b", "I7-1", "others")
    assert not [one for one in judged(ledgers, (*requests, told)).violations if one.kind is Kind.FLOW_REPEATED]


def test_a_flow_of_an_unknown_request_may_make_no_more_than_the_others() -> None:
    ledgers, requests = network.with_flows(network.consistent(), [1] * 7 + [2])
    unknown = requests[-1]._replace(status="unknown", flow_id=None, transaction=None)
    found = judged(ledgers, (*requests[:-1], unknown))
    assert [(one.kind, one.ids) for one in found.violations] == [(Kind.FLOW_REPEATED, ("I7-0", "I7-1", "flow-7"))]


def test_a_flow_without_an_answer_is_known_by_the_transaction_that_the_node_told_later() -> None:
    ledgers, requests = network.with_flows(network.consistent(), [1] * 7 + [2])
    resolved = requests[-1]._replace(flow_id=None)
    assert only(judged(ledgers, (*requests[:-1], resolved)), Kind.FLOW_REPEATED).ids[-1] == "flow-7"


@pytest.mark.parametrize(
    ("flow", "names_states", "told"),
    [("flow-nowhere", True, False), (None, True, False), ("flow-0", True, True), ("flow-nowhere", False, True)],
)
def test_an_acknowledged_flow_that_cannot_be_looked_for_cannot_be_told(
    flow: str | None, names_states: bool, told: bool
) -> None:
    """Without the id of its transaction, the id of its flow finds it, unless the ledger has nothing of that flow."""
    ledgers, requests = network.with_flows(network.consistent(), [1] * 8)
    nameless = requests[-8]._replace(flow_id=flow, transaction=None, names_states=names_states)
    rest = tuple(one for one in requests if one.flow_id != "flow-0")
    if flow != "flow-0":
        ledgers = without(without(ledgers, A, "I0-0"), B, "I0-0")
    found = judged(ledgers, (*rest, nameless))
    assert found.violations == ()
    assert told == (not found.reasons)
    assert told or "1 acknowledged flow told no id of a transaction" in found.reasons[0]


def test_an_acknowledged_flow_of_which_a_part_is_missing_cannot_be_told() -> None:
    ledgers, requests = network.with_flows(network.consistent(), [2] * 7 + [1])
    nameless = requests[-1]._replace(transaction=None, names_states=True)
    found = judged(ledgers, (*requests[:-1], nameless))
    assert found.violations == ()
    assert len(found.reasons) == 1
