"""RPC connections that are left open, on a real node: one for each flow start, up to the limit, and none by default."""

from collections.abc import Iterator

import httpx
import pytest

from corda_lab.lab import lifecycle, shape
from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]

FLOWS = "/v1/nodes/PartyA/flows"
LIMIT = 2


def start(bridge: httpx.Client) -> httpx.Response:
    return bridge.post(FLOWS, json={"flow": "Empty", "args": {}})


def connections(bridge: httpx.Client) -> int:
    """Return the number of open RPC connections to PartyA."""
    (line,) = (
        line
        for line in bridge.get("/metrics").text.splitlines()
        if line.startswith('bridge_rpc_connections{node="PartyA"}')
    )
    return int(float(line.rpartition(" ")[2]))


@pytest.fixture(scope="module")
def left_open(lab: Lab) -> Iterator[None]:
    """A bridge that leaves connections open. After the module, it is as before."""
    wanted = shape.with_options(lab.settings, {"BRIDGE_RPC": "left-open"}, size=None)
    values = {name: wanted[name] for name in ("BRIDGE_RPC", "BRIDGE_HEAP", "BRIDGE_MEMORY")}
    try:
        lifecycle.restart_bridge(lab.settings.with_values({**values, "BRIDGE_RPC_LEFT_OPEN_MAX": str(LIMIT)}))
        yield
    finally:
        lifecycle.restart_bridge(lab.settings)


def test_flow_starts_share_one_connection_by_default(bridge: httpx.Client) -> None:
    assert [start(bridge).status_code for _ in range(3)] == [200, 200, 200]
    assert connections(bridge) == 1


@pytest.mark.usefixtures("left_open")
def test_every_flow_start_leaves_a_connection_open_until_the_limit(lab: Lab, bridge: httpx.Client) -> None:
    assert shape.of_running(lab.settings)["BRIDGE_RPC"] == "left-open"
    assert connections(bridge) == 1
    for opened in range(1, LIMIT + 1):
        answer = start(bridge)
        assert answer.status_code == 200, answer.text
        assert connections(bridge) == 1 + opened
    refused = start(bridge)
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:corda-lab:problem:no-rpc-connection")
    assert refused.json()["detail"].startswith("2 RPC connections have been left open, which is the limit")
    # Everything else uses the shared connection.
    assert bridge.get("/health/ready").status_code == 200
    state = {"stateType": "org.cordalab.states.IouState"}
    assert bridge.get("/v1/nodes/PartyA/vault/count", params=state).status_code == 200
    assert connections(bridge) == 1 + LIMIT
