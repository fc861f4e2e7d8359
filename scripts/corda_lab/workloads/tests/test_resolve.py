"""What of a workload's file and of the running network reaches a run's plan, and how mistakes are reported."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from corda_lab.clients.bridge import Bridge, Node
from corda_lab.errors import FinalError, LabError
from corda_lab.lab.settings import PARTIES
from corda_lab.paths import WORKLOADS
from corda_lab.workloads.resolve import lab_problems, make_plan, problems_of, read_workload
from lab_workload.flows import Flow, Parameter
from lab_workload.load import Load
from lab_workload.problems import Problem
from lab_workload.schema import Workload
from lab_workload.subject import Subject
from lab_workload.workload import load_workload
from support.simulation import nodes

IOU = "org.cordalab.flows.Iou"
FLOWS = [
    Flow(IOU, "Iou", ((Parameter("iouValue", "int"), Parameter("otherParty", "Party")),)),
    Flow("org.cordalab.flows.Empty", "Empty", ((),)),
]


class KnownBridge(Bridge):
    """A bridge whose answers are known beforehand; no server is asked."""

    def __init__(self, flows: list[Flow] = FLOWS, refused: dict[str, Problem] | None = None) -> None:
        super().__init__("http://127.0.0.1:9")
        self._flows = flows
        self._refused = refused or {}
        self.checked: list[tuple[str, str, Mapping[str, Any]]] = []
        """Node, flow and arguments of every start that was checked."""

    def nodes(self) -> dict[str, Node]:
        return nodes()

    def flow_definitions(self, node: str) -> list[Flow]:
        return self._flows

    def start_problem(self, node: str, flow: str, args: Mapping[str, Any]) -> Problem | None:
        self.checked.append((node, flow, args))
        return self._refused.get(flow)


def workload_of(tmp_path: Path, text: str) -> Workload:
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    return load_workload(tmp_path, "own", ("Notary", *PARTIES))


def subject_of(
    workload: Workload, node: str | None = None, counterparty: str | None = None, flows: list[Flow] = FLOWS
) -> Subject:
    options = Load(
        workload=workload.name, users=1, duration_seconds=1, warm_up_seconds=0, node=node, counterparty=counterparty
    )
    return make_plan("run", options, workload, KnownBridge(flows), nodes()).subject


def test_names_an_unknown_workload_and_what_was_probably_meant() -> None:
    with pytest.raises(LabError, match="unknown workload 'iuo', did you mean 'iou'") as caught:
        read_workload("iuo")
    assert caught.value.exit_code == 2


def test_every_workload_of_the_repository_can_be_read() -> None:
    for path in WORKLOADS.glob("*.yaml"):
        assert read_workload(path.stem).name == path.stem


def test_names_the_option_of_a_node_that_is_not_there_and_what_to_do() -> None:
    workload = read_workload("iou")
    assert subject_of(workload, "partyc").node == "PartyC"
    with pytest.raises(FinalError, match=r"^--node: unknown party 'PartyX'"):
        subject_of(workload, "PartyX")
    with pytest.raises(FinalError, match=r"^--node: Notary is a notary"):
        subject_of(workload, "Notary")
    with pytest.raises(FinalError, match=r"^--set counterparty: PartyC is also the node that starts the flows"):
        subject_of(workload, "PartyC", "PartyC")
    with pytest.raises(FinalError, match=r"^--set counterparty: unknown party 'PartyE'") as caught:
        subject_of(workload, counterparty="PartyE")
    assert "scripts/lab up --parties 5" in caught.value.remedy


def test_arguments_that_the_flow_does_not_take_are_reported_with_their_lines() -> None:
    workload = read_workload("iou")
    flows = [Flow(IOU, "Iou", ((Parameter("value", "int"), Parameter("otherParty", "Party")),))]
    with pytest.raises(LabError) as caught:
        subject_of(workload, flows=flows)
    missing, unknown = caught.value.problems
    assert (missing.location, missing.text) == (("args", "value"), "is missing")
    assert unknown.location == ("args", "iouValue")
    assert unknown.line == workload.source.lines[unknown.location]
    assert unknown.text == "unknown argument, did you mean 'value'?"
    assert caught.value.remedy == "Iou takes (value: int, otherParty: Party)."


def test_the_bridge_sees_the_arguments_of_every_start_as_a_run_would_send_them(tmp_path: Path) -> None:
    text = """\
description: A set-up and two parts.
node: PartyA
counterparty: PartyB
setup:
  - {name: first, node: counterparty, flow: Empty}
flows:
  - {flow: Empty}
  - flow: org.cordalab.flows.Iou
    args: {iouValue: "{{ counter() }}", otherParty: "{{ counterparty }}"}
"""
    bridge = KnownBridge()
    assert lab_problems(workload_of(tmp_path, text), bridge) == []
    other_party = nodes()["PartyB"].x500_name
    assert bridge.checked == [
        ("PartyB", "Empty", {}),
        ("PartyA", "Empty", {}),
        ("PartyA", IOU, {"iouValue": 1, "otherParty": other_party}),
    ]


def test_arguments_that_the_bridge_would_refuse_are_problems_of_their_fields(tmp_path: Path) -> None:
    text = """\
description: A text where a number is asked for.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ 'five' }}"
  otherParty: "{{ counterparty }}"
"""
    refused = {IOU: Problem("the bridge rejects it: it must be a whole number", ("args", "iouValue"))}
    (problem,) = lab_problems(workload_of(tmp_path, text), KnownBridge(refused=refused))
    assert str(problem).endswith("own.yaml:6: args.iouValue: the bridge rejects it: it must be a whole number")


def test_checks_all_files_of_a_folder_at_once(tmp_path: Path) -> None:
    workload_of(tmp_path, "description: x\nnode: PartyA\nflow: org.cordalab.flows.Empty\n")
    (tmp_path / "bad.yaml").write_text("description: x\nnod: PartyA\n", encoding="utf-8")
    found = problems_of(tmp_path, (), lambda workload: lab_problems(workload, KnownBridge()))
    assert found["own"] == []
    assert len(found["bad"]) >= 2
