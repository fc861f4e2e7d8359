"""What is concluded from a docker client's answers, and that only an engine of our own is ever stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version

from corda_lab.errors import LabError
from corda_lab.host import consent, debian, dockerd, engine, plugins, probe, processes
from corda_lab.host.probe import EngineState
from support.docker import docker_client


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has started, and so has its final name, and runs until it is ended."""
    program = "print('started', flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def engine_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "engine.json"
    monkeypatch.setattr(dockerd, "ENGINE_FILE", path)
    return path


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Docker Compose version v2.24.5-desktop.1", "2.24.5"),
        ("Docker Compose version 2.40.3-3", "2.40.3"),
        ("github.com/docker/buildx 0.29.1 0.29.1+ds1-1", "0.29.1"),
        ("20.10.24+dfsg1", "20.10.24"),
        ("2.24", "2.24.0"),
        ("", None),
        ("dev", None),
    ],
)
def test_versions_are_read_as_packagers_write_them(text: str, version: str | None) -> None:
    assert probe.parse_version(text) == (None if version is None else Version(version))


@pytest.mark.parametrize(
    ("compose", "buildx", "missing"),
    [
        ("2.24.0", "0.12.0", []),
        ("2.23.9", "0.12.0", ["compose"]),
        ("1.29.2", "", ["compose", "buildx"]),
        ("", "0.29.1", ["compose"]),
        ("2.100.0", "", ["buildx"]),
    ],
)
def test_plugins_that_are_missing_or_too_old_are_named(compose: str, buildx: str, missing: list[str]) -> None:
    assert plugins.missing_plugins(compose, buildx) == missing


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            "no daemon",
        ),
        (
            "failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct",
            "no daemon",
        ),
        ("error during connect: Get http://desktop/v1.47/version: EOF", "no daemon"),
        ("permission denied while trying to connect to the Docker daemon socket at unix:///x", "no permission"),
        ("Error response from daemon: client version 1.52 is too new. Maximum supported API version is 1.41", "failed"),
    ],
)
def test_failures_of_the_client_are_told_apart(words: str, state: str) -> None:
    assert probe.classify_failure(words) is EngineState(state)


def test_missing_client_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert probe.probe().state is EngineState.NO_CLIENT


def test_running_engine_gives_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 20.10.24+dfsg1")
    assert probe.probe() == probe.Probe(EngineState.READY, "20.10.24+dfsg1")
    assert engine.ensure_engine(install=False) == "20.10.24+dfsg1"


def test_engine_that_hangs_counts_as_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "exec /bin/sleep 60")
    monkeypatch.setattr(processes, "COMMAND_SECONDS_MAX", 0.2)
    found = probe.probe()
    assert found.state is EngineState.FAILED
    assert "no answer" in found.detail


def test_no_permission_is_a_clear_error_and_installs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'permission denied while trying to connect' >&2; exit 1")
    monkeypatch.setattr(debian, "can_install", lambda: True)
    with pytest.raises(LabError, match="no permission to use the Docker engine") as caught:
        engine.ensure_engine()
    assert "docker group" in caught.value.remedy


def test_stopped_engine_stays_stopped_when_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'Is the docker daemon running?' >&2; exit 1")
    with pytest.raises(LabError, match="engine is not running") as caught:
        engine.ensure_engine(install=False)
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_engine_chosen_by_the_user_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    monkeypatch.setenv("DOCKER_HOST", "tcp://remote.example:2376")
    monkeypatch.setattr(debian, "can_install", lambda: True)
    with pytest.raises(LabError, match=r"DOCKER_HOST=tcp://remote\.example:2376"):
        engine.ensure_engine()


