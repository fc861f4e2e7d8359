"""Nodes of a swarm, which of them is a host of a placement, and what their engines say."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.hosts import Member, locate, members, parse_facts, parse_member
from support.docker import docker_client

INSPECTED = [
    {
        "ID": "manager1",
        "Spec": {"Labels": {"corda-lab.host": "generator"}, "Role": "manager", "Availability": "active"},
        "Description": {
            "Hostname": "m",
            "Resources": {"NanoCPUs": 4000000000, "MemoryBytes": 8 * 1024**3},
            "Engine": {"EngineVersion": "28.2.2"},
        },
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


def member(name: str, *, host: str = "", state: str = "ready", availability: str = "active") -> Member:
    labels = {LABEL: host} if host else {}
    return Member(f"id-{name}", name, "192.0.2.1", state, availability, labels, 4.0, 8 * 1024**3)


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
    assert locate("partya", LABEL, [member("x"), member("y", host="partya")]).hostname == "y"


@pytest.mark.parametrize(
    ("known", "trouble", "remedy"),
    [
        (
            [member("x")],
            "no node of the swarm has the label corda-lab.host=partya",
            "--label-add corda-lab.host=partya",
        ),
        (
            [member("x", host="partya"), member("y", host="partya")],
            "2 nodes of the swarm have the label corda-lab.host=partya: x (id-x), y (id-y)",
            "--label-rm corda-lab.host",
        ),
        ([member("x", host="partya", state="down")], "the manager has lost x (down)", "TCP port 2377"),
        (
            [member("x", host="partya", availability="drain")],
            "x takes no tasks (availability drain)",
            "--availability active x",
        ),
    ],
)
def test_a_host_that_can_run_nothing_is_named_with_the_remedy(known: list[Member], trouble: str, remedy: str) -> None:
    with pytest.raises(LabError) as caught:
        locate("partya", LABEL, known)
    assert caught.value.message == trouble
    assert remedy in caught.value.remedy


INFO = """\
{"ServerVersion": "20.10.24", "NCPU": 4, "MemTotal": 8589934592, "Architecture": "x86_64",
 "SystemTime": "2026-11-26T02:00:00.123456789Z", "Swarm": {"NodeID": "abc", "LocalNodeState": "active"}}"""


def test_an_engine_says_what_it_is_and_what_time_it_has() -> None:
    noon = 1795658400.0
    facts = parse_facts(INFO, noon - 0.1, noon + 0.3)
    assert (facts.version, facts.node, facts.cores, facts.memory) == ("20.10.24", "abc", 4, 8 * 1024**3)
    assert facts.clock_offset_seconds == pytest.approx(0.023456, abs=1e-5)
    assert facts.clock_error_seconds == pytest.approx(0.2)


@pytest.mark.parametrize(
    "time_text", ["2026-11-26T02:00:00.12Z", "2026-11-26T02:00:00Z", "2026-11-26T04:00:00.1+02:00"]
)
def test_a_time_of_fewer_digits_or_another_zone_is_read(time_text: str) -> None:
    facts = parse_facts(INFO.replace("2026-11-26T02:00:00.123456789Z", time_text), 1795658400.0, 1795658400.0)
    assert abs(facts.clock_offset_seconds) < 0.2
