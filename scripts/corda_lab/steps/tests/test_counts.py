"""The four counts, and when they agree."""

from dataclasses import replace
from pathlib import Path

import pytest

from corda_lab.steps.counts import (
    Snapshot,
    check_transactions,
    difference,
    judged,
    succeeded_by_part,
    told_transactions,
)
from corda_lab.steps.entry import CountsEntry, FlowCount
from corda_lab.steps.reasons import Reason, reason, sentences
from corda_lab.steps.resolutions import Resolution, with_resolutions
from lab_workload.subject import LoadPart, Subject
from support import simulation

IOU, PAY = "org.cordalab.flows.Iou", "org.cordalab.flows.CashRepeatedPay"
IOU_STATE, CASH = "org.cordalab.states.IouState", "org.cordalab.states.CashState"
IOU_PART = LoadPart("iou", IOU, "Iou", "PartyB", changes={IOU_STATE: {"PartyA": 1, "PartyB": 1}})
PAY_PART = LoadPart("pay", PAY, "CashRepeatedPay", "PartyC", changes={CASH: {"PartyA": 0, "PartyC": 10}})
SUBJECT = Subject("PartyA", (IOU_PART,))
MIXED = Subject("PartyA", (IOU_PART, PAY_PART))
BEFORE = Snapshot(
    {"PartyA": {IOU: 5}}, {"PartyA": {IOU: 7}, "Notary": {}}, {(IOU_STATE, "PartyA"): 7, (IOU_STATE, "PartyB"): 9}
)


def flow_count(flow: str, count: int) -> FlowCount:
    """Three observers that agree."""
    return FlowCount(flow=flow, generator=count, bridge=count, node=count)


def after(bridge: int, node: int, at_a: int, at_b: int) -> Snapshot:
    return Snapshot(
        {"PartyA": {IOU: bridge}},
        {"PartyA": {IOU: node}, "PartyB": {"org.cordalab.flows.IouResponder": 100}, "Notary": {}},
        {(IOU_STATE, "PartyA"): at_a, (IOU_STATE, "PartyB"): at_b},
    )


def test_differences_over_a_run_agree() -> None:
    counted = difference(BEFORE, after(105, 107, 107, 109), SUBJECT, succeeded={"PartyA": {"iou": 100}})
    assert counted.flows == [flow_count(IOU, 100)]
    assert counted.node_flows == {"PartyA": {IOU: 100}, "PartyB": {"org.cordalab.flows.IouResponder": 100}}
    assert counted.agree
    assert (counted.generator, counted.vaults) == (100, {"PartyA": 100, "PartyB": 100})


def test_no_counter_is_subtracted_across_a_restart() -> None:
    # The bridge of the example: 378 requests, of which the new process counted 150.
    before = replace(BEFORE, started_at={"bridge": 100.0, "PartyA": 50.25})
    killed = replace(after(150, 107, 107, 109), started_at={"bridge": 160.0, "PartyA": 50.26})
    counted = difference(before, killed, SUBJECT, succeeded={"PartyA": {"iou": 100}})
    assert counted.flows == [FlowCount(flow=IOU, generator=100, bridge=None, node=100)]
    assert (counted.bridge, counted.node, counted.restarted) == (None, 100, ["bridge"])
    assert not counted.disagreements

    # The bridge saw only 98 of them end: it had lost its connection to the node when two others did.
    node = replace(after(103, 4, 107, 109), started_at={"bridge": 100.0, "PartyA": 99.0})
    counted = difference(before, node, SUBJECT, succeeded={"PartyA": {"iou": 100}})
    assert (counted.flows[0].bridge, counted.flows[0].node) == (None, None)
    assert not counted.disagreements
    assert "PartyA" not in counted.node_flows


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (after(14, 17, 17, 19), reason("count_differs", observer="bridge", count=9, flow="Iou", generator=10)),
        (after(15, 16, 17, 19), reason("count_differs", observer="node", count=9, flow="Iou", generator=10)),
        (after(15, 17, 17, 20), reason("vault_differs", node="PartyB", state="IouState", counted=11, expected=10)),
    ],
)
def test_says_which_count_differs(seen: Snapshot, expected: Reason) -> None:
    assert difference(BEFORE, seen, SUBJECT, succeeded={"PartyA": {"iou": 10}}).disagreements == [expected]


