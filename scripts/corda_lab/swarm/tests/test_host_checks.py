"""How the doctor judges hosts, their clocks and their way to the registry."""

from collections.abc import Callable
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.doctor import Check, Level
from corda_lab.swarm import hosts
from corda_lab.swarm.hosts import EngineFacts, Member, SwarmHosts, examine
from corda_lab.swarm.placement import Fitted, find_placement, fit
from corda_lab.swarm.project import Project
from support.docker import docker_client

GIB = 1024**3
Found = Callable[..., dict[str, Check]]


@pytest.fixture
def fitted(default_project: Project) -> Fitted:
    return fit(find_placement("generator-apart"), default_project)


@pytest.fixture
def found(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> Found:
    """Return a function that examines two sound hosts, but for the values that are given for the first."""
    monkeypatch.setattr(hosts, "is_open", lambda _address, port: port != 1)

    def examined(
        *, located: Member | LabError | None = None, facts: EngineFacts | LabError | None = None
    ) -> dict[str, Check]:
        members = {name: member(name) for name in fitted.hosts}
        swarm_hosts = SwarmHosts(
            {**members, **({"network": located} if located else {})},
            {name: facts_of(name) for name in fitted.hosts} | ({"network": facts} if facts else {}),
        )
        return {check.name: check for check in examine(fitted, swarm_hosts)}

    return examined


def member(name: str, *, cores: float = 16, memory: int = 32 * GIB) -> Member:
    return Member(f"id-{name}", f"machine-{name}", "192.0.2.1", "ready", "active", {}, cores, memory)


def facts_of(
    name: str, *, version: str = "28.2.2", clock: float = 0.0, architecture: str = "x86_64", node: str = ""
) -> EngineFacts:
    return EngineFacts(version, node or f"id-{name}", 16, 32 * GIB, architecture, "6.1.0", clock, 0.01)


def test_sound_hosts_pass(found: Found) -> None:
    checks = found()
    assert {check.level for check in checks.values()} == {Level.OK}
    about = "machine-network, engine 28.2.2, 16 cores, 32 GiB"
    assert checks["host network"].finding == f"{about}: notary, partya, partyb and partyc"


def test_a_host_that_the_swarm_does_not_have_is_named(found: Found) -> None:
    check = found(located=LabError("no node has the label", "add it"))["host network"]
    assert (check.level, check.finding, check.remedy) == (Level.FAILURE, "no node has the label", "add it")


def test_a_host_that_is_not_reached_is_named(found: Found) -> None:
    check = found(facts=LabError("network: there is no docker context", "create it"))["host network"]
    assert (check.level, check.finding, check.remedy) == (Level.FAILURE, "there is no docker context", "create it")


def test_a_context_that_leads_elsewhere_is_a_failure(found: Found) -> None:
    check = found(facts=facts_of("network", node="id-other"))["host network"]
    assert check.level is Level.FAILURE
    assert "leads to another engine than that of machine-network" in check.finding


def test_a_host_must_have_what_is_reserved_on_it(found: Found) -> None:
    checks = found(located=member("network", cores=3, memory=GIB))
    check = checks["room of network"]
    assert check.level is Level.FAILURE
    assert check.finding == "4 cores are reserved, and it has 3; 8 GiB of memory are reserved, and it has 1 GiB"


def test_a_closed_port_is_a_failure(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "is_open", lambda _address, _port: False)
    check = found()["port 7946 of network"]
    assert (check.level, check.finding) == (Level.FAILURE, "this machine cannot connect to 192.0.2.1:7946")


def test_engines_that_differ_are_a_warning(found: Found) -> None:
    checks = found(facts=facts_of("network", version="19.03.5"))
    assert checks["engines"].level is Level.WARNING
    assert checks["engines"].finding == "they differ: 19.03.5 on network; 28.2.2 on generator"


def test_an_engine_that_is_too_old_is_a_failure(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "is_open", lambda _address, _port: True)
    swarm_hosts = SwarmHosts(
        {name: member(name) for name in fitted.hosts},
        {name: facts_of(name, version="19.03.5") for name in fitted.hosts},
    )
    failed = [check for check in examine(fitted, swarm_hosts) if check.level is Level.FAILURE]
    assert [(check.name, check.finding) for check in failed] == [("engine 19.03.5", "on network, generator")]


def test_images_run_on_one_kind_of_processor(found: Found) -> None:
    assert found(facts=facts_of("network", architecture="aarch64"))["architecture"].level is Level.FAILURE


@pytest.mark.parametrize(
    ("offset", "level"), [(0.06, Level.OK), (-0.3, Level.WARNING), (1.0, Level.WARNING), (-1.1, Level.FAILURE)]
)
def test_clocks_are_judged_beyond_their_error(found: Found, offset: float, level: Level) -> None:
    check = found(facts=facts_of("network", clock=offset))["clock of network"]
    assert (check.level, check.finding) == (level, f"{offset * 1000:+.1f} ms from this machine's (± 10.0 ms)")


ENGINES = ["a", "b", "c"]


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
    checks = {check.name: check for check in hosts.examine_registry("r", ENGINES)}
    assert [check.level for check in checks.values()] == [Level.OK, Level.FAILURE, Level.FAILURE]
    assert "HTTP response to HTTPS client" in checks["registry from b"].finding
    assert "insecure-registries" in checks["registry from b"].remedy
