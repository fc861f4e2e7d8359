#!/usr/bin/env python3
"""Makes a bare Debian or Ubuntu machine ready for the lab: a Docker engine, its plugins, and the third-party images.

`scripts/lab` does the same by itself where something is missing. By hand, as root, from any Python 3.11 or newer:

    python3 scripts/bare/prepare.py [--install] [--images registry|local]

What is there already is used as it is, and nothing is changed before somebody has agreed. Where no registry answers,
stand-ins for the images are built from Debian packages. Their names are then in ``.cache/stand-ins.env``:

    export COMPOSE_ENV_FILES=.env,.cache/stand-ins.env
"""

import argparse
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bare import consent, debian, dockerd, plugins, standins
from bare.commands import CACHE, ROOT, PreparationError, alone, checked, last_words, note, warn, write_whole

STAND_INS_FILE = CACHE / "stand-ins.env"
"""The stand-ins in use, for the lab and for Compose: ``VARIABLE=name # in place of official name``."""
_LINE = re.compile(r"^(\w+)=(\S+) # in place of (\S+)$", re.MULTILINE)

REGISTRY_SECONDS_MAX = 20
PULL_SECONDS_MAX = 1200

Source = Literal["registry", "local"]
"""Where images come from: a registry, or stand-ins that are built on this machine."""


def engine() -> None:
    """Install the engine if it is missing, and start it, after the user has agreed. Raises PreparationError."""
    missing = _missing_packages()
    note("no Docker engine is running on this machine")
    if missing:
        consent.require(
            f"install {' '.join(missing)} with apt-get and start dockerd",
            by_hand=f"`apt-get install {' '.join(missing)}`, then start `dockerd`.",
        )
        _install_engine(missing)
    else:
        consent.require("start dockerd as root", by_hand="start `dockerd`.")
    dockerd.start_engine()
    note(f"engine {dockerd.engine_version()} is running")


def _missing_packages() -> list[str]:
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
    pid = dockerd.remove_stale_pid_file(dockerd.DOCKER_PID_FILE, "dockerd")
    if pid is not None:
        dockerd.note_process(pid)


def stand_ins_in_use() -> dict[str, tuple[str, str]]:
    """Return the stand-ins in use: variable of ``.env`` → name of the stand-in, and of the image it replaces."""
    try:
        text = STAND_INS_FILE.read_text(encoding="utf-8")
    except OSError:
        return {}
    return {variable: (name, official) for variable, name, official in _LINE.findall(text)}


def _record(officials: Mapping[str, str]) -> None:
    lines = [f"{name}={standins.OWN_NAMES[name]} # in place of {officials[name]}\n" for name in sorted(officials)]
    write_whole(STAND_INS_FILE, "".join(lines))


def images(officials: Mapping[str, str], forced: Source | None = None) -> None:
    """Make sure that all third-party images exist (variable of ``.env`` → official name), and say where from.

    Without ``forced``, the order is: already present, stand-ins as before, a registry, stand-ins. So images do not
    change silently between two runs. An image without a stand-in, Grafana, is left out where no registry answers.
    Raises PreparationError.
    """
    in_use = {name: official for name, (_, official) in stand_ins_in_use().items()}
    chosen = {name: official for name, official in officials.items() if in_use.get(name) == official}
    own = [standins.OWN_NAMES[name] for name in officials if name in standins.OWN_NAMES]
    present = standins.present_images([*officials.values(), *own])
    missing = {
        name: official
        for name, official in officials.items()
        if official not in present and not (name in chosen and standins.OWN_NAMES[name] in present)
    }
    if forced != "registry" and not missing:
        note(f"images: all present, {len(chosen)} of {len(officials)} are stand-ins")
        return
    if (forced or _choose(missing, chosen)) == "registry":
        _pull([name for name in officials.values() if name not in present])
        if in_use:
            _record({})
        return
    wanted = {**chosen, **{name: one for name, one in missing.items() if name in standins.OWN_NAMES}}
    standins.build([name for name in wanted if standins.OWN_NAMES[name] not in present])
    if not wanted.items() <= in_use.items():
        _record({**in_use, **wanted})
        note(f"for a `docker compose` of your own: export COMPOSE_ENV_FILES=.env,{STAND_INS_FILE.relative_to(ROOT)}")
    if missing.keys() - standins.OWN_NAMES.keys():
        warn("The lab runs without Grafana, which has no stand-in. Prometheus and the reports still work.")


def _choose(missing: Mapping[str, str], chosen: Mapping[str, str]) -> Source:
    """Choose where the images come from of which some are missing, and say so."""
    if chosen:
        note("images: local, as before; `--images registry` replaces stand-ins with the official images")
        return "local"
    reason = registry_problem(next(iter(missing.values())))
    note(f"images: local, because no registry can be reached ({reason})" if reason else "images: registry")
    return "local" if reason else "registry"


def registry_problem(image: str) -> str:
    """Return why the engine cannot pull ``image``; empty if it can.

    The test is a real pull by the engine, with its proxy and mirrors. It is cancelled at the first sign of success.
    """
    process = subprocess.Popen(
        ["docker", "pull", image],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
    )
    killer = threading.Timer(REGISTRY_SECONDS_MAX, process.kill)
    killer.start()
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        if process.stdout.readline():
            return ""
        words = last_words(process.stderr.read(), 1)
        return words or f"no answer within {REGISTRY_SECONDS_MAX} s"
    finally:
        killer.cancel()
        process.kill()
        process.communicate()


def _pull(names: Sequence[str]) -> None:
    for name in names:
        started = time.monotonic()
        checked(
            ["docker", "pull", "--quiet", name],
            seconds_max=PULL_SECONDS_MAX,
            what=f"Pulling {name}",
            remedy="Check the engine's network and proxy, or build stand-ins: pass `--images local`.",
        )
        note(f"{name} pulled in {time.monotonic() - started:.0f} s")


def official_images() -> dict[str, str]:
    """Return the third-party images of ``.env``: variable → name."""
    text = (ROOT / ".env").read_text(encoding="utf-8")
    return dict(re.findall(r"^(\w+_IMAGE)=(\S+)$", text, re.MULTILINE))


def main() -> None:
    """Prepare this machine, or print what prevents it and exit with status 2."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(consent.OPTION, action="store_true", help="agree to packages of the system and to Docker")
    parser.add_argument("--images", choices=("registry", "local"), help="where images come from")
    arguments = parser.parse_args()
    if arguments.install:
        consent.give()
    try:
        with alone():
            if not dockerd.engine_version():
                if dockerd.chosen_endpoint() or not debian.can_install():
                    remedy = "Start it, or run this as root on Debian or Ubuntu."
                    raise PreparationError("No Docker engine answers", remedy)
                engine()
            plugins.ensure()
            images(official_images(), arguments.images)
    except PreparationError as error:
        sys.stderr.write(f"error: {error.message}\n       {error.remedy}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
