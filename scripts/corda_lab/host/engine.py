"""Find the Docker engine, Compose and buildx; on a bare Debian or Ubuntu machine install and start them.

What is already there is only used, never changed or stopped: an engine that the lab started itself is written down in
``.cache/engine.json``, and only that one can be ended by ``stop_engine_if_ours``.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import debian
from corda_lab.host.dockerd import DOCKER_PID_FILE, note_process, remove_stale_pid_file, start_engine
from corda_lab.host.probe import EngineState, chosen_endpoint, probe, problem
from corda_lab.text import ui


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
    endpoint = chosen_endpoint()
    if endpoint and found.state is not EngineState.NO_CLIENT:
        raise LabError(
            f"The Docker engine of {endpoint} does not answer: {found.detail}",
            "Start that engine, or unset DOCKER_HOST and choose the default context to use this machine's own.",
        )
    startable = not endpoint and found.state in {EngineState.NO_CLIENT, EngineState.NO_DAEMON}
    if not startable or not debian.can_install():
        raise problem(found)
    missing = _missing_packages()
    action = f"Install {' '.join(missing)} and start dockerd?" if missing else "Start dockerd?"
    if not debian.may_change_system(f"No Docker engine is running here. {action}", install=install):
        raise problem(found)
    ui.note("no Docker engine is running on this machine")
    if missing:
        _install_engine(missing)
    start_engine()
    found = probe()
    if found.state is not EngineState.READY:
        raise problem(found)
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
        note_process(pid)
