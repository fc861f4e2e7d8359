"""The Docker engine and its plugins: what they are, and what ``scripts/bare`` provides where they are missing.

An existing engine is only used; it is never changed or stopped.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from packaging.version import Version

from bare import debian, dockerd, plugins, prepare
from bare.commands import PreparationError, alone, last_words, run
from corda_lab.errors import LabError


class EngineState(Enum):
    READY = "ready"
    NO_CLIENT = "no client"
    NO_DAEMON = "no daemon"
    NO_PERMISSION = "no permission"
    FAILED = "failed"


@dataclass(frozen=True)
class Probe:
    """The state of an engine, with its version if it is ready, or else the client's error message."""

    state: EngineState
    server_version: str = ""
    detail: str = ""


@dataclass(frozen=True)
class EngineInfo:
    """Facts about the engine: its memory in bytes, and the folder in which it keeps everything."""

    server_version: str
    mem_total_bytes: int
    root_dir: str


def parse_version(text: str) -> Version | None:
    """Return the first ``major.minor[.patch]`` in ``text``, without a packager's suffix (``v2.40.3-desktop.1``)."""
    match = re.search(r"\d+\.\d+(\.\d+)?", text)
    return Version(match[0]) if match else None


def classify_failure(detail: str) -> EngineState:
    """Return the state that a docker client's error message stands for."""
    lower = detail.lower()
    if "permission denied" in lower:
        return EngineState.NO_PERMISSION
    signs = ("cannot connect", "is the docker daemon running", "error during connect", "failed to connect")
    return EngineState.NO_DAEMON if any(sign in lower for sign in signs) else EngineState.FAILED


def probe() -> Probe:
    """Ask the engine for its version. It is the engine that the docker client uses, by ``DOCKER_HOST`` or context."""
    if shutil.which("docker") is None:
        return Probe(EngineState.NO_CLIENT)
    done = run(["docker", "version", "--format", "{{.Server.Version}}"])
    if done.returncode == 0 and done.stdout.strip():
        return Probe(EngineState.READY, server_version=done.stdout.strip())
    detail = last_words(done.stderr or done.stdout, 2)
    return Probe(classify_failure(detail), detail=detail)


def _remedy(state: EngineState) -> str:
    if state is EngineState.NO_PERMISSION:
        return (
            "Add yourself to the docker group with `sudo usermod --append --groups docker $USER` and log in again, "
            "or run this command with sudo."
        )
    if sys.platform == "darwin":
        return "Install Docker Desktop, OrbStack or Colima, start it, and run this command again."
    if "microsoft" in os.uname().release.lower():
        return "Start Docker Desktop and enable its WSL integration for this distribution."
    if debian.can_install():
        return "Run `scripts/lab up`, which installs and starts what is missing if you agree, or start dockerd."
    if debian.has_apt():
        if state is EngineState.NO_CLIENT:
            return "Run this command as root, or run `sudo apt-get install docker.io` first."
        return "Run this command as root, or run `sudo systemctl start docker` (or `sudo dockerd`) first."
    if state is EngineState.NO_CLIENT:
        return "Install Docker Engine with the Compose and buildx plugins from your distribution, then start it."
    return "Start the engine with `sudo systemctl start docker`, and run this command again."


def problem(probed: Probe) -> LabError:
    messages = {
        EngineState.NO_CLIENT: "Docker is not installed (no docker command on PATH)",
        EngineState.NO_DAEMON: "The Docker engine is not running",
        EngineState.NO_PERMISSION: "You have no permission to use the Docker engine (its socket denies access)",
        EngineState.FAILED: f"The Docker engine does not work: {probed.detail}",
    }
    return LabError(messages[probed.state], _remedy(probed.state))


def require() -> str:
    """Return the version of the engine. Raises LabError, with the remedy for this platform, if none answers."""
    probed = probe()
    if probed.state is not EngineState.READY:
        raise problem(probed)
    return probed.server_version


def engine_info() -> EngineInfo:
    """Return facts about the running engine. Raises LabError if no engine answers."""
    require()
    done = run(["docker", "info", "--format", "{{json .}}"])
    try:
        facts = json.loads(done.stdout)
    except ValueError:
        words = last_words(done.stderr)
        raise LabError(f"`docker info` printed no JSON: {words}", "Run it by hand to see its output.") from None
    return EngineInfo(facts["ServerVersion"], facts["MemTotal"], facts["DockerRootDir"])


@contextmanager
def _lab_errors() -> Iterator[None]:
    try:
        yield
    except PreparationError as error:
        raise LabError(error.message, error.remedy) from None


@contextmanager
def prepared_alone() -> Iterator[None]:
    """Wait until no other command prepares this machine, and prepare it in the block. Raises LabError."""
    with _lab_errors(), alone():
        yield


def ensure_engine(*, install: bool = True) -> str:
    """Make sure that an engine answers, and return its version. Raises LabError with the remedy for this platform.

    If none answers, on Debian or Ubuntu and as root, it is installed and started after the user has agreed. With
    ``install=False``, nothing is changed. An engine that the user chose by ``DOCKER_HOST`` or a context is not started.
    """
    probed = probe()
    if probed.state is EngineState.READY:
        return probed.server_version
    endpoint = dockerd.chosen_endpoint()
    if endpoint and probed.state is not EngineState.NO_CLIENT:
        raise LabError(
            f"The Docker engine of {endpoint} does not answer: {probed.detail}",
            "Start that engine. To use this machine's engine, unset DOCKER_HOST and select the default context.",
        )
    startable = not endpoint and probed.state in {EngineState.NO_CLIENT, EngineState.NO_DAEMON}
    if not install or not startable or not debian.can_install():
        raise problem(probed)
    with _lab_errors():
        prepare.engine()
    return require()


def ensure_compose(*, install: bool = True) -> str:
    """Make sure that the plugins Compose and buildx work, and return Compose's version. Raises LabError."""
    with _lab_errors():
        return plugins.ensure(install=install)


def ensure_images(officials: Mapping[str, str], forced: prepare.Source | None) -> None:
    """Make sure that third-party images (variable of ``.env`` → name), or stand-ins, exist. Raises LabError."""
    with _lab_errors():
        prepare.images(officials, forced)


def stop_engine_if_ours() -> bool:
    with _lab_errors():
        return dockerd.stop_engine_if_ours()
