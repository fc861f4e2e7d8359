"""What answers when the Docker engine is asked, and what its client and plugins are."""

import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

from packaging.version import Version

from corda_lab.errors import LabError
from corda_lab.host import debian, processes
from corda_lab.host.processes import run_bounded


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


def parse_version(text: str) -> Version | None:
    """The first ``major.minor[.patch]`` in ``text``. What packagers add to it (``v2.40.3-desktop.1``) is left out."""
    match = re.search(r"\d+\.\d+(\.\d+)?", text)
    return Version(match[0]) if match else None


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
    detail = processes.last_words(done.stderr or done.stdout, 2)
    return Probe(classify_failure(detail), detail=detail)


def chosen_endpoint() -> str:
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


def problem(found: Probe) -> LabError:
    """The error that a user sees for an engine that cannot be used."""
    messages = {
        EngineState.NO_CLIENT: "There is no Docker on this machine (no docker command on PATH)",
        EngineState.NO_DAEMON: "The Docker engine is not running",
        EngineState.NO_PERMISSION: "You may not use the Docker engine (permission denied on its socket)",
        EngineState.FAILED: f"The Docker engine does not work: {found.detail}",
    }
    return LabError(messages[found.state], _remedy(found.state))


def plugin_version(plugin: str) -> str:
    """The version of a client plugin, empty when it is missing or broken."""
    if shutil.which("docker") is None:
        return ""
    done = run_bounded(["docker", plugin, "version"])
    version = parse_version(done.stdout) if done.returncode == 0 else None
    return str(version) if version else ""


def engine_info() -> EngineInfo:
    """Facts about the running engine and its plugins. Raises LabError when no engine answers."""
    found = probe()
    if found.state is not EngineState.READY:
        raise problem(found)
    done = run_bounded(["docker", "info", "--format", "{{json .}}"])
    try:
        facts = json.loads(done.stdout)
    except ValueError:
        raise LabError(f"`docker info` gave no facts: {processes.last_words(done.stderr)}", "Run it by hand.") from None
    return parse_info(facts, compose_version=plugin_version("compose"), buildx_version=plugin_version("buildx"))


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
