"""The Docker client's plugins Compose and buildx, which are installed if they are missing."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from corda_lab.atomic import whole_file
from corda_lab.errors import LabError
from corda_lab.host import consent, debian
from corda_lab.host.probe import parse_version, plugin_version
from corda_lab.text import ui

COMPOSE_VERSION_MIN = Version("2.24.0")

PLUGIN_DIRECTORY = Path("/usr/local/lib/docker/cli-plugins")
"""Folder of the plugins that the lab installs. Every docker CLI searches it, so ``docker compose`` works in any shell.
Packages of a distribution never write there, so none of their files are overwritten."""


def missing_plugins(compose_version: str, buildx_version: str) -> list[str]:
    """Return the plugins to install: Compose if it is missing or too old, buildx if it is missing."""
    parsed = parse_version(compose_version)
    missing = ["compose"] if parsed is None or parsed < COMPOSE_VERSION_MIN else []
    return missing + ([] if parse_version(buildx_version) else ["buildx"])


def ensure_compose(*, install: bool = True) -> str:
    """Make sure that ``docker compose`` (2.24 or newer) and ``docker buildx`` work, and return Compose's version.

    On Debian or Ubuntu and as root, missing plugins are installed from the distribution's packages, after the user has
    agreed (see ``consent``). With ``install=False``, nothing is changed. Otherwise raises LabError with a remedy.
    """
    compose_version, buildx_version = plugin_version("compose"), plugin_version("buildx")
    missing = missing_plugins(compose_version, buildx_version)
    if not missing:
        return compose_version
    problem = LabError(
        f"Docker plugins missing or too old: {' and '.join(missing)} (Compose {compose_version or 'missing'}, "
        f"required {COMPOSE_VERSION_MIN} or newer; buildx {buildx_version or 'missing'})",
        "Install the packages docker-compose-plugin and docker-buildx-plugin, update Docker Desktop, "
        "or run this command as root on Debian or Ubuntu.",
    )
    if not install or not debian.can_install():
        raise problem
    origin = (
        f"Debian sid, into {PLUGIN_DIRECTORY}" if debian.host_platform().is_debian else "the distribution's packages"
    )
    consent.require(
        f"install Docker's {' and '.join(missing)}, for all users, from {origin}",
        by_hand="install docker-compose-plugin and docker-buildx-plugin from Docker's own packages.",
    )
    if debian.host_platform().is_debian:
        _fetch_plugins_from_sid(missing)
    else:
        names = {"compose": "docker-compose-v2", "buildx": "docker-buildx"}
        debian.apt_install(names[plugin] for plugin in missing)
    compose_version, buildx_version = plugin_version("compose"), plugin_version("buildx")
    if missing_plugins(compose_version, buildx_version):
        raise problem
    ui.note(f"compose {compose_version} and buildx {buildx_version} are installed")
    return compose_version


def _fetch_plugins_from_sid(plugins: Sequence[str]) -> None:
    """Install the plugins of Debian sid, which are self-contained programs, for all docker clients.

    The packages of a stable Debian are too old, or are the discontinued Compose v1.
    """
    ui.note(f"installing {' and '.join(plugins)} from Debian sid")
    with tempfile.TemporaryDirectory(prefix="corda-lab-apt-") as directory:
        unpacked = debian.unpack_from_sid([f"docker-{plugin}" for plugin in plugins], Path(directory))
        for plugin in plugins:
            name = f"docker-{plugin}"
            programs = [path for path in unpacked.rglob(name) if path.is_file() and not path.is_symlink()]
            program = max(programs, key=lambda path: path.stat().st_size, default=None)
            if program is None:
                raise LabError(
                    f"Debian sid's package {name} does not contain {name}", "Install Docker's own plugin packages."
                )
            with whole_file(PLUGIN_DIRECTORY / name, mode=0o755) as staged:
                shutil.copyfile(program, staged)
