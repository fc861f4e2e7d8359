"""Finds the Docker engine. On a bare Debian or Ubuntu machine, it installs and starts the engine.

An existing engine is only used; it is never changed or stopped. An engine that the lab started is recorded in
``.cache/engine.json``, and ``stop_engine_if_ours`` stops only that one.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import consent, debian
from corda_lab.host.dockerd import DOCKER_PID_FILE, note_process, remove_stale_pid_file, start_engine
from corda_lab.host.probe import EngineState, chosen_endpoint, probe, problem
from corda_lab.text import ui


def ensure_engine(*, install: bool = True) -> str:
    """Make sure that an engine answers, and return its version.

    If none answers, on Debian or Ubuntu and as root, it is installed (if missing) and started, after the user has
    agreed (see ``consent``). With ``install=False``, nothing is changed and nobody is asked. Otherwise raises LabError
    with the remedy for this platform. An engine that the user chose by ``DOCKER_HOST`` or a context is never started.
    """
    found = probe()
    if found.state is EngineState.READY:
        return found.server_version
    endpoint = chosen_endpoint()
    if endpoint and found.state is not EngineState.NO_CLIENT:
        raise LabError(
            f"The Docker engine of {endpoint} does not answer: {found.detail}",
            "Start that engine. To use this machine's engine, unset DOCKER_HOST and select the default context.",
        )
    startable = not endpoint and found.state in {EngineState.NO_CLIENT, EngineState.NO_DAEMON}
    if not install or not startable or not debian.can_install():
        raise problem(found)
    missing = _missing_packages()
    ui.note("no Docker engine is running on this machine")
    if missing:
        consent.require(
            f"install {' '.join(missing)} with apt-get and start dockerd",
            by_hand=f"`apt-get install {' '.join(missing)}`, then start `dockerd`.",
        )
        _install_engine(missing)
    else:
        consent.require("start dockerd as root", by_hand="start `dockerd`.")
    start_engine()
    found = probe()
    if found.state is not EngineState.READY:
        raise problem(found)
    ui.note(f"engine {found.server_version} is running")
    return found.server_version


def _missing_packages() -> list[str]:
    """Return the Debian packages that the engine needs and that are missing on this host."""
    packages = [] if shutil.which("dockerd") and shutil.which("docker") else ["docker.io"]
    packages += [] if shutil.which("iptables") else ["iptables"]
    packages += [] if Path("/etc/ssl/certs/ca-certificates.crt").exists() else ["ca-certificates"]
    return packages


def _install_engine(packages: Sequence[str]) -> None:
    debian.apt_install(packages)
    if shutil.which("docker") is None:
        # Since Debian 13, the client is a separate package, which docker.io only recommends.
        debian.apt_install(["docker-cli"])
    # Without systemd, the package's scripts may have started the engine. Then it runs because of this command.
    pid = remove_stale_pid_file(DOCKER_PID_FILE, "dockerd")
    if pid is not None:
        note_process(pid)
