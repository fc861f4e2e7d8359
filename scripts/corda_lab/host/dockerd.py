"""Start and stop the Docker engine on a machine where none runs."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from corda_lab.errors import LabError
from corda_lab.host import processes
from corda_lab.host.probe import EngineState, probe
from corda_lab.host.processes import run_bounded
from corda_lab.paths import CACHE, ROOT
from corda_lab.text import ui

ENGINE_FILE = CACHE / "engine.json"


DOCKERD_LOG = CACHE / "dockerd.log"


SYSTEMD_MARK = Path("/run/systemd/system")
"""Exists only while systemd runs as the init process, whatever packages are installed."""


DOCKER_PID_FILE = Path("/var/run/docker.pid")


CONTAINERD_PID_FILE = Path("/var/run/docker/containerd/containerd.pid")


CONTAINERD_SOCKETS = (
    Path("/run/containerd/containerd.sock"),
    Path("/var/run/docker/containerd/containerd.sock"),
    Path("/var/run/docker/containerd/containerd-debug.sock"),
)


START_SECONDS_MAX = 60


STOP_SECONDS_MAX = 60


POLL_SECONDS = 0.2


def _await(condition: Callable[[], bool], *, seconds_max: float) -> bool:
    """Poll ``condition`` until it holds; False when it did not within the time."""
    deadline = time.monotonic() + seconds_max
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _is_ready() -> bool:
    return probe().state is EngineState.READY


def process_start_seconds(pid: int) -> float | None:
    """When a process started, in seconds since boot; None when it does not run (a zombie does not)."""
    try:
        process = psutil.Process(pid)
        if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
            return None
        # Since boot, because the clock may be set while the process runs: both times then move alike.
        return round(process.create_time() - psutil.boot_time(), 2)
    except (psutil.Error, ValueError):
        return None


def process_name(pid: int) -> str:
    """The name of a running process, empty when there is none of this id."""
    try:
        return psutil.Process(pid).name()
    except (psutil.Error, ValueError):
        return ""


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def read_pid(pid_file: Path) -> int | None:
    """The process id in a pid file; None when there is no file or no number in it."""
    try:
        return int(pid_file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None


def remove_stale_pid_file(pid_file: Path, program: str) -> int | None:
    """Return the id of the running ``program`` that owns ``pid_file``; delete the file when there is none.

    After a crash or a reboot the id may belong to another process or to nobody, and dockerd refuses to start as long
    as the file names any process at all.
    """
    pid = read_pid(pid_file)
    if pid is not None and process_start_seconds(pid) is not None and process_name(pid) == program:
        return pid
    pid_file.unlink(missing_ok=True)
    return None


def remove_dead_socket(path: Path) -> bool:
    """Delete a unix socket that nobody listens on; dockerd would wait for it in vain. True when it was deleted."""
    if not path.is_socket():
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(2)
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return True
        except OSError:
            return False
    return False


def _start_engine() -> None:
    """Start the engine, or wait for one that is just starting, and write down what we started."""
    if SYSTEMD_MARK.is_dir():
        _start_with_systemd()
        return
    running = remove_stale_pid_file(DOCKER_PID_FILE, "dockerd")
    if running is None:
        _start_dockerd()
        return
    ui.note(f"dockerd is already starting (process {running})")
    if not _await(_is_ready, seconds_max=START_SECONDS_MAX):
        raise LabError(
            f"dockerd (process {running}) runs but did not answer within {START_SECONDS_MAX} s",
            "Look into its log, end it, and run this command again.",
        )


def _start_with_systemd() -> None:
    done = run_bounded(["systemctl", "start", "docker"], seconds_max=START_SECONDS_MAX)
    if done.returncode != 0 or not _await(_is_ready, seconds_max=START_SECONDS_MAX):
        raise LabError(
            f"`systemctl start docker` failed: {processes.last_words(done.stderr) or 'the engine does not answer'}",
            "See `journalctl --unit docker` for the cause.",
        )
    _write_engine_file({"method": "systemd", "boot_id": _boot_id()})


def _start_dockerd() -> None:
    """Start dockerd in a session of its own, so that it outlives this command and its terminal."""
    remove_stale_pid_file(CONTAINERD_PID_FILE, "containerd")
    for path in CONTAINERD_SOCKETS:
        if remove_dead_socket(path):
            ui.note(f"removed {path}, left behind by an engine that ended")
    CACHE.mkdir(parents=True, exist_ok=True)
    with DOCKERD_LOG.open("ab") as log:
        log_start = log.tell()
        process = subprocess.Popen(
            ["dockerd"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd="/",
        )
    ui.note(f"started dockerd (process {process.pid}, log in {DOCKERD_LOG.relative_to(ROOT)})")
    _write_engine_file(_process_note(process.pid))
    ended_or_ready = _await(lambda: process.poll() is not None or _is_ready(), seconds_max=START_SECONDS_MAX)
    if ended_or_ready and process.poll() is None:
        return
    stop_engine_if_ours()
    with DOCKERD_LOG.open("rb") as log:
        log.seek(log_start)
        words = processes.last_words(log.read().decode(errors="replace"), 3)
    what = f"ended with status {process.returncode}" if ended_or_ready else f"gave no answer in {START_SECONDS_MAX} s"
    raise LabError(f"dockerd {what}: {words}", f"The whole log is in {DOCKERD_LOG}.")


def _process_note(pid: int) -> dict[str, Any]:
    return {"method": "dockerd", "pid": pid, "start_seconds": process_start_seconds(pid), "boot_id": _boot_id()}


def _write_engine_file(content: dict[str, Any]) -> None:
    """Write the note about our engine whole or not at all."""
    ENGINE_FILE.parent.mkdir(parents=True, exist_ok=True)
    staged = ENGINE_FILE.with_suffix(".new")
    staged.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    staged.replace(ENGINE_FILE)


def started_by_us() -> dict[str, Any] | None:
    """The note about the engine that the lab started, when that very engine still runs; None otherwise.

    A process counts as the same only with its start time and within one boot, since ids are used again.
    """
    try:
        content: dict[str, Any] = json.loads(ENGINE_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if content.get("boot_id") != _boot_id():
        return None
    if content.get("method") == "dockerd":
        start_seconds = process_start_seconds(int(content["pid"]))
        return content if start_seconds is not None and start_seconds == content.get("start_seconds") else None
    return content


def stop_engine_if_ours() -> bool:
    """Stop the engine that ``ensure_engine`` started, and only that one. True when there was one to stop."""
    content = started_by_us()
    if content is None:
        ENGINE_FILE.unlink(missing_ok=True)
        return False
    if content["method"] == "systemd":
        # The socket unit would start the engine again at the next request.
        run_bounded(["systemctl", "stop", "docker.socket", "docker.service"], seconds_max=STOP_SECONDS_MAX)
    else:
        pid = int(content["pid"])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if not _await(lambda: process_start_seconds(pid) != content["start_seconds"], seconds_max=STOP_SECONDS_MAX):
            raise LabError(
                f"dockerd (process {pid}) did not stop within {STOP_SECONDS_MAX} s", f"See its log, {DOCKERD_LOG}."
            )
    ENGINE_FILE.unlink(missing_ok=True)
    return True
