"""Find the Docker engine, Compose and buildx; on a bare Debian or Ubuntu machine install and start them.

What is already there is only used, never changed or stopped: an engine that the lab started itself is written down in
``.cache/engine.json``, and only that one can be ended by ``stop_engine_if_ours``.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from corda_lab.errors import LabError
from corda_lab.host import debian
from corda_lab.paths import ROOT
from corda_lab.text import ui

CACHE = ROOT / ".cache"
ENGINE_FILE = CACHE / "engine.json"
DOCKERD_LOG = CACHE / "dockerd.log"

COMPOSE_VERSION_MIN = (2, 24, 0)

PLUGIN_DIRECTORY = Path("/usr/local/lib/docker/cli-plugins")
"""Where fetched plugins go: every docker CLI, of any packager and user, looks there, so plain ``docker compose`` works
in any shell; a distribution's packages never write there, so nothing of theirs is overwritten."""

SYSTEMD_MARK = Path("/run/systemd/system")
"""Exists only while systemd runs as the init process, whatever packages are installed."""

DOCKER_PID_FILE = Path("/var/run/docker.pid")
CONTAINERD_PID_FILE = Path("/var/run/docker/containerd/containerd.pid")
CONTAINERD_SOCKETS = (
    Path("/run/containerd/containerd.sock"),
    Path("/var/run/docker/containerd/containerd.sock"),
    Path("/var/run/docker/containerd/containerd-debug.sock"),
)

COMMAND_SECONDS_MAX = 30.0
START_SECONDS_MAX = 60
STOP_SECONDS_MAX = 60
POLL_SECONDS = 0.2


class EngineState(Enum):
    """What answered when the engine was asked for its version."""

    READY = "ready"
    NO_CLIENT = "no client"
    NO_DAEMON = "no daemon"
    NO_PERMISSION = "no permission"
    FAILED = "failed"


@dataclass(frozen=True)
class Probe:
    """An engine's state, with its version when ready and the client's own words when not."""

    state: EngineState
    server_version: str = ""
    detail: str = ""


@dataclass(frozen=True)
class EngineInfo:
    """The engine and its plugins, as `doctor` shows them; a plugin that is missing has an empty version."""

    server_version: str
    compose_version: str
    buildx_version: str
    rootless: bool
    ncpu: int
    mem_total_bytes: int
    root_dir: str