def test_missing_compose_is_a_clear_error_where_it_may_not_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker_client(tmp_path, monkeypatch, 'test "$1" = buildx && echo 0.29.1')
    with pytest.raises(LabError, match=r"missing or too old: compose .*2\.24\.0") as caught:
        plugins.ensure_compose(install=False)
    assert "docker-compose-plugin" in caught.value.remedy


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was changed on a machine where the lab could change everything, but the user has refused."""
    made: list[str] = []
    monkeypatch.setattr(debian, "can_install", lambda: True)
    monkeypatch.setattr(debian, "apt_install", lambda packages: made.append(f"installed {' '.join(packages)}"))
    monkeypatch.setattr(engine, "start_engine", lambda: made.append("started dockerd"))
    monkeypatch.setattr(plugins, "_fetch_plugins_from_sid", lambda names: made.append(f"fetched {' '.join(names)}"))
    monkeypatch.setenv(consent.VARIABLE, consent.NO)
    return made


@pytest.mark.parametrize(
    ("missing", "action"),
    [([], "start dockerd as root"), (["docker.io", "iptables"], "install docker.io iptables with apt-get and start")],
)
def test_engine_is_neither_installed_nor_started_without_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], missing: list[str], action: str
) -> None:
    docker_client(tmp_path, monkeypatch, "echo 'Is the docker daemon running?' >&2; exit 1")
    monkeypatch.setattr(engine, "_missing_packages", lambda: missing)
    with pytest.raises(LabError, match=f"The lab would have to {action}.* says no. Nothing was changed") as caught:
        engine.ensure_engine()
    assert "LAB_INSTALL=yes" in caught.value.remedy
    assert changes == []


def test_plugins_are_not_fetched_without_consent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str]
) -> None:
    docker_client(tmp_path, monkeypatch, "exit 1")
    with pytest.raises(
        LabError, match="The lab would have to install Docker's compose and buildx, for all users, from"
    ):
        plugins.ensure_compose()
    assert changes == []


def test_pid_file_of_a_running_program_is_kept(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    pid_file = tmp_path / "docker.pid"
    pid_file.write_text(f"{child.pid}\n", encoding="utf-8")
    assert dockerd.remove_stale_pid_file(pid_file, dockerd.process_name(child.pid)) == child.pid
    assert pid_file.exists()


def test_pid_file_whose_number_another_program_has_is_removed(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    pid_file = tmp_path / "docker.pid"
    pid_file.write_text(str(child.pid), encoding="utf-8")
    assert dockerd.remove_stale_pid_file(pid_file, "dockerd") is None
    assert not pid_file.exists()


def test_pid_file_of_an_ended_program_is_removed(tmp_path: Path, child: subprocess.Popen[bytes]) -> None:
    name = dockerd.process_name(child.pid)
    child.kill()
    child.wait()
    pid_file = tmp_path / "docker.pid"
    pid_file.write_text(str(child.pid), encoding="utf-8")
    assert dockerd.remove_stale_pid_file(pid_file, name) is None
    assert not pid_file.exists()


@pytest.mark.parametrize("content", [None, "", "not a number"])
def test_pid_file_without_a_number_names_no_process(tmp_path: Path, content: str | None) -> None:
    pid_file = tmp_path / "docker.pid"
    if content is not None:
        pid_file.write_text(content, encoding="utf-8")
    assert dockerd.remove_stale_pid_file(pid_file, "dockerd") is None
    assert not pid_file.exists()


def test_socket_without_a_listener_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
    assert dockerd.remove_dead_socket(path)
    assert not path.exists()


def test_socket_with_a_listener_and_other_files_are_kept(tmp_path: Path) -> None:
    live, plain = tmp_path / "live.sock", tmp_path / "plain"
    plain.touch()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(live))
        server.listen()
        assert not dockerd.remove_dead_socket(live)
    assert not dockerd.remove_dead_socket(plain)
    assert not dockerd.remove_dead_socket(tmp_path / "absent")
    assert live.exists()
    assert plain.exists()


def own_note(pid: int) -> dict[str, object]:
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    return {"method": "dockerd", "pid": pid, "start_seconds": dockerd.process_start_seconds(pid), "boot_id": boot_id}


def test_our_own_engine_is_stopped(engine_file: Path, child: subprocess.Popen[bytes]) -> None:
    engine_file.write_text(json.dumps(own_note(child.pid)), encoding="utf-8")
    assert dockerd.started_by_us() is not None
    assert dockerd.stop_engine_if_ours()
    assert child.wait() == -signal.SIGTERM
    assert not engine_file.exists()
    assert not dockerd.stop_engine_if_ours()


@pytest.mark.parametrize("difference", [{"start_seconds": 1}, {"boot_id": "another boot"}])
def test_process_that_only_has_the_same_number_is_left_alone(
    engine_file: Path, child: subprocess.Popen[bytes], difference: dict[str, object]
) -> None:
    engine_file.write_text(json.dumps({**own_note(child.pid), **difference}), encoding="utf-8")
    assert not dockerd.stop_engine_if_ours()
    assert child.poll() is None
    assert not engine_file.exists()


@pytest.mark.parametrize("content", [None, "", "{"])
def test_without_a_readable_note_no_engine_is_ours(engine_file: Path, content: str | None) -> None:
    if content is not None:
        engine_file.write_text(content, encoding="utf-8")
    assert dockerd.started_by_us() is None


def test_process_start_is_read_of_this_very_process() -> None:
    started = dockerd.process_start_seconds(os.getpid())
    assert started is not None
    assert 0 <= time.clock_gettime(time.CLOCK_BOOTTIME) - started < 24 * 3600


def test_a_zombie_does_not_run(child: subprocess.Popen[bytes]) -> None:
    assert dockerd.process_start_seconds(child.pid) is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert dockerd.process_start_seconds(child.pid) is None


def test_facts_are_taken_from_docker_info() -> None:
    facts = {
        "ServerVersion": "27.1.1",
        "MemTotal": 8 * 2**30,
        "DockerRootDir": "/home/u/.local/share/docker",
    }
    info = probe.parse_info(facts, compose_version="2.40.3", buildx_version="0.29.1")
    assert info == probe.EngineInfo("27.1.1", "2.40.3", "0.29.1", 8 * 2**30, "/home/u/.local/share/docker")
