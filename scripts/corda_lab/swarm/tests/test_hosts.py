"""Nodes of a swarm, which of them is a host of a placement, and how they, their clocks and the registry are judged."""

from pathlib import Path
from typing import Any

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.doctor import Check, Level
from corda_lab.swarm import hosts
from corda_lab.swarm.hosts import EngineFacts, Host, Member, examine, locate, members, parse_facts, parse_member
from corda_lab.swarm.placement import Fitted, find_placement, fit
from corda_lab.swarm.stack import Project
from support.docker import docker_client

GIB = 1024**3
INSPECTED = [
    {
        "ID": "manager1",
        "Spec": {"Labels": {"corda-lab.host": "generator"}, "Role": "manager", "Availability": "active"},
        "Description": {"Hostname": "m", "Resources": {"NanoCPUs": 4000000000, "MemoryBytes": 8 * GIB}},
        "Status": {"State": "ready", "Addr": "0.0.0.0"},
        "ManagerStatus": {"Leader": True, "Addr": "192.0.2.1:2377"},
    },
    {
        "ID": "worker1",
        "Spec": {"Role": "worker", "Availability": "active"},
        "Description": {"Hostname": "w", "Resources": {}, "Engine": {}},
        "Status": {"State": "down", "Addr": "192.0.2.2"},
    },
]
LABEL = "corda-lab.host"
INFO = """\
{"ServerVersion": "20.10.24", "NCPU": 4, "MemTotal": 8589934592, "Architecture": "x86_64",
 "SystemTime": "2026-11-26T02:00:00.123456789Z", "Swarm": {"NodeID": "abc", "LocalNodeState": "active"}}"""


def member(
    name: str,
    *,
    host: str = "",
    state: str = "ready",
    availability: str = "active",
    cores: float = 16,
    memory: int = 32,
) -> Member:
    """A node of the swarm; its memory is in GiB."""
    labels = {LABEL: host} if host else {}
    return Member(f"id-{name}", f"machine-{name}", "192.0.2.1", state, availability, labels, cores, memory * GIB)


def facts_of(
    name: str = "network", *, version: str = "28.2.2", clock: float = 0.0, kind: str = "x86_64", node: str = ""
) -> EngineFacts:
    return EngineFacts(version, node or f"id-{name}", 16, 32 * GIB, kind, "6.1.0", clock, 0.01)


def test_nodes_are_read_from_what_the_manager_prints() -> None:
    first, second = map(parse_member, INSPECTED)
    assert (first.id, first.hostname, first.address, first.cores) == ("manager1", "m", "192.0.2.1", 4.0)
    assert first.labels == {LABEL: "generator"}
    assert (second.address, second.state, second.labels, second.memory) == ("192.0.2.2", "down", {}, 0)


def test_an_engine_that_is_no_manager_is_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'This node is not a swarm manager.' >&2; exit 1")
    with pytest.raises(LabError, match="no manager of a swarm: This node is not a swarm manager") as caught:
        members()
    assert "docker swarm init" in caught.value.remedy


def test_a_host_is_the_node_with_its_label() -> None:
    assert locate("partya", LABEL, [member("x"), member("y", host="partya")]).id == "id-y"


@pytest.mark.parametrize(
    ("known", "problem", "remedy"),
    [
        ([member("x")], "no node of the swarm has the label corda-lab.host=partya", "--label-add corda-lab.host=party"),
        (
            [member("x", host="partya"), member("y", host="partya")],
            "2 nodes of the swarm have the label corda-lab.host=partya: machine-x (id-x), machine-y (id-y)",
            "--label-rm corda-lab.host",
        ),
        ([member("x", host="partya", state="down")], "the manager has lost machine-x (down)", "TCP port 2377"),
        (
            [member("x", host="partya", availability="drain")],
            "machine-x takes no tasks (availability drain)",
            "--availability active machine-x",
        ),
    ],
)
def test_a_host_that_can_run_nothing_is_named_with_the_remedy(known: list[Member], problem: str, remedy: str) -> None:
    with pytest.raises(LabError) as caught:
        locate("partya", LABEL, known)
    assert caught.value.message == problem
    assert remedy in caught.value.remedy


def test_an_engine_says_what_it_is_and_what_time_it_has() -> None:
    noon = 1795658400.0
    facts = parse_facts(INFO, noon - 0.1, noon + 0.3)
    assert (facts.version, facts.node, facts.cores, facts.memory) == ("20.10.24", "abc", 4, 8 * GIB)
    assert facts.clock_offset_seconds == pytest.approx(0.023456, abs=1e-5)
    assert facts.clock_error_seconds == pytest.approx(0.2)
    for text in ("2026-11-26T02:00:00.12Z", "2026-11-26T02:00:00Z", "2026-11-26T04:00:00.1+02:00"):
        facts = parse_facts(INFO.replace("2026-11-26T02:00:00.123456789Z", text), noon, noon)
        assert abs(facts.clock_offset_seconds) < 0.2, text


