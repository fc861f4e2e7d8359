"""How the doctor judges hosts, their clocks and the network between them."""

from collections.abc import Callable

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.checks import Check, Level
from corda_lab.swarm import doctor
from corda_lab.swarm.doctor import SwarmHosts, clock_check, examine, examine_network
from corda_lab.swarm.fit import Fitted, fit
from corda_lab.swarm.hosts import Clock, EngineFacts
from corda_lab.swarm.measure import Measured, NetworkPath
from corda_lab.swarm.members import Located, Member
from corda_lab.swarm.placement import find_placement
from corda_lab.swarm.project import Project

GIB = 1024**3
Found = Callable[..., dict[str, Check]]


@pytest.fixture
def fitted(default_project: Project) -> Fitted:
    return fit(find_placement("generator-apart"), default_project)


@pytest.fixture
def found(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> Found:
    """Return a function that examines two sound hosts, but for the values that are given for the first."""
    monkeypatch.setattr(doctor, "is_open", lambda _address, port: port != 1)

    def examined(*, located: Located | None = None, facts: EngineFacts | LabError | None = None) -> dict[str, Check]:
        members = {name: member(name) for name in fitted.hosts}
        hosts = SwarmHosts(
            {name: Located(one) for name, one in members.items()} | ({"network": located} if located else {}),
            {name: facts_of(name) for name in fitted.hosts} | ({"network": facts} if facts else {}),
        )
        return {check.name: check for check in examine(fitted, hosts)}

    return examined


def member(name: str, *, cores: float = 16, memory: int = 32 * GIB) -> Member:
    return Member(f"id-{name}", f"machine-{name}", "192.0.2.1", "ready", "active", {}, "28.2.2", cores, memory)


def facts_of(
    name: str, *, version: str = "28.2.2", clock: float = 0.0, architecture: str = "x86_64", node: str = ""
) -> EngineFacts:
    return EngineFacts(version, node or f"id-{name}", 16, 32 * GIB, architecture, "6.1.0", Clock(clock, 0.01))


def test_sound_hosts_pass(found: Found) -> None:
    checks = found()
    assert {check.level for check in checks.values()} == {Level.OK}
    assert checks["host network"].finding == "machine-network, engine 28.2.2, 16 cores, 32 GiB"
    assert checks["registry"].finding == "127.0.0.1:5000: the lab provides it"


def test_a_host_that_the_swarm_does_not_have_is_named(found: Found) -> None:
    check = found(located=Located(None, "no node has the label", "add it"))["host network"]
    assert (check.level, check.finding, check.remedy) == (Level.FAILURE, "no node has the label", "add it")


def test_a_host_that_is_not_reached_is_named(found: Found) -> None:
    check = found(facts=LabError("network: there is no docker context", "create it"))["host network"]
    assert (check.level, check.finding, check.remedy) == (Level.FAILURE, "there is no docker context", "create it")


def test_a_context_that_leads_elsewhere_is_a_failure(found: Found) -> None:
    check = found(facts=facts_of("network", node="id-other"))["host network"]
    assert check.level is Level.FAILURE
    assert "leads to another engine than that of machine-network" in check.finding


def test_a_host_must_have_what_is_reserved_on_it(found: Found) -> None:
    checks = found(located=Located(member("network", cores=3, memory=GIB)))
    check = checks["room of network"]
    assert check.level is Level.FAILURE
    assert check.finding == "4 cores are reserved, and it has 3; 8 GiB of memory are reserved, and it has 1 GiB"


def test_a_closed_port_is_a_failure(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_open", lambda _address, _port: False)
    check = found()["port 7946 of network"]
    assert (check.level, check.finding) == (Level.FAILURE, "this machine cannot connect to 192.0.2.1:7946")


def test_engines_that_differ_are_a_warning(found: Found) -> None:
    checks = found(facts=facts_of("network", version="19.03.5"))
    assert checks["engines"].level is Level.WARNING
    assert checks["engines"].finding == "they differ: 19.03.5 on network; 28.2.2 on generator"


def test_an_engine_that_is_too_old_is_a_failure(fitted: Fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "is_open", lambda _address, _port: True)
    hosts = SwarmHosts(
        {name: Located(member(name)) for name in fitted.hosts},
        {name: facts_of(name, version="19.03.5") for name in fitted.hosts},
    )
    failed = [check for check in examine(fitted, hosts) if check.level is Level.FAILURE]
    assert [(check.name, check.finding) for check in failed] == [("engine 19.03.5", "on network, generator")]


def test_images_run_on_one_kind_of_processor(found: Found) -> None:
    assert found(facts=facts_of("network", architecture="aarch64"))["architecture"].level is Level.FAILURE


def test_clocks_are_judged_beyond_their_error() -> None:
    assert clock_check("a", 0.2, 0.2, "x").level is Level.OK
    late = clock_check("a", -0.3, 0.2, "this machine's")
    assert (late.level, late.finding) == (Level.WARNING, "-300.0 ms from this machine's (± 200.0 ms)")


WHOLE = NetworkPath(target="b", round_trip_ms=0.234, clock_ms=0.5, clock_error_ms=0.1, megabits_per_second=940.2)
CUT = NetworkPath(target="a", trouble="timed out")


def test_a_path_is_shown_with_what_was_measured() -> None:
    checks = {check.name: check for check in examine_network(Measured({"a": [WHOLE], "b": [CUT]}), encrypted=True)}
    assert checks["a to b"].finding == "round trip 0.23 ms, 940 Mbit/s in one connection"
    assert checks["clock of b"].finding == "+0.5 ms from that of a (± 0.1 ms)"
    assert (checks["b to a"].level, checks["b to a"].finding) == (Level.FAILURE, "timed out")
    assert checks["overlay"].finding == "encrypted"


def test_a_network_on_which_nothing_passes_is_one_failure() -> None:
    (check,) = examine_network(Measured({"a": [CUT], "b": [CUT]}), encrypted=True)
    assert check.level is Level.FAILURE
    assert "Or set overlay: plain" in check.remedy
    (plain,) = examine_network(Measured({"a": [CUT], "b": [CUT]}), encrypted=False)
    assert "Or set overlay: plain" not in plain.remedy