def run_bounded(command: Sequence[str], *, seconds_max: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command quietly; one that hangs counts as failed with status 124 and a word about it on stderr."""
    seconds_max = COMMAND_SECONDS_MAX if seconds_max is None else seconds_max
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds_max,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer within {seconds_max:g} s")


def parse_version(text: str) -> tuple[int, int, int] | None:
    """The first ``major.minor[.patch]`` in ``text``, whatever stands around it (``v2.40.3-desktop.1``)."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def classify_failure(detail: str) -> EngineState:
    """What the docker client's error message means."""
    lower = detail.lower()
    if "permission denied" in lower:
        return EngineState.NO_PERMISSION
    if any(
        sign in lower
        for sign in ("cannot connect", "is the docker daemon running", "error during connect", "failed to connect")
    ):
        return EngineState.NO_DAEMON
    return EngineState.FAILED


def probe() -> Probe:
    """Ask the engine that the docker client would use (``DOCKER_HOST`` and contexts included) for its version."""
    if shutil.which("docker") is None:
        return Probe(EngineState.NO_CLIENT)
    done = run_bounded(["docker", "version", "--format", "{{.Server.Version}}"])
    if done.returncode == 0 and done.stdout.strip():
        return Probe(EngineState.READY, server_version=done.stdout.strip())
    detail = debian.tail(done.stderr or done.stdout, 2)
    return Probe(classify_failure(detail), detail=detail)


def _chosen_endpoint() -> str:
    """The engine that the user pointed the client to, empty for the default one."""
    if host := os.environ.get("DOCKER_HOST"):
        return f"DOCKER_HOST={host}"
    context = run_bounded(["docker", "context", "show"]).stdout.strip() if shutil.which("docker") else ""
    return f"the docker context {context}" if context not in {"", "default"} else ""


def _remedy(state: EngineState) -> str:
    """What to do about an engine that cannot be used, for the platform at hand."""
    if state is EngineState.NO_PERMISSION:
        return (
            "Add yourself to the docker group with `sudo usermod --append --groups docker $USER` and log in again, "
            "or run this command with sudo."
        )
    if sys.platform == "darwin":
        return "Install Docker Desktop, OrbStack or Colima, start it, and run this command again."
    if "microsoft" in os.uname().release.lower():
        return "Start Docker Desktop and switch on its WSL integration for this distribution."
    if debian.can_install():
        return "Run `scripts/lab up`, which installs and starts what is missing, or start dockerd yourself."
    if debian.host_platform().has_apt:
        if state is EngineState.NO_CLIENT:
            return "Run this command as root, or `sudo apt-get install docker.io` yourself."
        return "Run this command as root, or `sudo systemctl start docker` (or `sudo dockerd`) yourself."
    if state is EngineState.NO_CLIENT:
        return "Install Docker Engine with the Compose and buildx plugins from your distribution, then start it."
    return "Start the engine with `sudo systemctl start docker`, and run this command again."


def _problem(found: Probe) -> LabError:
    """The error that a user sees for an engine that cannot be used."""
    messages = {
        EngineState.NO_CLIENT: "There is no Docker on this machine (no docker command on PATH)",
        EngineState.NO_DAEMON: "The Docker engine is not running",
        EngineState.NO_PERMISSION: "You may not use the Docker engine (permission denied on its socket)",
        EngineState.FAILED: f"The Docker engine does not work: {found.detail}",
    }
    return LabError(messages[found.state], _remedy(found.state))


def ensure_engine(*, install: bool | None = None) -> str:
    """Make sure that an engine answers, and return its version.

    Where none does, on Debian or Ubuntu and as root, it is installed (when missing) and started; ``install`` answers
    the question whether that may be done, ``None`` asks a person at the terminal and goes ahead without one.
    Otherwise raises LabError with the remedy for this platform. An engine that the user chose by ``DOCKER_HOST`` or a
    context is never started here.
    """
    found = probe()
    if found.state is EngineState.READY:
        return found.server_version
    endpoint = _chosen_endpoint()
    if endpoint and found.state is not EngineState.NO_CLIENT:
        raise LabError(
            f"The Docker engine of {endpoint} does not answer: {found.detail}",
            "Start that engine, or unset DOCKER_HOST and choose the default context to use this machine's own.",
        )
    startable = not endpoint and found.state in {EngineState.NO_CLIENT, EngineState.NO_DAEMON}
    if not startable or not debian.can_install():
        raise _problem(found)
    missing = _missing_packages()
    action = f"Install {' '.join(missing)} and start dockerd?" if missing else "Start dockerd?"
    if not debian.may_change_system(f"No Docker engine is running here. {action}", install=install):
        raise _problem(found)
    ui.note("no Docker engine is running on this machine")
    if missing:
        _install_engine(missing)
    _start_engine()
    found = probe()
    if found.state is not EngineState.READY:
        raise _problem(found)
    ui.note(f"engine {found.server_version} is running")
    return found.server_version


def _missing_packages() -> list[str]:
    """Debian packages that a working engine needs and this host lacks."""
    packages = [] if shutil.which("dockerd") and shutil.which("docker") else ["docker.io"]
    packages += [] if shutil.which("iptables") else ["iptables"]
    packages += [] if Path("/etc/ssl/certs/ca-certificates.crt").exists() else ["ca-certificates"]
    return packages


def _install_engine(packages: Sequence[str]) -> None:
    debian.apt_install(packages)
    if shutil.which("docker") is None:
        # From Debian 13 on the client is a package of its own, which docker.io only recommends.
        debian.apt_install(["docker-cli"])
    # Where a package's scripts start services without systemd, the engine runs by now, and it does because of us.
    pid = remove_stale_pid_file(DOCKER_PID_FILE, "dockerd")
    if pid is not None:
        _write_engine_file(_process_note(pid))


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


def process_start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None when it does not run (a zombie does not)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold spaces, so fields are counted from behind it: state is the 3rd, start the 22nd.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def process_name(pid: int) -> str:
    """The name of a running process, empty when there is none of this id."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
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
    if pid is not None and process_start_ticks(pid) is not None and process_name(pid) == program:
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
            f"`systemctl start docker` failed: {debian.tail(done.stderr) or 'the engine does not answer'}",
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
        words = debian.tail(log.read().decode(errors="replace"), 3)
    what = f"ended with status {process.returncode}" if ended_or_ready else f"gave no answer in {START_SECONDS_MAX} s"
    raise LabError(f"dockerd {what}: {words}", f"The whole log is in {DOCKERD_LOG}.")


def _process_note(pid: int) -> dict[str, Any]:
    return {"method": "dockerd", "pid": pid, "start_ticks": process_start_ticks(pid), "boot_id": _boot_id()}


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
        start_ticks = process_start_ticks(int(content["pid"]))
        return content if start_ticks is not None and start_ticks == content.get("start_ticks") else None
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
        if not _await(lambda: process_start_ticks(pid) != content["start_ticks"], seconds_max=STOP_SECONDS_MAX):
            raise LabError(
                f"dockerd (process {pid}) did not stop within {STOP_SECONDS_MAX} s", f"See its log, {DOCKERD_LOG}."
            )
    ENGINE_FILE.unlink(missing_ok=True)
    return True


def _plugin_version(plugin: str) -> str:
    """The version of a client plugin, empty when it is missing or broken."""
    if shutil.which("docker") is None:
        return ""
    done = run_bounded(["docker", plugin, "version"])
    version = parse_version(done.stdout) if done.returncode == 0 else None
    return ".".join(map(str, version)) if version else ""


def missing_plugins(compose_version: str, buildx_version: str) -> list[str]:
    """Which plugins have to be fetched: Compose when it is missing or too old, buildx when it is missing."""
    parsed = parse_version(compose_version)
    missing = ["compose"] if parsed is None or parsed < COMPOSE_VERSION_MIN else []
    return missing + ([] if parse_version(buildx_version) else ["buildx"])


def ensure_compose(*, install: bool | None = None) -> str:
    """Make sure that ``docker compose`` (2.24 or newer) and ``docker buildx`` work, and return Compose's version.

    On Debian or Ubuntu and as root, what is missing is fetched from the distribution's packages, asking as
    ``ensure_engine`` does. Otherwise raises LabError with a remedy. With all in place it only asks for the versions.
    """
    compose_version, buildx_version = _plugin_version("compose"), _plugin_version("buildx")
    missing = missing_plugins(compose_version, buildx_version)
    if not missing:
        return compose_version
    minimum = ".".join(map(str, COMPOSE_VERSION_MIN))
    problem = LabError(
        f"Docker lacks {' and '.join(missing)} (Compose {compose_version or 'missing'}, at least {minimum} is needed; "
        f"buildx {buildx_version or 'missing'})",
        "Install the packages docker-compose-plugin and docker-buildx-plugin, update Docker Desktop, "
        "or run this command as root on Debian or Ubuntu.",
    )
    if not debian.can_install():
        raise problem
    if not debian.may_change_system(f"Fetch docker {' and '.join(missing)} from the distribution?", install=install):
        raise problem
    if debian.host_platform().is_debian:
        _fetch_plugins_from_sid(missing)
    else:
        names = {"compose": "docker-compose-v2", "buildx": "docker-buildx"}
        debian.apt_install(names[plugin] for plugin in missing)
    compose_version, buildx_version = _plugin_version("compose"), _plugin_version("buildx")
    if missing_plugins(compose_version, buildx_version):
        raise problem
    ui.note(f"compose {compose_version} and buildx {buildx_version} are there")
    return compose_version


def _fetch_plugins_from_sid(plugins: Sequence[str]) -> None:
    """Put Debian sid's plugins, which are self-contained programs, where every docker client finds them.

    A stable Debian's own packages are the dead Compose v1 or too old.
    """
    ui.note(f"fetching {' and '.join(plugins)} from Debian sid")
    with tempfile.TemporaryDirectory(prefix="corda-lab-apt-") as directory:
        unpacked = debian.unpack_from_sid([f"docker-{plugin}" for plugin in plugins], Path(directory))
        PLUGIN_DIRECTORY.mkdir(parents=True, exist_ok=True)
        for plugin in plugins:
            name = f"docker-{plugin}"
            programs = [path for path in unpacked.rglob(name) if path.is_file() and not path.is_symlink()]
            program = max(programs, key=lambda path: path.stat().st_size, default=None)
            if program is None:
                raise LabError(
                    f"Debian sid's package {name} holds no such program", "Install Docker's own plugin packages."
                )
            staged = PLUGIN_DIRECTORY / f".{name}.new"
            shutil.copyfile(program, staged)
            staged.chmod(0o755)
            staged.replace(PLUGIN_DIRECTORY / name)


def engine_info() -> EngineInfo:
    """Facts about the running engine and its plugins. Raises LabError when no engine answers."""
    found = probe()
    if found.state is not EngineState.READY:
        raise _problem(found)
    done = run_bounded(["docker", "info", "--format", "{{json .}}"])
    try:
        facts = json.loads(done.stdout)
    except ValueError:
        raise LabError(f"`docker info` gave no facts: {debian.tail(done.stderr)}", "Run it by hand.") from None
    return parse_info(facts, compose_version=_plugin_version("compose"), buildx_version=_plugin_version("buildx"))


def parse_info(facts: dict[str, Any], *, compose_version: str, buildx_version: str) -> EngineInfo:
    """Pick our facts from the JSON of ``docker info``."""
    return EngineInfo(
        server_version=str(facts.get("ServerVersion", "")),
        compose_version=compose_version,
        buildx_version=buildx_version,
        rootless=any("name=rootless" in option for option in facts.get("SecurityOptions") or ()),
        ncpu=int(facts.get("NCPU", 0)),
        mem_total_bytes=int(facts.get("MemTotal", 0)),
        root_dir=str(facts.get("DockerRootDir", "")),
    )
