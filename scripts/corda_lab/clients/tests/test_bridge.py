"""The bridge's answers, read from a real HTTP server."""

import json
from collections.abc import Iterator
from contextlib import closing
from typing import ClassVar

import pytest

from corda_lab.clients import bridge as bridges
from corda_lab.clients.bridge import Bridge, node_path
from corda_lab.errors import LabError
from corda_lab.lab.doctor import free_ports
from lab_workload.flows import Parameter
from support.served import Request, serving

NOTARY = "O=Notary,L=London,C=GB"
METRICS = """# HELP bridge_flows_completed_total Flows.
# TYPE bridge_flows_completed_total counter
bridge_flows_completed_total{node="PartyA",flow="Iou",} 12.0
bridge_flows_failed_total{node="PartyA",reason="a \\"quoted\\" one"} 1
# TYPE bridge_flows_in_flight_limit gauge
bridge_flows_in_flight_limit{node="PartyA"} 200.0
process_cpu_seconds_total 1.5e3
"""
ANSWERS: dict[str, tuple[int, object]] = {
    "/v1/nodes": (
        200,
        {
            "nodes": [
                {
                    "name": "Notary",
                    "x500Name": NOTARY,
                    "platformVersion": 12,
                    "ready": True,
                    "notary": True,
                    "notaries": [NOTARY],
                    "cordapps": [],
                    "outstandingFlows": 0,
                },
                {
                    "name": "PartyA",
                    "x500Name": "O=PartyA,L=London,C=GB",
                    "platformVersion": 12,
                    "ready": True,
                    "notaries": [NOTARY],
                    "cordapps": [],
                    "outstandingFlows": 3,
                    "lastFailure": {
                        "flow": "Iou",
                        "reason": "flow_exception",
                        "detail": "FlowException: below 100",
                        "at": "2026-11-20T12:00:00.250Z",
                    },
                },
                {"name": "PartyB", "x500Name": None, "ready": False, "notaries": None, "outstandingFlows": 0},
            ]
        },
    ),
    "/v1/nodes/PartyA/flows": (
        200,
        {
            "flows": [
                {
                    "flow": "org.cordalab.flows.Iou",
                    "shortName": "Iou",
                    "parameters": [[{"name": "iouValue", "type": "int"}, {"name": "otherParty", "type": "Party"}]],
                },
                {"flow": "org.cordalab.flows.Empty", "shortName": "Empty", "parameters": [[]]},
            ]
        },
    ),
    "/v1/nodes/PartyA/vault/transactions?stateType=IouState&since=1790000000.250&page=1&pageSize=2000": (
        200,
        {"transactionIds": ["a1", "A2"], "nextPage": 2},
    ),
    "/v1/nodes/PartyA/vault/transactions?stateType=IouState&since=1790000000.250&page=2&pageSize=2000": (
        200,
        {"transactionIds": ["A3"], "nextPage": None},
    ),
    "/v1/nodes/PartyA/vault/changes?since=1790000000.250": (
        200,
        {
            "changes": [
                {"stateType": "com.example.Coin", "recorded": 1, "consumed": 3},
                {"stateType": "com.example.Iou", "recorded": 1, "consumed": 0},
            ]
        },
    ),
    "/v1/nodes/PartyA/vault/count": (200, {"unconsumed": 4, "consumed": 1, "total": 5}),
    "/v1/nodes/PartyZ/flows": (404, {"title": "Unknown node", "detail": "there is no node PartyZ", "status": 404}),
    "/health/ready": (503, {"ready": False}),
    "/metrics": (200, METRICS),
}


CHECKS: dict[object, tuple[int, dict[str, object]]] = {
    1: (200, {"flow": "org.cordalab.flows.Iou"}),
    "five": (400, {"detail": 'args.iouValue must be a whole number, but is "five"', "field": "args.iouValue"}),
    "busy": (503, {"detail": "There is no connection to PartyA."}),
}
"""Answers to a check of an IOU, by its value."""


ENDS: dict[object, tuple[int, dict[str, object]]] = {
    1: (200, {"flow": "org.cordalab.flows.Iou", "txId": "AB12"}),
    2: (502, {"title": "The flow failed", "detail": "the responder refused to sign"}),
}
"""Answers to a start of an IOU, by its value."""


class Bridges:
    """Answers as the bridge."""

    tokens: ClassVar[list[str | None]] = []
    """The Authorization header of each request."""
    errors: ClassVar[int] = 0
    """How many more times a vault cannot be read."""

    @classmethod
    def answer(cls, request: Request) -> tuple[int, object]:
        cls.tokens.append(request.headers.get("Authorization"))
        path, _, query = request.path.partition("?")
        if request.method == "POST":
            start = json.loads(request.body)
            assert path == "/v1/nodes/PartyA/flows"
            assert query == ("" if "clientId" in start else "check=true")
            return (ENDS if "clientId" in start else CHECKS)[start["args"]["iouValue"]]
        if "/vault/" in path and cls.errors:
            cls.errors -= 1
            return 500, {"detail": "NullPointerException", "status": 500}
        return ANSWERS.get(request.path) or ANSWERS[path]


@pytest.fixture
def bridge() -> Iterator[Bridge]:
    with serving(Bridges.answer) as port, closing(Bridge(f"http://127.0.0.1:{port}")) as client:
        yield client


