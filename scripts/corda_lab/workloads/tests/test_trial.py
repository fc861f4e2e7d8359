"""One start of a new workload's flow: what it changes in the vaults, and why it may not be known."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.settings import PARTIES
from corda_lab.workloads import trial
from corda_lab.workloads.trial import Trial
from lab_workload.schema import Workload
from lab_workload.workload import load_workload
from support.simulation import nodes
from support.trials import IOU, STATE, TrialBridge

TEXT = """\
description: One IOU.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args: {iouValue: "{{ counter() }}", otherParty: "{{ counterparty }}"}
"""


def workload_of(tmp_path: Path, text: str = TEXT) -> Workload:
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    return load_workload(tmp_path, "own", ("Notary", *PARTIES))


def rests() -> bool:
    return True


def make(workload: Workload, bridge: TrialBridge, *, flow_seconds_max: float = 300.0) -> Trial:
    return trial.make(workload, bridge, rests, flow_seconds_max=flow_seconds_max)


BOTH = {
    "PartyA": {STATE: 1},
    "PartyB": {STATE: 1},
    "PartyC": {"com.example.Seen": -1},
    "Notary": {"com.example.Log": 1},
}


def test_finds_what_one_flow_changes_in_every_vault(tmp_path: Path) -> None:
    workload, bridge = workload_of(tmp_path), TrialBridge(BOTH)
    made = make(workload, bridge)
    assert bridge.started == [("PartyA", IOU.name, {"iouValue": 1, "otherParty": nodes()["PartyB"].x500_name})]
    assert len(bridge.forgotten) == 1
    assert trial.proposed(made, workload, nodes()) == {
        STATE: {"node": 1, "counterparty": 1},
        "com.example.Seen": {"PartyC": -1},
    }, "a workload names no vault of a notary"
    assert trial.ledger_words(made) == [
        f"transaction {'AB' * 32}",
        "com.example.Log: +1 at Notary",
        "com.example.Seen: -1 at PartyC",
        f"{STATE}: +1 at PartyA, PartyB",
    ]


def test_a_flow_that_changes_no_vault_needs_no_states(tmp_path: Path) -> None:
    workload = workload_of(tmp_path)
    made = make(workload, TrialBridge({}))
    assert trial.proposed(made, workload, nodes()) == {}
    assert trial.ledger_words(made)[-1] == "no vault has changed"
    assert "needs no `states`" in trial.advice({}, is_proposed=False)


def test_changes_of_something_else_are_not_taken_for_those_of_the_flow(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"vault of PartyC has \+1 states .* are -1: something else") as caught:
        make(workload_of(tmp_path), TrialBridge(BOTH, others=2))
    assert caught.value.exit_code == 1


def test_a_lab_that_is_not_at_rest_starts_nothing(tmp_path: Path) -> None:
    bridge = TrialBridge(BOTH)
    with pytest.raises(LabError, match="Flows are in flight"):
        trial.make(workload_of(tmp_path), bridge, lambda: False, flow_seconds_max=300.0)
    assert bridge.started == []


def test_a_flow_that_fails_says_why_even_if_it_cannot_be_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bridge = TrialBridge(BOTH, failure="Iou on PartyA: the responder refused to sign")
    bridge.forgets_nothing = True
    with pytest.raises(LabError, match="the responder refused to sign") as caught:
        make(workload_of(tmp_path), bridge)
    assert caught.value.exit_code == 1
    assert len(bridge.forgotten) == 1
    assert "did not forget" in capsys.readouterr().out


def test_arguments_that_do_not_fit_start_nothing(tmp_path: Path) -> None:
    bridge = TrialBridge(BOTH)
    with pytest.raises(LabError, match=r"own\.yaml:5: args\.iouValeu: unknown argument") as caught:
        make(workload_of(tmp_path, TEXT.replace("iouValue", "iouValeu")), bridge)
    assert (caught.value.exit_code, bridge.started) == (2, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEXT + "setup: [{name: first, flow: org.cordalab.flows.Iou}]\n", "has a set-up or several flows"),
        (TEXT.replace("node: PartyA", "node: PartyC"), "starts org.cordalab.flows.Iou on PartyC"),
        (TEXT.replace("flows.Iou", "flows.Pay"), "starts org.cordalab.flows.Pay on PartyA"),
    ],
)
def test_only_a_file_for_this_flow_alone_is_tried(tmp_path: Path, text: str, words: str) -> None:
    trial.check_kind(workload_of(tmp_path), "PartyA", IOU)
    with pytest.raises(LabError, match=words):
        trial.check_kind(workload_of(tmp_path, text), "PartyA", IOU)
