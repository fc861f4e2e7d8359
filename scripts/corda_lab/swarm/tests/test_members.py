"""Nodes of a swarm, and which of them is a host of a placement."""

import json
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.swarm.members import Member, locate, members, parse_members
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
    return Member(f"id-{name}", name, "192.0.2.1", state, availability, labels, "28.2.2", 4.0, 8 * 1024**3)


def test_nodes_are_read_from_what_the_manager_prints() -> None:
    first, second = parse_members(json.dumps(INSPECTED))
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
    found = locate("partya", LABEL, [member("x"), member("y", host="partya")])
    assert found.member is not None
    assert (found.member.hostname, found.trouble) == ("y", "")


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
    found = locate("partya", LABEL, known)
    assert found.trouble == trouble
    assert remedy in found.remedy