@pytest.fixture
def fitted(default_project: Project) -> Fitted:
    return fit(find_placement("generator-apart"), default_project.running)


@pytest.fixture(autouse=True)
def _open_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "is_open", lambda address, _port: address != "")


def checks_of(
    fitted: Fitted, *, located: Member | None = None, facts: EngineFacts | None = None, error: LabError | None = None
) -> dict[str, Check]:
    """Examine two sound hosts, but for the values that are given for the host network."""
    changed = error or Host(located or member("network"), facts or facts_of())
    return {check.name: check for check in examine(fitted, {**sound(fitted), "network": changed})}


def sound(fitted: Fitted, **facts: Any) -> dict[str, Host | LabError]:
    return {name: Host(member(name), facts_of(name, **facts)) for name in fitted.hosts}


def test_sound_hosts_pass(fitted: Fitted) -> None:
    checks = checks_of(fitted)
    assert {check.level for check in checks.values()} == {Level.OK}
    about = "machine-network, engine 28.2.2, 16 cores, 32 GiB"
    assert checks["host network"].finding == f"{about}: notary, partya, partyb and partyc"


@pytest.mark.parametrize(
    ("located", "facts", "name", "level", "finding"),
    [
        (
            None,
            facts_of(node="other"),
            "host network",
            Level.FAILURE,
            "the docker context network leads to another engine than that of machine-network, which has its label",
        ),
        (
            member("network", cores=3, memory=1),
            None,
            "room of network",
            Level.FAILURE,
            "4 cores are reserved, and it has 3; 8 GiB of memory are reserved, and it has 1 GiB",
        ),
        (
            Member("id-network", "m", "", "ready", "active", {}, 16, 32 * GIB),
            None,
            "port 7946 of network",
            Level.FAILURE,
            "this machine cannot connect to :7946",
        ),
        (
            None,
            facts_of(version="19.03.5"),
            "engines",
            Level.WARNING,
            "they differ: 19.03.5 on network; 28.2.2 on generator",
        ),
        (None, facts_of(kind="arm64"), "architecture", Level.FAILURE, "the images run on one only: arm64 on network;"),
        (None, facts_of(clock=0.06), "clock of network", Level.OK, "+60.0 ms from this machine's (± 10.0 ms)"),
        (None, facts_of(clock=-0.3), "clock of network", Level.WARNING, "-300.0 ms"),
        (None, facts_of(clock=1.0), "clock of network", Level.WARNING, "+1000.0 ms"),
        (None, facts_of(clock=-1.1), "clock of network", Level.FAILURE, "-1100.0 ms"),
    ],
)
def test_a_host_is_judged(
    fitted: Fitted, located: Member | None, facts: EngineFacts | None, name: str, level: Level, finding: str
) -> None:
    check = checks_of(fitted, located=located, facts=facts)[name]
    assert check.level is level
    assert check.finding.startswith(finding)
    assert bool(check.remedy) == (level is not Level.OK)


def test_a_host_that_is_not_found_or_not_reached_is_named(fitted: Fitted) -> None:
    check = checks_of(fitted, error=LabError("network: no context", "add it"))["host network"]
    assert (check.level, check.finding, check.remedy) == (Level.FAILURE, "no context", "add it")


def test_an_engine_that_is_too_old_is_a_failure(fitted: Fitted) -> None:
    checks = examine(fitted, sound(fitted, version="19.03.5"))
    failed = [check for check in checks if check.level is Level.FAILURE]
    assert [(check.name, check.finding) for check in failed] == [("engine 19.03.5", "on network, generator")]


def test_a_host_reaches_the_registry_if_that_says_what_it_does_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(
        tmp_path,
        monkeypatch,
        """case $2 in
          a) echo 'Error response from daemon: manifest for r/corda-lab/reached:none not found: manifest unknown' ;;
          b) echo 'Error response from daemon: Get "https://r/v2/": http: server gave HTTP response to HTTPS client' ;;
          c) echo 'error during connect: no route to host' ;;
        esac >&2
        exit 1""",
    )
    checks = {check.name: check for check in hosts.examine_registry("r", ["a", "b", "c"])}
    assert [check.level for check in checks.values()] == [Level.OK, Level.FAILURE, Level.FAILURE]
    assert "HTTP response to HTTPS client" in checks["registry from b"].finding
    assert "insecure-registries" in checks["registry from b"].remedy
