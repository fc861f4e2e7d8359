"""Only an engine of our own is ever stopped, and what a dead engine has left behind is in nobody's way."""

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

from bare import dockerd


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


@pytest.mark.parametrize("state", ["runs", "is another program", "has ended", "no number", "empty", "absent"])
def test_only_the_pid_file_of_a_program_that_runs_is_kept(
    tmp_path: Path, child: subprocess.Popen[bytes], state: str
) -> None:
    """After a crash or a reboot, its number may be that of another process."""
    pid_file, name = tmp_path / "docker.pid", dockerd.process_name(child.pid)
    if state == "has ended":
        child.kill()
        child.wait()
    if state != "absent":
        pid_file.write_text({"no number": "not a number", "empty": ""}.get(state, f"{child.pid}\n"), encoding="utf-8")
    found = dockerd.remove_stale_pid_file(pid_file, "dockerd" if state == "is another program" else name)
    assert found == (child.pid if state == "runs" else None)
    assert pid_file.exists() == (state == "runs")


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
    return {"method": "dockerd", "pid": pid, "started": dockerd.process_start(pid), "boot_id": boot_id}


def test_our_own_engine_is_stopped(engine_file: Path, child: subprocess.Popen[bytes]) -> None:
    engine_file.write_text(json.dumps(own_note(child.pid)), encoding="utf-8")
    assert dockerd.started_by_us() is not None
    assert dockerd.stop_engine_if_ours()
    assert child.wait() == -signal.SIGTERM
    assert not engine_file.exists()
    assert not dockerd.stop_engine_if_ours()


@pytest.mark.parametrize("difference", [{"started": 1}, {"boot_id": "another boot"}])
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
    started = dockerd.process_start(os.getpid())
    assert started is not None
    assert 0 <= time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK") < 24 * 3600


def test_a_zombie_does_not_run(child: subprocess.Popen[bytes]) -> None:
    assert dockerd.process_start(child.pid) is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert dockerd.process_start(child.pid) is None