def test_a_mix_is_counted_by_flow_class_and_by_state_and_node() -> None:
    before = Snapshot({}, {}, dict.fromkeys(MIXED.vault_places, 0))
    seen = Snapshot(
        {"PartyA": {IOU: 4, PAY: 2}},
        {"PartyA": {IOU: 4, PAY: 2}},
        {(IOU_STATE, "PartyA"): 4, (IOU_STATE, "PartyB"): 4, (CASH, "PartyA"): 0, (CASH, "PartyC"): 20},
    )
    counted = difference(before, seen, MIXED, succeeded={"PartyA": {"iou": 4, "pay": 2}})
    assert counted.disagreements == []
    assert counted.generator == 6
    lost = difference(before, seen, MIXED, succeeded={"PartyA": {"iou": 4, "pay": 3}})
    assert sentences(lost.disagreements) == [
        "the counts differ: the bridge counted 2 CashRepeatedPay, the generator 3",
        "the counts differ: the node counted 2 CashRepeatedPay, the generator 3",
        "the counts differ: the vault of PartyC changed by +20 CashState, expected +30",
    ]


def test_parts_that_start_the_same_flow_are_counted_together() -> None:
    other = LoadPart("iou to PartyC", IOU, "Iou", "PartyC", changes={IOU_STATE: {"PartyA": 1, "PartyC": 1}})
    subject = Subject("PartyA", (IOU_PART, other))
    before = Snapshot({}, {}, dict.fromkeys(subject.vault_places, 0))
    seen = Snapshot(
        {"PartyA": {IOU: 5}},
        {"PartyA": {IOU: 5}},
        {(IOU_STATE, "PartyA"): 5, (IOU_STATE, "PartyB"): 3, (IOU_STATE, "PartyC"): 2},
    )
    counted = difference(before, seen, subject, succeeded={"PartyA": {"iou": 3, "iou to PartyC": 2}})
    assert counted.disagreements == []
    assert counted.flows == [flow_count(IOU, 5)]


def test_states_that_a_flow_consumes_count_down() -> None:
    spend = LoadPart("spend", IOU, "Iou", changes={IOU_STATE: {"PartyA": -1}})
    subject = Subject("PartyA", (spend,))
    before = Snapshot({"PartyA": {IOU: 0}}, {}, {(IOU_STATE, "PartyA"): 50})
    seen = Snapshot({"PartyA": {IOU: 20}}, {"PartyA": {IOU: 20}}, {(IOU_STATE, "PartyA"): 30})
    assert difference(before, seen, subject, succeeded={"PartyA": {"spend": 20}}).disagreements == []


def test_a_flow_without_a_state_has_nothing_to_count_in_vaults() -> None:
    empty = "org.cordalab.flows.Empty"
    subject = Subject("PartyA", (LoadPart("empty", empty, "Empty"),))
    assert subject.vault_places == ()
    seen = Snapshot({"PartyA": {empty: 2}}, {"PartyA": {empty: 2}}, {})
    assert difference(Snapshot({}, {}, {}), seen, subject, succeeded={"PartyA": {"empty": 2}}).agree


