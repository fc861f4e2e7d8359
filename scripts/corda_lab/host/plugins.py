"""Compose and buildx as plugins of the Docker client, fetched where they are missing."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from corda_lab.atomic import whole_file
from corda_lab.errors import LabError
from corda_lab.host import debian
from corda_lab.host.probe import parse_version, plugin_version
from corda_lab.text import ui

COMPOSE_VERSION_MIN = Version("2.24.0")

PLUGIN_DIRECTORY = Path("/usr/local/lib/docker/cli-plugins")
"""Where fetched plugins go: every docker CLI, of any packager and user, looks there, so plain ``docker compose`` works
in any shell; a distribution's packages never write there, so nothing of theirs is overwritten."""


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
    compose_version, buildx_version = plugin_version("compose"), plugin_version("buildx")
    missing = missing_plugins(compose_version, buildx_version)
    if not missing:
        return compose_version
    problem = LabError(
        f"Docker lacks {' and '.join(missing)} (Compose {compose_version or 'missing'}, "
        f"at least {COMPOSE_VERSION_MIN} is needed; buildx {buildx_version or 'missing'})",
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
    compose_version, buildx_version = plugin_version("compose"), plugin_version("buildx")
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
        for plugin in plugins:
            name = f"docker-{plugin}"
            programs = [path for path in unpacked.rglob(name) if path.is_file() and not path.is_symlink()]
            program = max(programs, key=lambda path: path.stat().st_size, default=None)
            if program is None:
                raise LabError(
                    f"Debian sid's package {name} holds no such program", "Install Docker's own plugin packages."
                )
            with whole_file(PLUGIN_DIRECTORY / name, mode=0o755) as staged:
                shutil.copyfile(program, staged)
