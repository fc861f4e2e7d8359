"""The four counts, and when they agree."""

import pytest

from corda_lab.counts import Counts, Snapshot, Subject, difference

IOU = "org.cordalab.flows.Iou"
SUBJECT = Subject("PartyA", "PartyB", IOU, "Iou", "org.cordalab.states.IouState")
BEFORE = Snapshot(5, {"PartyA": {IOU: 7}, "Notary": {}}, {"PartyA": 7, "PartyB": 9})


def test_differences_over_a_run_agree() -> None:
    after = Snapshot(
        105,
        {"PartyA": {IOU: 107}, "PartyB": {"org.cordalab.flows.IouResponder": 100}, "Notary": {}},
        {"PartyA": 107, "PartyB": 109},
    )
    counted = difference(BEFORE, after, SUBJECT, generator=100)
    assert (counted.bridge, counted.node, counted.vaults) == (100, 100, {"PartyA": 100, "PartyB": 100})
    assert counted.node_flows == {"PartyA": {IOU: 100}, "PartyB": {"org.cordalab.flows.IouResponder": 100}}
    assert counted.as_dict()["agree"]


def test_a_counter_that_did_not_exist_before_starts_at_zero() -> None:
    first = Snapshot(0, {}, {"PartyA": 0, "PartyB": 0})
    counted = difference(first, Snapshot(3, {"PartyA": {IOU: 3}}, {"PartyA": 3, "PartyB": 3}), SUBJECT, generator=3)
    assert not counted.disagreements


@pytest.mark.parametrize(
    ("after", "sentence"),
    [
        (Snapshot(14, {"PartyA": {IOU: 17}}, {"PartyA": 17, "PartyB": 19}), "bridge 9, generator 10"),
        (Snapshot(15, {"PartyA": {IOU: 16}}, {"PartyA": 17, "PartyB": 19}), "node 9, generator 10"),
        (Snapshot(15, {"PartyA": {IOU: 17}}, {"PartyA": 17, "PartyB": 20}), "vault of PartyB 11, generator 10"),
        # A node that was restarted begins again at zero.
        (Snapshot(15, {"PartyA": {IOU: 4}}, {"PartyA": 17, "PartyB": 19}), "node -3, generator 10"),
    ],
)
def test_says_which_count_differs(after: Snapshot, sentence: str) -> None:
    assert difference(BEFORE, after, SUBJECT, generator=10).disagreements == [sentence]


def test_a_flow_without_a_state_has_nothing_to_count_in_vaults() -> None:
    subject = Subject("PartyA", None, "org.cordalab.flows.Empty", "Empty", None)
    assert subject.vault_nodes == ()
    before, after = Snapshot(0, {}, {}), Snapshot(2, {"PartyA": {"org.cordalab.flows.Empty": 2}}, {})
    assert difference(before, after, subject, generator=2).as_dict()["agree"]


def test_counts_read_before_rest_do_not_agree() -> None:
    counted = Counts(1, 1, 1, {}, at_rest=False, rest_seconds=120.0)
    assert counted.disagreements == ["flows were still outstanding 120 s after the load had ended"]
