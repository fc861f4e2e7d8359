"""The Docker client's plugins Compose and buildx, which are installed if they are missing."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bare import consent, debian
from bare.commands import PreparationError, note, run

COMPOSE_VERSION_MIN = (2, 24)

PLUGIN_DIRECTORY = Path("/usr/local/lib/docker/cli-plugins")
"""Folder of the plugins that the lab installs. Every docker CLI searches it, so ``docker compose`` works in any shell.
Packages of a distribution never write there, so none of their files are overwritten."""


def version_of(plugin: str) -> str:
    """Return the version of a client plugin as ``2.40.3``, without a packager's suffix; empty if it does not work."""
    done = run(["docker", plugin, "version"])
    found = re.search(r"\d+\.\d+(\.\d+)?", done.stdout) if done.returncode == 0 else None
    return found[0] if found else ""


def missing_plugins(compose_version: str, buildx_version: str) -> list[str]:
    """Return the plugins to install: Compose if it is missing or too old, buildx if it is missing."""
    numbers = tuple(int(number) for number in compose_version.split(".") if number)
    missing = ["compose"] if numbers < COMPOSE_VERSION_MIN else []
    return missing + ([] if buildx_version else ["buildx"])


def ensure(*, install: bool = True) -> str:
    """Make sure that ``docker compose`` (2.24 or newer) and ``docker buildx`` work, and return Compose's version.

    On Debian or Ubuntu and as root, missing plugins are installed from the distribution's packages, after the user has
    agreed. With ``install=False``, nothing is changed. Otherwise raises PreparationError with a remedy.
    """
    compose_version, buildx_version = version_of("compose"), version_of("buildx")
    missing = missing_plugins(compose_version, buildx_version)
    if not missing:
        return compose_version
    problem = PreparationError(
        f"Docker plugins missing or too old: {' and '.join(missing)} (Compose {compose_version or 'missing'}, required "
        f"{'.'.join(map(str, COMPOSE_VERSION_MIN))} or newer; buildx {buildx_version or 'missing'})",
        "Install the packages docker-compose-plugin and docker-buildx-plugin, update Docker Desktop, "
        "or run this command as root on Debian or Ubuntu.",
    )
    if not install or not debian.can_install():
        raise problem
    is_debian = debian.is_debian()
    origin = f"Debian sid, into {PLUGIN_DIRECTORY}" if is_debian else "the distribution's packages"
    consent.require(
        f"install Docker's {' and '.join(missing)}, for all users, from {origin}",
        by_hand="install docker-compose-plugin and docker-buildx-plugin from Docker's own packages.",
    )
    if is_debian:
        _fetch_plugins_from_sid(missing)
    else:
        names = {"compose": "docker-compose-v2", "buildx": "docker-buildx"}
        debian.apt_install(names[plugin] for plugin in missing)
    compose_version, buildx_version = version_of("compose"), version_of("buildx")
    if missing_plugins(compose_version, buildx_version):
        raise problem
    note(f"compose {compose_version} and buildx {buildx_version} are installed")
    return compose_version


def _fetch_plugins_from_sid(plugins: Sequence[str]) -> None:
    """Install the plugins of Debian sid, which are self-contained programs, for all docker clients.

    The packages of a stable Debian are too old, or are the discontinued Compose v1.
    """
    note(f"installing {' and '.join(plugins)} from Debian sid")
    with tempfile.TemporaryDirectory(prefix="corda-lab-apt-") as directory:
        unpacked = debian.unpack_from_sid([f"docker-{plugin}" for plugin in plugins], Path(directory))
        for plugin in plugins:
            name = f"docker-{plugin}"
            programs = [path for path in unpacked.rglob(name) if path.is_file() and not path.is_symlink()]
            program = max(programs, key=lambda path: path.stat().st_size, default=None)
            if program is None:
                raise PreparationError(
                    f"Debian sid's package {name} does not contain {name}", "Install Docker's own plugin packages."
                )
            PLUGIN_DIRECTORY.mkdir(parents=True, exist_ok=True)
            partial = PLUGIN_DIRECTORY / f".partial-{name}"
            shutil.copyfile(program, partial)
            partial.chmod(0o755)
            partial.replace(PLUGIN_DIRECTORY / name)
