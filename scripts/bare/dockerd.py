"""Starts a Docker engine on a machine that has none running, and stops the engine that it started."""

import contextlib
import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from bare.commands import CACHE, ROOT, PreparationError, come_true, last_words, note, run, write_whole

ENGINE_FILE = CACHE / "engine.json"
DOCKERD_LOG = CACHE / "dockerd.log"

SYSTEMD_MARK = Path("/run/systemd/system")
"""Exists only if systemd is running as the init process, whichever packages are installed."""

DOCKER_PID_FILE = Path("/var/run/docker.pid")
CONTAINERD_PID_FILE = Path("/var/run/docker/containerd/containerd.pid")

CONTAINERD_SOCKETS = (
    Path("/run/containerd/containerd.sock"),
    Path("/var/run/docker/containerd/containerd.sock"),
    Path("/var/run/docker/containerd/containerd-debug.sock"),
)

START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60


def engine_version() -> str:
    """Return the version of the engine that the docker client uses; empty if none answers."""
    done = run(["docker", "version", "--format", "{{.Server.Version}}"])
    return done.stdout.strip() if done.returncode == 0 else ""


def chosen_endpoint() -> str:
    """Return the engine that the user selected by DOCKER_HOST or a context; empty for the default engine."""
    if host := os.environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST={host}"
    context = run(["docker", "context", "show"]).stdout.strip()
    return f"the docker context {context}" if context not in {"", "default"} else ""


def process_start(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot; None if it is not running (a zombie is not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name before it is in parentheses, and may contain any character.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def process_name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


def read_pid(pid_file: Path) -> int | None:
    """Return the process id in a pid file; None if the file is missing or contains no number."""
    try:
        return int(pid_file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None


def remove_stale_pid_file(pid_file: Path, program: str) -> int | None:
    """Return the id of the running ``program`` that owns ``pid_file``. If there is none, delete the file.

    After a crash or a reboot, the id may belong to another process or to none. dockerd refuses to start while the file
    names any running process.
    """
    pid = read_pid(pid_file)
    if pid is not None and process_start(pid) is not None and process_name(pid) == program:
        return pid
    pid_file.unlink(missing_ok=True)
    return None


def remove_dead_socket(path: Path) -> bool:
    """Delete a Unix socket on which no process listens, because dockerd would wait for it. Return whether it did."""
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


def start_engine() -> None:
    """Start the engine, or wait for an engine that is already starting. Record an engine that was started here."""
    if SYSTEMD_MARK.is_dir():
        _start_with_systemd()
        return
    running = remove_stale_pid_file(DOCKER_PID_FILE, "dockerd")
    if running is None:
        _start_dockerd()
        return
    note(f"dockerd is already starting (process {running})")
    if not come_true(engine_version, seconds_max=START_SECONDS_MAX):
        raise PreparationError(
            f"dockerd (process {running}) is running, but did not answer within {START_SECONDS_MAX} s",
            "Check its log, stop it and run this command again.",
        )


def _start_with_systemd() -> None:
    done = run(["systemctl", "start", "docker"], seconds_max=START_SECONDS_MAX)
    if done.returncode != 0 or not come_true(engine_version, seconds_max=START_SECONDS_MAX):
        raise PreparationError(
            f"`systemctl start docker` failed: {last_words(done.stderr) or 'the engine does not answer'}",
            "See `journalctl --unit docker`.",
        )
    _note_engine({"method": "systemd", "boot_id": _boot_id()})


def _start_dockerd() -> None:
    """Start dockerd in its own session, so that it keeps running after this command and its terminal have ended."""
    remove_stale_pid_file(CONTAINERD_PID_FILE, "containerd")
    for path in CONTAINERD_SOCKETS:
        if remove_dead_socket(path):
            note(f"deleted {path}, which an earlier engine left behind")
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
    note(f"started dockerd (process {process.pid}, log in {DOCKERD_LOG.relative_to(ROOT)})")
    note_process(process.pid)
    ended_or_ready = come_true(lambda: process.poll() is not None or engine_version(), seconds_max=START_SECONDS_MAX)
    if ended_or_ready and process.poll() is None:
        return
    stop_engine_if_ours()
    with DOCKERD_LOG.open("rb") as log:
        log.seek(log_start)
        words = last_words(log.read().decode(errors="replace"), 3)
    what = f"ended with status {process.returncode}" if ended_or_ready else f"did not answer in {START_SECONDS_MAX} s"
    raise PreparationError(f"dockerd {what}: {words}", f"The whole log is in {DOCKERD_LOG}.")


def note_process(pid: int) -> None:
    """Record that the lab started this engine process."""
    _note_engine({"method": "dockerd", "pid": pid, "started": process_start(pid), "boot_id": _boot_id()})


def _note_engine(content: dict[str, Any]) -> None:
    write_whole(ENGINE_FILE, json.dumps(content, indent=2) + "\n")


def started_by_us() -> dict[str, Any] | None:
    """Return the record of the engine that the lab started, if that engine is still running; otherwise None.

    Process ids are reused. So a process counts as the same only if its start time and the boot also match.
    """
    try:
        content: dict[str, Any] = json.loads(ENGINE_FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if content.get("boot_id") != _boot_id():
        return None
    if content.get("method") == "dockerd":
        started = process_start(int(content["pid"]))
        return content if started is not None and started == content.get("started") else None
    return content


def stop_engine_if_ours() -> bool:
    """Stop the engine that ``start_engine`` started, and no other. Return whether there was one.

    Raises PreparationError.
    """
    content = started_by_us()
    if content is None:
        ENGINE_FILE.unlink(missing_ok=True)
        return False
    if content["method"] == "systemd":
        # Also stop the socket unit, which would start the engine again at the next request.
        run(["systemctl", "stop", "docker.socket", "docker.service"], seconds_max=STOP_SECONDS_MAX)
    else:
        pid = int(content["pid"])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        if not come_true(lambda: process_start(pid) != content["started"], seconds_max=STOP_SECONDS_MAX):
            raise PreparationError(
                f"dockerd (process {pid}) did not stop within {STOP_SECONDS_MAX} s", f"See its log, {DOCKERD_LOG}."
            )
    ENGINE_FILE.unlink(missing_ok=True)
    return True
