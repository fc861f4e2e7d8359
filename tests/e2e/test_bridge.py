"""The bridge's API on real nodes: flows run, and malformed requests never reach a node."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openapi_spec_validator import validate

pytestmark = pytest.mark.lab("standard")

IOU = "org.cordalab.flows.Iou"
PARTY_B = "O=PartyB,L=New York,C=US"
FLOWS = "/v1/nodes/PartyA/flows"


def start(bridge: httpx.Client, flow: str, node: str = "PartyA", **arguments: Any) -> httpx.Response:
    return bridge.post(f"/v1/nodes/{node}/flows", json={"flow": flow, "args": arguments})


def ious(bridge: httpx.Client, node: str) -> int:
    answer = bridge.get(f"/v1/nodes/{node}/vault/count", params={"stateType": "org.cordalab.states.IouState"})
    return int(answer.json()["total"])


def started(bridge: httpx.Client) -> float:
    """Return the number of flows that the bridge has started on all nodes."""
    lines = bridge.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("bridge_flows_started_total"))


def transactions(bridge: httpx.Client, node: str, since: str, *, page_size: int) -> list[str]:
    """Return the ids of the transactions that recorded IOUs at a node, from all pages."""
    query: dict[str, str | int] = {"stateType": "org.cordalab.states.IouState", "since": since, "pageSize": page_size}
    ids: list[str] = []
    page: int | None = 1
    while page:
        answer = bridge.get(f"/v1/nodes/{node}/vault/transactions", params=query | {"page": page}).json()
        ids += answer["transactionIds"]
        page = answer["nextPage"]
    return ids


@pytest.fixture
def no_flow_started(bridge: httpx.Client) -> Iterator[None]:
    before = started(bridge)
    yield
    assert started(bridge) == before


def test_an_iou_is_recorded_by_both_parties(bridge: httpx.Client) -> None:
    before = ious(bridge, "PartyA"), ious(bridge, "PartyB"), ious(bridge, "PartyC")
    answer = start(bridge, IOU, iouValue=50, otherParty=PARTY_B)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert len(body["txId"]) == 64
    assert 0 < body["timings"]["rpcMs"] <= body["timings"]["flowMs"] <= body["timings"]["totalMs"]
    assert (ious(bridge, "PartyA"), ious(bridge, "PartyB")) == (before[0] + 1, before[1] + 1)
    assert ious(bridge, "PartyC") == before[2]


@pytest.mark.parametrize("node", ["PartyA", "partyb", "PARTYC"])
def test_a_flow_starts_by_its_short_name_on_every_party(bridge: httpx.Client, node: str) -> None:
    assert start(bridge, "Empty", node).status_code == 200


def test_flows_are_listed_with_their_parameters(bridge: httpx.Client) -> None:
    flows = {flow["flow"]: flow for flow in bridge.get(FLOWS).json()["flows"]}
    parameters = [(parameter["name"], parameter["type"]) for parameter in flows[IOU]["parameters"][0]]
    assert [name for name, _ in parameters] == ["iouValue", "otherParty"]


def test_a_client_id_runs_a_flow_once(bridge: httpx.Client) -> None:
    before = ious(bridge, "PartyA")
    body = {"flow": IOU, "args": {"iouValue": 7, "otherParty": PARTY_B}, "clientId": "e2e-once"}
    first = bridge.post(FLOWS, json=body)
    second = bridge.post(FLOWS, json=body)
    assert first.status_code == second.status_code == 200
    assert first.json()["txId"] == second.json()["txId"] == bridge.get(f"{FLOWS}/e2e-once").json()["txId"]
    assert ious(bridge, "PartyA") == before + 1


def wait_for_earlier_flows(bridge: httpx.Client) -> None:
    """Wait until PartyB has recorded what PartyA sent, for at most 10 s: a flow ends before its responder does."""
    since, deadline = str(time.time()), time.monotonic() + 10
    last = start(bridge, IOU, iouValue=3, otherParty=PARTY_B).json()["txId"]
    while last not in transactions(bridge, "PartyB", since, page_size=10):
        assert time.monotonic() < deadline, f"PartyB does not record {last}"
        time.sleep(0.1)


def test_the_transactions_of_a_run_are_in_both_vaults_by_id(bridge: httpx.Client) -> None:
    wait_for_earlier_flows(bridge)
    since = str(time.time())
    told = {start(bridge, IOU, iouValue=3, otherParty=PARTY_B).json()["txId"] for _ in range(3)}
    for node in ("PartyA", "PartyB"):
        assert sorted(transactions(bridge, node, since, page_size=2)) == sorted(told)
    assert transactions(bridge, "PartyC", since, page_size=2) == []


def test_the_outcomes_of_a_run_can_be_forgotten(bridge: httpx.Client) -> None:
    body = {"flow": IOU, "args": {"iouValue": 7, "otherParty": PARTY_B}}
    for client_id in ("e2e-forget-a", "e2e-forget-b"):
        assert bridge.post(FLOWS, json=body | {"clientId": client_id}).status_code == 200
        assert bridge.get(f"{FLOWS}/{client_id}").json()["status"] == "completed"
    forgotten = bridge.delete(FLOWS, params={"clientIdPrefix": "e2e-forget-"}).json()
    assert (forgotten["removed"], forgotten["remaining"]) == (2, 0)
    assert bridge.get(f"{FLOWS}/e2e-forget-a").status_code == 404


@pytest.mark.parametrize(("value", "reason"), [(100, "below 100"), (-1, "positive"), (0, "positive")])
def test_the_flow_refuses_a_value_out_of_range(bridge: httpx.Client, value: int, reason: str) -> None:
    before = ious(bridge, "PartyA"), ious(bridge, "PartyB")
    answer = start(bridge, IOU, iouValue=value, otherParty=PARTY_B)
    problem = answer.json()
    assert answer.status_code == 502
    assert problem["type"] == "urn:corda-lab:problem:flow-failed"
    assert reason in problem["detail"]
    assert "\n" not in problem["detail"]
    assert (ious(bridge, "PartyA"), ious(bridge, "PartyB")) == before


BAD_ARGUMENTS = [
    ({"iouValue": "many", "otherParty": PARTY_B}, "invalid-argument", "iouValue"),
    ({"iouValue": 1.5, "otherParty": PARTY_B}, "invalid-argument", "iouValue"),
    ({"iouValue": None, "otherParty": PARTY_B}, "invalid-argument", "iouValue"),
    ({"iouValue": 2**40, "otherParty": PARTY_B}, "invalid-argument", "iouValue"),
    ({"iouValue": 1, "otherParty": "O=Nobody,L=London,C=GB"}, "invalid-argument", "otherParty"),
    ({"iouValue": 1, "otherParty": 7}, "invalid-argument", "otherParty"),
    ({"iouValue": 1}, "missing-argument", "otherParty"),
    ({"iouValue": 1, "otherParty": PARTY_B, "colour": "red"}, "unknown-argument", "colour"),
]


@pytest.mark.usefixtures("no_flow_started")
@pytest.mark.parametrize(("arguments", "slug", "field"), BAD_ARGUMENTS)
def test_a_wrong_argument_is_named(bridge: httpx.Client, arguments: dict[str, Any], slug: str, field: str) -> None:
    answer = start(bridge, IOU, **arguments)
    problem = answer.json()
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert problem["type"] == f"urn:corda-lab:problem:{slug}"
    assert field in problem["field"]


@pytest.mark.usefixtures("no_flow_started")
def test_a_start_can_be_checked_without_starting(bridge: httpx.Client) -> None:
    body = {"flow": "Iou", "args": {"iouValue": 50, "otherParty": PARTY_B}}
    answer = bridge.post(FLOWS, params={"check": "true"}, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["flow"] == IOU
    values = {argument["name"]: argument["value"] for argument in answer.json()["arguments"]}
    assert values == {"iouValue": 50, "otherParty": "O=PartyB, L=New York, C=US"}


@pytest.mark.usefixtures("no_flow_started")
@pytest.mark.parametrize(("arguments", "slug", "field"), BAD_ARGUMENTS)
def test_a_check_is_refused_as_the_start_would_be(
    bridge: httpx.Client, arguments: dict[str, Any], slug: str, field: str
) -> None:
    body = {"flow": IOU, "args": arguments}
    check, refused = bridge.post(FLOWS, params={"check": "true"}, json=body), start(bridge, IOU, **arguments)
    assert (check.status_code, check.json()) == (refused.status_code, refused.json())
    assert slug in check.json()["type"]
    assert field in check.json()["field"]


@pytest.mark.usefixtures("no_flow_started")
@pytest.mark.parametrize(
    ("path", "body", "status", "slug"),
    [
        (FLOWS, b'{"flow": ', 400, "malformed-json"),
        (FLOWS, b"", 400, "malformed-json"),
        (FLOWS, b"[]", 400, "invalid-request"),
        (FLOWS, b'{"flow": 7}', 400, "invalid-request"),
        (FLOWS, b'{"flow": "Iou", "args": []}', 400, "invalid-request"),
        (FLOWS, b'{"flow": "Iou", "arguments": {}}', 400, "invalid-request"),
        (FLOWS, b'{"flow": "org.cordalab.flows.Nothing", "args": {}}', 404, "unknown-flow"),
        ("/v1/nodes/PartyZ/flows", b'{"flow": "Empty", "args": {}}', 404, "unknown-node"),
        ("/v1/nowhere", b"{}", 404, "not-found"),
        ("/v1/nodes", b"{}", 405, "method-not-allowed"),
        (FLOWS, b'{"flow": "' + b"x" * 20_000_000 + b'"}', 413, "body-too-large"),
    ],
    ids=lambda value: value[:40].decode() if isinstance(value, bytes) else None,
)
def test_a_malformed_request_is_answered_in_one_line(
    bridge: httpx.Client, path: str, body: bytes, status: int, slug: str
) -> None:
    answer = bridge.post(path, content=body, headers={"content-type": "application/json"})
    problem = answer.json()
    assert (answer.status_code, problem["status"]) == (status, status)
    assert problem["type"] == f"urn:corda-lab:problem:{slug}"
    assert problem["detail"]
    assert "\n" not in problem["detail"]


def test_the_openapi_document_is_valid_and_describes_every_route(bridge: httpx.Client) -> None:
    document = json.loads(bridge.get("/openapi.json").text)
    validate(document)
    assert "post" in document["paths"]["/v1/nodes/{node}/flows"]
