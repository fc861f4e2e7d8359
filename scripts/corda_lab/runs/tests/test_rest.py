"""What a wait for rest says while it waits. Bridge and nodes are stand-ins."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Barrier
from unittest.mock import MagicMock

import pytest
from prometheus_client.samples import Sample

from corda_lab.clients.bridge import Node
from corda_lab.errors import LabError
from corda_lab.lab import endings
from corda_lab.runs import counters, node_metrics
from corda_lab.runs.node_metrics import NodeMetrics
from corda_lab.runs.running import ask_all


@dataclass
class Parts:
    """A bridge and a Prometheus, with the flows that each of them says are in flight."""

    at_bridge: dict[str, int] = field(default_factory=lambda: {"PartyA": 0, "PartyB": 0})
    at_nodes: dict[str, int] = field(default_factory=lambda: {"PartyA": 0, "PartyB": 0})
    is_gone: bool = False

    def nodes(self) -> dict[str, Node]:
        if self.is_gone:
            raise LabError("The bridge does not answer", exit_code=1)
        return {
            name: Node(name, f"O={name},L=London,C=GB", 12, is_ready=True, is_notary=False, outstanding_flows=count)
            for name, count in self.at_bridge.items()
        }

    def metrics(self) -> NodeMetrics:
        return {name: [Sample("corda_flows_in_flight", {}, count)] for name, count in self.at_nodes.items()}

    def awaited(self) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(node_metrics, "read", lambda _: self.metrics())
            return counters.awaited(MagicMock(bridge=self))


def test_a_lab_is_at_rest_when_nothing_is_in_flight() -> None:
    assert Parts().awaited() == ""


def test_a_wait_says_which_flows_it_is_for() -> None:
    two = Parts(at_bridge={"PartyA": 2, "PartyB": 1})
    assert two.awaited() == "3 flows at the bridge, started on PartyA and PartyB"
    assert Parts(at_nodes={"PartyA": 0, "PartyB": 1}).awaited() == "1 flow in flight on PartyB"


def test_a_node_that_does_not_answer_is_not_taken_to_be_at_rest() -> None:
    assert Parts(at_nodes={"PartyA": 0}).awaited() == "the metrics of PartyB"


def test_a_wait_for_a_bridge_that_is_gone_says_so_with_its_limit_and_what_can_be_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def come_true(_lab: object, condition: Callable[[], bool], *, seconds_max: float) -> bool:
        return condition()

    monkeypatch.setattr(endings, "come_true", come_true)
    monkeypatch.setattr(counters, "TELL_SECONDS", 0.0)
    parts = Parts(is_gone=True)
    assert not counters.await_rest(MagicMock(bridge=parts), seconds_max=120.0)
    said = " ".join(capsys.readouterr().out.split())
    assert "waiting for an answer (The bridge does not answer), for at most 120 s" in said
    assert "`scripts/lab up`" in said
    assert "Ctrl-C" in said


def test_parts_of_a_lab_are_asked_at_the_same_time() -> None:
    both = Barrier(2, timeout=10)

    def ask(node: str) -> str:
        both.wait()
        return node.lower()

    assert ask_all(ask, ["PartyA", "PartyB"]) == {"PartyA": "partya", "PartyB": "partyb"}


def test_the_first_part_that_cannot_be_asked_is_the_error() -> None:
    def ask(node: str) -> str:
        raise LabError(f"{node} is gone")

    with pytest.raises(LabError, match="PartyA is gone"):
        ask_all(ask, ["PartyA", "PartyB"])