def test_knows_nodes_that_answer_and_those_that_do_not(bridge: Bridge) -> None:
    nodes = bridge.nodes()
    assert [node.is_notary for node in nodes.values()] == [True, False, False]
    assert nodes["PartyA"].outstanding_flows == 3
    assert nodes["PartyA"].notary_x500_names == (NOTARY,)
    assert nodes["PartyA"].last_failure is not None
    assert nodes["PartyA"].last_failure.text == "Iou: FlowException: below 100"
    assert not nodes["PartyB"].is_ready
    assert not bridge.is_ready()


def test_a_report_that_is_malformed_is_an_error(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, "/v1/nodes", (200, {"nodes": [{"name": "PartyA"}]}))
    with pytest.raises(LabError, match="about nodes cannot be parsed"):
        bridge.nodes()


def test_sends_the_token_if_there_is_one(bridge: Bridge) -> None:
    bridge.nodes()
    assert Bridges.tokens[-1] is None
    Bridge(bridge.url, "0123456789abcdef").nodes()
    assert Bridges.tokens[-1] == "Bearer 0123456789abcdef"


def test_knows_flows_and_vaults(bridge: Bridge) -> None:
    empty, iou = bridge.flow_definitions("PartyA")
    assert (empty.name, empty.constructors) == ("org.cordalab.flows.Empty", ((),))
    assert iou.constructors == ((Parameter("iouValue", "int"), Parameter("otherParty", "Party")),)
    assert bridge.vault_unconsumed("PartyA", "org.cordalab.states.IouState") == 4


def test_reads_a_vault_again_whose_node_had_an_error(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "VAULT_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(Bridges, "errors", 2)
    assert bridge.vault_transactions("PartyA", "IouState", 1_790_000_000.25) == {"A1", "A2", "A3"}
    assert Bridges.errors == 0


def test_a_vault_that_cannot_be_read_is_an_error(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridges, "VAULT_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(Bridges, "errors", 9)
    with pytest.raises(LabError, match=r"vault/count: NullPointerException \(HTTP 500\)"):
        bridge.vault_unconsumed("PartyA", "IouState")
    assert Bridges.errors == 6


def test_passes_on_what_the_bridge_says_is_wrong(bridge: Bridge) -> None:
    with pytest.raises(LabError, match=r"there is no node PartyZ \(HTTP 404\)"):
        bridge.flow_definitions("PartyZ")


def test_checks_a_start_and_says_where_it_is_wrong(bridge: Bridge) -> None:
    assert bridge.start_problem("PartyA", "Iou", {"iouValue": 1}) is None
    problem = bridge.start_problem("PartyA", "Iou", {"iouValue": "five"})
    assert problem is not None
    assert problem.location == ("args", "iouValue")
    assert problem.text == 'the bridge rejects it: args.iouValue must be a whole number, but is "five"'


def test_a_start_that_cannot_be_checked_is_an_error(bridge: Bridge) -> None:
    with pytest.raises(LabError, match=r"cannot check Iou on PartyA: There is no connection to PartyA. \(HTTP 503\)"):
        bridge.start_problem("PartyA", "Iou", {"iouValue": "busy"})


def test_a_start_waits_for_the_end_and_says_why_the_flow_failed(bridge: Bridge) -> None:
    assert bridge.start_flow("PartyA", "Iou", {"iouValue": 1}, "trial-1", seconds_max=5)["txId"] == "AB12"
    with pytest.raises(LabError, match=r"^Iou on PartyA: the responder refused to sign \(HTTP 502\)$") as caught:
        bridge.start_flow("PartyA", "Iou", {"iouValue": 2}, "trial-2", seconds_max=5)
    assert caught.value.exit_code == 1


def test_the_changes_of_a_vault_are_by_class(bridge: Bridge) -> None:
    assert bridge.vault_changes("PartyA", 1790000000.25) == {"com.example.Coin": -2, "com.example.Iou": 1}


def test_reads_the_metrics_page(bridge: Bridge) -> None:
    samples = {sample.name: sample for sample in bridge.metrics()}
    assert samples["bridge_flows_completed_total"].labels == {"node": "PartyA", "flow": "Iou"}
    assert samples["bridge_flows_completed_total"].value == 12
    assert samples["bridge_flows_failed_total"].labels["reason"] == 'a "quoted" one'
    assert samples["process_cpu_seconds_total"].value == 1500
    assert len(samples) == 4
    assert bridge.outstanding_max("PartyA") == 200


def test_a_bridge_that_is_not_there_is_an_error_with_a_remedy() -> None:
    bridge = Bridge(f"http://127.0.0.1:{free_ports(1)[0]}")
    assert not bridge.is_ready()
    with pytest.raises(LabError, match="does not answer") as caught:
        bridge.nodes()
    assert "scripts/lab up" in caught.value.remedy


def test_a_page_that_is_not_metrics_is_an_error(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ANSWERS, "/metrics", (200, "<html>not a sample</html>"))
    with pytest.raises(LabError, match="A page of metrics cannot be parsed"):
        bridge.metrics()


def test_a_node_may_have_the_name_of_any_organisation() -> None:
    assert node_path("Carlsberg A/S & Söhne?", "flows") == "/v1/nodes/Carlsberg%20A%2FS%20%26%20S%C3%B6hne%3F/flows"