def test_expected_failures_are_no_successes(tmp_path: Path) -> None:
    content = simulation.closed_rows(2, 10, simulation.fixed(0.5), error_every=4, failure="expected")
    frame = simulation.frame(tmp_path, content)
    assert succeeded_by_part(frame) == {"PartyA": {"Iou": len(content) - len(content) // 4}}


def test_counts_read_before_rest_do_not_agree() -> None:
    counted = judged(CountsEntry(flows=[flow_count(IOU, 1)], at_rest=False, rest_seconds=120.0))
    assert counted.disagreements == [reason("not_at_rest", seconds=120.0)]


def test_a_lost_flow_and_a_committed_failure_do_not_cancel_out(tmp_path: Path) -> None:
    # Two flows were told as ok and one as failed. One of the two is in no vault, but the failed one is.
    content = [simulation.row(1, 0, 1, part="iou"), simulation.row(2, 0, 1, part="iou")]
    content.append(simulation.row(3, 0, 1, part="iou", outcome="failed"))
    read = simulation.frame(tmp_path, content)
    told = told_transactions(read, SUBJECT)
    first, second = (f"{number:064X}" for number in (1, 2))
    assert told == {(IOU_STATE, "PartyA"): {first, second}, (IOU_STATE, "PartyB"): {first, second}}

    vaults = {(IOU_STATE, "PartyA"): {first, "C0"}, (IOU_STATE, "PartyB"): {first, second}}
    same_counts = difference(BEFORE, after(7, 9, 9, 11), SUBJECT, succeeded=succeeded_by_part(read))
    assert not same_counts.disagreements, "the four counts alone see nothing"
    checked = judged(same_counts.model_copy(update={"transactions": check_transactions(told, vaults)}))
    (found,) = sentences(checked.disagreements)
    assert found.startswith(
        "1 of 2 transactions that the generator was told of left no IouState in the vault of PartyA"
    )
    assert found.endswith(second)
    assert [(one.told, one.missing, one.others) for one in checked.transactions] == [(2, 1, 1), (2, 0, 0)]


def test_the_transaction_of_a_resolved_flow_is_looked_for_too(tmp_path: Path) -> None:
    content = [simulation.row(1, 0, 1, part="iou", outcome="unknown"), simulation.row(2, 0, 1, part="iou")]
    read = simulation.frame(tmp_path, content)
    found = {"client-1": Resolution("ok", 2.0, "ab"), "client-2": Resolution("unknown", 2.0)}
    told = told_transactions(with_resolutions(read, found), SUBJECT)
    assert told[IOU_STATE, "PartyB"] == {"AB", f"{2:064X}"}


def test_several_nodes_are_counted_one_by_one_and_together() -> None:
    def at(node: str, other: str) -> Subject:
        return Subject(node, (LoadPart("iou", IOU, "Iou", other, changes={IOU_STATE: {node: 1, other: 1}}),))

    subject = replace(at("PartyA", "PartyB"), others=(at("PartyB", "PartyC"), at("PartyC", "PartyA")))
    assert (subject.nodes, subject.counterparties) == (("PartyA", "PartyB", "PartyC"), ("PartyB", "PartyC", "PartyA"))
    before = Snapshot({}, {}, dict.fromkeys(subject.vault_places, 0))
    flows = {"PartyA": {IOU: 5}, "PartyB": {IOU: 3}, "PartyC": {IOU: 1}}
    seen = Snapshot(flows, flows, {(IOU_STATE, "PartyA"): 6, (IOU_STATE, "PartyB"): 8, (IOU_STATE, "PartyC"): 4})
    counted = difference(before, seen, subject, succeeded={node: {"iou": own[IOU]} for node, own in flows.items()})

    assert counted.disagreements == []
    assert [(one.started_by, one.generator, one.bridge, one.node) for one in counted.flows] == [
        ("PartyA", 5, 5, 5),
        ("PartyB", 3, 3, 3),
        ("PartyC", 1, 1, 1),
    ]
    assert (counted.generator, counted.bridge, counted.node) == (9, 9, 9)
    # The same total, but a flow counted at another node.
    wrong = difference(
        before, seen, subject, succeeded={"PartyA": {"iou": 4}, "PartyB": {"iou": 4}, "PartyC": {"iou": 1}}
    )
    assert sentences(wrong.disagreements)[:2] == [
        "the counts differ: the bridge counted 5 Iou, the generator 4",
        "the counts differ: the node PartyA counted 5 Iou, the generator 4",
    ]


def test_transactions_are_looked_for_where_the_node_that_started_them_leaves_states(tmp_path: Path) -> None:
    other = Subject("PartyB", (LoadPart("iou", IOU, "Iou", "PartyC", changes={IOU_STATE: {"PartyB": 1, "PartyC": 1}}),))
    content = [simulation.row(1, 0, 1, part="iou"), {**simulation.row(2, 0, 1, part="iou"), "node": "PartyB"}]
    read = simulation.frame(tmp_path, content)

    first, second = (f"{number:064X}" for number in (1, 2))
    assert told_transactions(read, replace(SUBJECT, others=(other,))) == {
        (IOU_STATE, "PartyA"): {first},
        (IOU_STATE, "PartyB"): {first, second},
        (IOU_STATE, "PartyC"): {second},
    }
