"""What the doctor finds, and how it judges."""

import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.host import machine
from corda_lab.lab import cordapps, doctor, lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.doctor import GIB, Check, Examined, Level, Row, failure, ok
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE
from support.docker import docker_client


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def settings_with(**changes: str) -> Settings:
    values = dict(load_settings(ENV_FILE, {}).values)
    ports = dict(zip(doctor.PORTS, map(str, doctor.free_ports(len(doctor.PORTS))), strict=True))
    return Settings({**values, **ports, **changes})


@pytest.fixture
def ports_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Check]]:
    """Return a function that makes the checks of the ports, where a container may publish one of them."""

    def check(settings: Settings, port: str = "none", project: str = "", folder: str = "") -> list[Check]:
        line = "\\t".join((project, folder, "lab-bridge-1"))
        docker_client(
            tmp_path, monkeypatch, f"case $1$3 in version*) echo 28;; *publish={port}) printf '{line}';; esac"
        )
        return doctor.run(doctor.PORT_ROWS, Examined(settings))

    return check


PortsOf = Callable[..., list[Check]]


def test_names_the_program_that_holds_a_port_and_a_free_one_instead(taken_port: int, ports_of: PortsOf) -> None:
    checks = ports_of(settings_with(BRIDGE_PORT=str(taken_port)))
    taken = checks[0]
    assert taken.level is Level.FAILURE
    assert f"(process {os.getpid()})" in taken.finding
    assert "BRIDGE_PORT=" in taken.remedy
    assert [check.level for check in checks[1:]] == [Level.OK] * 3


def test_a_port_that_this_lab_itself_holds_is_fine(taken_port: int, ports_of: PortsOf) -> None:
    settings = settings_with(BRIDGE_PORT=str(taken_port))
    checks = ports_of(settings, settings["BRIDGE_PORT"], settings.project)
    assert (checks[0].level, checks[0].finding) == (Level.OK, "used by this lab (lab-bridge-1)")


@pytest.mark.parametrize(("folder", "started"), [("", ""), ("/home/me/lab", ", started from /home/me/lab")])
def test_names_the_container_that_holds_a_port(ports_of: PortsOf, folder: str, started: str) -> None:
    settings = settings_with()
    check = ports_of(settings, settings["BRIDGE_PORT"], "other-lab" if folder else "", folder)[0]
    assert check.finding == f"used by the container lab-bridge-1{started}"
    assert re.search(r"BRIDGE_PORT=\d+ in \.env", check.remedy)


def test_two_services_cannot_have_one_port(ports_of: PortsOf) -> None:
    port = str(doctor.free_ports(1)[0])
    checks = ports_of(settings_with(BRIDGE_PORT=port, GRAFANA_PORT=port))
    assert [check.level for check in checks] == [Level.OK, Level.OK, Level.OK, Level.FAILURE]
    assert "GRAFANA_PORT" in checks[3].remedy


@pytest.mark.parametrize(
    ("available", "level"), [(4 * GIB, Level.FAILURE), (8 * GIB, Level.WARNING), (20 * GIB, Level.OK)]
)
def test_judges_memory_by_what_the_lab_uses(available: int, level: Level) -> None:
    assert doctor.judge_memory(10 * GIB, available, 24 * GIB)[0] is level


@pytest.mark.parametrize(
    ("free", "present", "level"),
    [
        (5 * GIB, True, Level.OK),
        (5 * GIB, False, Level.FAILURE),
        (GIB, True, Level.FAILURE),
        (50 * GIB, False, Level.OK),
    ],
)
def test_judges_disk_by_whether_images_must_be_built(free: int, present: bool, level: Level) -> None:
    assert doctor.judge_disk(free, images_present=present)[0] is level


def test_finds_volumes_of_another_configuration() -> None:
    settings = settings_with(CORDA_VERSION="4.10", DATABASE="postgres")
    kept = "corda=4.10 database=postgres notary=simple dev-mode=false\n"
    assert doctor.judge_shape(kept, settings) == []
    assert doctor.judge_shape("", settings) == []
    assert doctor.judge_shape(kept.replace("4.10", "4.9"), settings) == ["corda 4.9, but 4.10 is configured"]
    assert doctor.judge_shape(kept.replace("postgres", "h2").replace("simple", "raft"), settings) == [
        "database h2, but postgres is configured",
        "notary raft, but simple is configured",
    ]


def test_one_error_tells_all_that_is_in_the_way() -> None:
    doctor.require_sound([ok("a", "fine"), Check("b", Level.WARNING, "hm")], shown=lambda _: True)
    failures = [failure("disk", "full", "free some"), failure("port 1", "taken", "stop it")]
    with pytest.raises(LabError) as raised:
        doctor.require_sound(failures, shown=lambda _: True)
    assert raised.value.exit_code == 2
    assert [str(problem) for problem in raised.value.problems] == ["disk: full. free some", "port 1: taken. stop it"]


