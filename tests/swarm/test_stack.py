"""The lab on three hosts: three engines on this machine, each in a network of its own.

`scripts/lab test --suite swarm` starts the engines, and runs this on the first of them, the manager.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from corda_lab.clients.bridge import Bridge
from corda_lab.lab.checks import Level
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.swarm import lifecycle
from corda_lab.swarm.hosts import Host
from corda_lab.swarm.lifecycle import Prepared
from corda_lab.swarm.tasks import newest, services_of, tasks_of

PLACEMENT = str(Path(__file__).parent / "placement.yaml")


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load_settings()


@pytest.fixture(scope="session")
def prepared(settings: Settings) -> Prepared:
    return lifecycle.prepare(settings, PLACEMENT)


@pytest.fixture(scope="session")
def stack(prepared: Prepared) -> Iterator[str]:
    """The name of the stack, which runs."""
    try:
        lifecycle.start(prepared, PLACEMENT)
        yield prepared.folder.stack
    finally:
        # The last test has already removed it, and with it the record of its hosts.
        lifecycle.down(prepared.settings, PLACEMENT, volumes=True)


def hosts(prepared: Prepared) -> list[Host]:
    return [Host(name) for name in prepared.fitted.hosts]


def lines(host: Host, *arguments: str) -> set[str]:
    return set(host.checked(*arguments).splitlines())


def test_the_hosts_are_found_and_sound(prepared: Prepared) -> None:
    checks = lifecycle.check(prepared)
    assert [check for check in checks if check.level is Level.FAILURE] == []
    assert {check.name for check in checks} >= {"host one", "host two", "host three", "clock of two", "registry"}


def test_every_service_runs_on_its_host(prepared: Prepared, stack: str) -> None:
    tasks = newest(tasks_of(stack, services_of(stack)))
    where = {name: prepared.hosts.node_names[task.node] for name, task in tasks.items()}
    assert where == {name: place.host for name, place in prepared.fitted.places.items()}
    assert {task.state for task in tasks.values()} == {"running"}


def test_the_bridge_reaches_every_node_and_is_reached_at_the_manager(settings: Settings, stack: str) -> None:
    assert stack
    with closing(Bridge(settings.bridge_url, settings.bridge_token)) as bridge:
        nodes = bridge.nodes()
    assert set(nodes) == set(settings.nodes)
    assert all(node.is_ready for node in nodes.values())


def test_no_host_has_a_port_that_others_can_reach(prepared: Prepared, stack: str) -> None:
    assert stack
    for host in hosts(prepared):
        published = [port for line in lines(host, "ps", "--format={{.Ports}}") for port in line.split(", ")]
        open_ports = [port for port in published if "->" in port]
        assert open_ports, host.name
        assert [port for port in open_ports if not port.startswith("127.0.0.1:")] == [], host.name


def test_the_network_between_hosts_is_measured(prepared: Prepared, stack: str) -> None:
    assert stack
    checks = {check.name: check for check in lifecycle.measure_network(prepared)}
    assert {check.level for check in checks.values()} == {Level.OK}
    assert "Mbit/s" in checks["one to two"].finding


def test_a_second_start_changes_no_container(prepared: Prepared, stack: str) -> None:
    before = {host.name: lines(host, "ps", "--quiet") for host in hosts(prepared)}
    lifecycle.start(prepared, PLACEMENT)
    assert {host.name: lines(host, "ps", "--quiet") for host in hosts(prepared)} == before
    assert stack


def test_a_stop_keeps_ledgers_and_a_stop_with_volumes_leaves_nothing(prepared: Prepared, stack: str) -> None:
    settings = prepared.settings
    lifecycle.down(settings, None, volumes=False)
    for host in hosts(prepared):
        assert lines(host, "ps", "--all", "--quiet") == set(), host.name
    kept = lines(Host("one"), "volume", "ls", "--quiet")
    assert f"{stack}_partya-persistence" in kept
    lifecycle.start(prepared, PLACEMENT)
    lifecycle.down(settings, None, volumes=True)
    own = {"bridge", "docker_gwbridge", "host", "ingress", "none"}
    for host in hosts(prepared):
        assert lines(host, "ps", "--all", "--quiet") == set(), host.name
        assert lines(host, "volume", "ls", "--quiet") == set(), host.name
        assert lines(host, "network", "ls", "--format={{.Name}}") <= own, host.name
    for kind in ("service", "secret", "config"):
        assert run_docker([kind, "ls", "--quiet"]).stdout == "", kind
    assert not prepared.folder.root.exists()
