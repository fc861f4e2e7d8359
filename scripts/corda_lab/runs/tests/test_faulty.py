"""A lab after faults: what has ended is started again, and nodes whose flows stay in flight are too, once."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client.samples import Sample

from corda_lab import paths
from corda_lab.clients.bridge import Bridge, Node
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.faults.model import FaultEntries, FaultEntry
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results import folders
from corda_lab.results.stored import EVIDENCE, RUN_STEP
from corda_lab.runs import faulty, node_metrics
from corda_lab.runs.node_metrics import NodeMetrics
from corda_lab.runs.recording import Recording
from lab_workload.faults import Fault
from lab_workload.load import Load
from support.engine import LOAD, Engine
from support.labs import lab_with
from support.runs import plan_of

NODES = ("Notary", "PartyA", "PartyB", "PartyC")
SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "3"})


@dataclass
class Observed:
    """What bridge and nodes say of the containers of an engine.

    ``parked`` flows end when their node restarts, or stay ``forever``.
    """

    engine: Engine
    parked: dict[str, int] = field(default_factory=dict)
    forever: bool = False
    hung: set[str] = field(default_factory=set)

    def restarts(self, node: str) -> bool:
        return ["restart", f"my-lab-{node.lower()}-1"] in self.engine.calls

    def answers(self, node: str) -> bool:
        return self.engine.state(node.lower()) == "running" and (node not in self.hung or self.restarts(node))

    def is_ready(self) -> bool:
        return all(self.answers(node) for node in NODES)

    def nodes(self) -> dict[str, Node]:
        if self.engine.state("bridge") != "running":
            raise LabError("The bridge does not answer")
        return {node: Node(node, f"O={node}", 12, self.answers(node), node == "Notary", 0) for node in NODES}

    def metrics(self) -> NodeMetrics:
        flows = {node: 0 if self.restarts(node) and not self.forever else self.parked.get(node, 0) for node in NODES}
        return {
            node: [Sample("corda_flows_in_flight", {}, count)] for node, count in flows.items() if self.answers(node)
        }


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine(tmp_path / "engine")
    monkeypatch.setenv("PATH", f"{made.bin}:/usr/bin:/bin")
    monkeypatch.setattr(faulty, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(faulty, "BACK_SECONDS", 1.0)
    monkeypatch.setattr(faulty, "BACK_SECONDS_MAX", 2.0)
    monkeypatch.setattr(faulty, "REST_SECONDS_MAX", 0.2)
    return made


@pytest.fixture
def lab_of(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lab]:
    def made(**about: Any) -> Lab:
        observed = Observed(engine, **about)
        monkeypatch.setattr(node_metrics, "read", lambda _: observed.metrics())
        return lab_with(Compose(SETTINGS), cast(Bridge, observed), cast(Prometheus, None))

    return made


def test_the_faults_of_a_load_are_stored_however_it_ends(
    engine: Engine, lab_of: Callable[..., Lab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    kill = Fault(kind="kill", target="bridge", at_seconds=0.0, for_seconds=60.0)
    late = Fault(kind="pause", target="partya", at_seconds=50.0, for_seconds=1.0)
    plan = plan_of(Load(workload="iou", duration_seconds=60, warm_up_seconds=0, seed=7, faults=(kill, late)))
    folder = tmp_path / "step"
    (folder / EVIDENCE).mkdir(parents=True)

    def noted() -> tuple[FaultEntry, ...]:
        return folders.read_model(folder / EVIDENCE / faulty.FAULTS, FaultEntries).root

    def failing_load() -> None:
        with faulty.injecting(lab_of(), plan, Container(LOAD), Recording(folder, RUN_STEP, ExitStack())):
            assert noted()[0].fault == kill, "known before anything is done"
            while engine.state("bridge") == "running":
                pass
            raise LabError("the generator ended")

    with pytest.raises(LabError, match="the generator ended"):
        failing_load()
    assert [(one.fault, one.was_made, one.healed_at is not None) for one in noted()] == [
        (kill, True, True),
        (late, False, False),
    ]
    assert engine.state("bridge") == "running"


def test_a_lab_that_is_at_rest_is_left_alone(engine: Engine, lab_of: Callable[..., Lab]) -> None:
    assert faulty.settle(lab_of()).restarted == ()
    assert engine.calls == []


def test_what_has_ended_is_started_again(engine: Engine, lab_of: Callable[..., Lab]) -> None:
    for service in ("partya", "prometheus"):
        engine.set(f"my-lab-{service}-1", "exited")
    assert faulty.settle(lab_of()).restarted == ()
    assert sorted(engine.calls) == [["start", "my-lab-partya-1"], ["start", "my-lab-prometheus-1"]]


def test_nodes_whose_flows_stay_in_flight_are_started_again_and_named(
    engine: Engine, lab_of: Callable[..., Lab]
) -> None:
    settled = faulty.settle(lab_of(parked={"PartyB": 3, "Notary": 1}))
    assert (settled.restarted, settled.is_at_rest) == (("Notary", "PartyB"), True)
    assert sorted(engine.calls) == [["restart", "my-lab-notary-1"], ["restart", "my-lab-partyb-1"]]


def test_flows_that_stay_in_flight_even_then_are_told(lab_of: Callable[..., Lab]) -> None:
    settled = faulty.settle(lab_of(parked={"PartyB": 3}, forever=True))
    assert (settled.restarted, settled.is_at_rest) == (("PartyB",), False)


def test_a_node_that_does_not_come_back_is_started_again_and_named(engine: Engine, lab_of: Callable[..., Lab]) -> None:
    assert faulty.settle(lab_of(hung={"PartyA"})).restarted == ("PartyA",)
    assert engine.calls == [["restart", "my-lab-partya-1"]]


def test_a_lab_that_does_not_come_back_at_all_is_an_error(engine: Engine, lab_of: Callable[..., Lab]) -> None:
    engine.refuse("start my-lab-partyc-1")
    engine.set("my-lab-partyc-1", "exited")
    with pytest.raises(LabError, match="could not be started again"):
        faulty.settle(lab_of())