def test_an_unreadable_process_table_only_means_that_the_owner_is_unknown(
    tmp_path: Path, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doctor.port_owner(taken_port)
    monkeypatch.setattr("psutil.PROCFS_PATH", str(tmp_path))
    assert doctor.port_owner(taken_port) == ""


def test_every_bad_jar_is_a_failure_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.jar", "b.jar"):
        (tmp_path / name).write_bytes(name.encode())
    monkeypatch.setattr(cordapps, "extra_jars", lambda: sorted(tmp_path.glob("*.jar")))
    checks = doctor.check_extra_cordapps(settings_with())
    assert [check.level for check in checks] == [Level.FAILURE] * 2
    assert "b.jar: is not a jar" in checks[1].finding
    (tmp_path / "a.jar").unlink()
    (tmp_path / "b.jar").unlink()
    assert doctor.check_extra_cordapps(settings_with())[0].finding == "none in cordapps/extra/"


@pytest.mark.parametrize(
    ("level", "remedy"), [(Level.OK, ""), (Level.WARNING, "mend"), (Level.FAILURE, "mend"), (Level.UNKNOWN, "ask")]
)
def test_remedy_is_that_of_the_table(level: Level, remedy: str) -> None:
    rows = [Row("any", lambda _: (level, "finding"), "mend", "ask"), Row("none", lambda _: None)]
    assert [check.remedy for check in doctor.run(rows, Examined(settings_with()))] == [remedy]


SETTINGS = load_settings(ENV_FILE, {})


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, ""),
        # Mistakes, which no machine would mend.
        ({"NOTARY": "jpa", "NODE_CORES": "many"}, ""),
        ({"NODE_CORES": "9999"}, "NODE_CORES: 9999 cores are too many; this machine has "),
        ({"NODE_HEAP": "60g", "NODE_MEMORY": "75g"}, "of memory; this machine has 64.0 GiB"),
        ({"NODE_PRESET": "openssl"}, "the preset openssl needs an image of Corda Enterprise (CORDA_IMAGE)"),
        ({"NODE_PRESET": "openssl", "CORDA_IMAGE": "example/enterprise:4.10"}, ""),
    ],
)
def test_what_a_shape_needs_and_the_machine_does_not_have_is_lacking(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], reason: str
) -> None:
    monkeypatch.setattr(machine, "memory_total_bytes", lambda: 64 * GIB)
    reasons = doctor.lacking(SETTINGS.with_values(values))
    assert len(reasons) == bool(reason)
    assert reason in "".join(reasons)


def exposures(settings: Settings) -> list[doctor.Check]:
    return doctor.run(doctor.EXPOSURES, doctor.Examined(settings))


def warnings_of(settings: Settings) -> list[str]:
    return [check.name for check in exposures(settings) if check.level is Level.WARNING]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("3.3", True), ("4.0", True), ("4.5", True), ("4.6", True), ("4.8", True), ("4.9", False), ("4.10", False)],
)
def test_versions_with_log4shell_are_called_out(version: str, expected: bool) -> None:
    settings = settings_with(CORDA_VERSION=version)
    assert warnings_of(settings) == ([f"Corda {version}"] if expected else [])
    own = settings.with_values({"CORDA_IMAGE": "own:1"})
    assert warnings_of(own) == warnings_of(settings)
    findings = [check.finding for check in exposures(own)]
    assert any("does not know whether this image has it" in finding for finding in findings) is expected


def test_an_open_network_is_called_out() -> None:
    assert warnings_of(settings_with(INTERNAL_NETWORK="false")) == ["network"]
    (wrong,) = exposures(settings_with(INTERNAL_NETWORK="no"))
    assert (wrong.level, wrong.finding) == (Level.FAILURE, "INTERNAL_NETWORK: 'no' is neither true nor false")


@pytest.mark.parametrize(
    ("found", "wanted", "removed"),
    [("", "true", 0), ("true", "true", 0), ("false", "false", 0), ("false", "true", 1), ("true", "false", 1)],
)
def test_a_network_of_the_other_kind_is_removed_before_the_start(
    monkeypatch: pytest.MonkeyPatch, found: str, wanted: str, removed: int
) -> None:
    calls: list[tuple[str, ...]] = []

    def answer(*_arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, f"{found}\n", "")

    def record(_self: Compose, *arguments: str, seconds_max: float) -> None:
        calls.append(arguments)

    monkeypatch.setattr(lifecycle, "docker", answer)
    monkeypatch.setattr(Compose, "run", record)
    lifecycle.replace_network(settings_with(INTERNAL_NETWORK=wanted))
    assert calls == [("down", "--remove-orphans")] * removed


@pytest.mark.parametrize(
    ("engine", "loopback", "names"),
    [
        ("20.10.24+dfsg1", True, True),
        ("23.0.10", True, True),
        ("23.0.11", True, False),
        ("24.0.9", True, True),
        ("25.0.3", True, True),
        ("25.0.5", True, False),
        ("26.0.0", True, False),
        ("27.5.1", True, False),
        ("28.0.0", False, False),
        ("29.1.3", False, False),
        ("", False, False),
    ],
)
def test_holes_of_old_engines_are_called_out(engine: str, loopback: bool, names: bool) -> None:
    findings = [check.finding for check in doctor.engine_exposures(engine)]
    assert any("127.0.0.1" in finding for finding in findings) == loopback
    assert any("CVE-2024-29018" in finding for finding in findings) == names
