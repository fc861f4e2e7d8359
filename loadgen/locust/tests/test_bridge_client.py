"""What the generator asks a bridge, over a real socket."""

import threading

import pytest

from lab_load.bridge_client import BridgeClient, BridgeError
from lab_workload.flows import Parameter, Party
from testkit import X500_NAMES, StubBridge, free_port, problem


def test_the_network_is_read(bridge: StubBridge) -> None:
    client = BridgeClient(bridge.url)

    assert client.parties("PartyA") == [Party(name, x500) for name, x500 in X500_NAMES.items()]
    assert client.platform_version("PartyB") == 12
    iou, *_ = client.flows("PartyA")
    assert iou.short_name == "Iou"
    assert iou.constructors == ((Parameter("iouValue", "int"), Parameter("otherParty", "Party")),)


def test_a_flow_is_started_and_an_attachment_uploaded(bridge: StubBridge) -> None:
    client = BridgeClient(bridge.url)

    coins = client.start("PartyA", "org.cordalab.flows.CashPrepare", {"count": 2}, "own-1", 10)
    attachment_id = client.upload("PartyB", "a b.zip", b"content", 10)

    assert len(coins) == 2
    start = {"flow": "org.cordalab.flows.CashPrepare", "args": {"count": 2}, "clientId": "own-1"}
    assert bridge.starts == [("/v1/nodes/PartyA/flows", start)]
    assert bridge.uploads == [("/v1/nodes/PartyB/attachments?name=a%20b.zip", b"content")]
    assert len(attachment_id) == 64


def test_a_refusal_carries_the_bridge_s_reason(bridge: StubBridge) -> None:
    bridge.reply = lambda start: problem(502, "flow-failed", "count must be at most 10000")
    bridge.parties = problem(503, "node-unavailable", "PartyA does not answer")
    client = BridgeClient(bridge.url)

    with pytest.raises(BridgeError, match=r"^flow-failed: count must be at most 10000$"):
        client.start("PartyA", "Pay", {}, "own-1", 10)
    with pytest.raises(BridgeError, match="is not ready for load: node-unavailable: PartyA does not answer"):
        client.parties("PartyA")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"nodes": []}, "about parties cannot be parsed: KeyError"),
        ([], "about parties cannot be parsed: TypeError"),
    ],
)
def test_an_answer_of_another_form_is_one_clear_error(bridge: StubBridge, content: object, message: str) -> None:
    bridge.parties = (200, {}, content)

    with pytest.raises(BridgeError, match=message):
        BridgeClient(bridge.url).parties("PartyA")


def test_no_answer_comes_with_the_operating_system_s_reason() -> None:
    url = f"http://127.0.0.1:{free_port()}"

    with pytest.raises(BridgeError) as caught:
        BridgeClient(url).flows("PartyA")

    assert caught.value.message.startswith(f"the bridge at {url} does not answer ([Errno ")
    assert caught.value.message.endswith("] Connection refused); is the lab up?")


def test_a_proxy_that_the_environment_names_is_not_used(bridge: StubBridge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("no_proxy", raising=False)

    assert BridgeClient(bridge.url).platform_version("PartyA") == 12


def test_an_answer_that_takes_too_long_is_given_up(bridge: StubBridge) -> None:
    released = threading.Event()
    bridge.reply = lambda start: (200, {}, released.wait(20))

    with pytest.raises(BridgeError, match=r"^no answer from the bridge: timed out$"):
        BridgeClient(bridge.url).start("PartyA", "Pay", {}, "own-1", 0.2)
    released.set()
