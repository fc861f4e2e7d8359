"""The script that waits in front of a command until other services are ready."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

AWAIT = ROOT / "deploy" / "swarm" / "await-services"
NEEDED = ("sh", "date", "sleep", "tr", "cat")
KNOWS = '#!/bin/sh\nfor name; do :; done\n[ -e "{known}/$name" ]\n'
"""A resolver that knows a name if there is a file of that name."""


class Container:
    """A folder with the only programs that the script finds, and the names that can be resolved."""

    def __init__(self, root: Path, resolver: str | None) -> None:
        self.programs = root / "bin"
        self.known = root / "known"
        self.programs.mkdir()
        self.known.mkdir()
        for name in NEEDED:
            (self.programs / name).symlink_to(
                next(path for path in map(Path, ("/usr/bin", "/bin")) if (path / name).exists()) / name
            )
        if resolver:
            (self.programs / resolver).write_text(KNOWS.format(known=self.known), encoding="utf-8")
            (self.programs / resolver).chmod(0o755)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PATH": str(self.programs)}
        return subprocess.Popen(
            ["/bin/sh", str(AWAIT), *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate(timeout=30)
    return process.returncode, output, errors


@pytest.mark.parametrize("resolver", ["getent", "nslookup"])
def test_the_command_starts_with_its_arguments_when_all_names_resolve(tmp_path: Path, resolver: str) -> None:
    container = Container(tmp_path, resolver)
    for name in ("postgres", "links"):
        (container.known / name).touch()
    assert ended(container.start("5", "postgres,links", "sh", "-c", 'echo "$1"', "-", "a b")) == (0, "a b\n", "")


def test_it_waits_until_the_name_resolves(tmp_path: Path) -> None:
    container = Container(tmp_path, "getent")
    asked = container.known / "asked"
    (container.programs / "getent").write_text(f'#!/bin/sh\necho >> {asked}\n[ -e "{container.known}/$2" ]\n')
    process = container.start("20", "postgres", "sh", "-c", "echo started")
    deadline = time.monotonic() + 20
    while not asked.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None
    (container.known / "postgres").touch()
    assert ended(process) == (0, "started\n", "")


def test_after_its_limit_it_names_the_service_and_ends(tmp_path: Path) -> None:
    container = Container(tmp_path, "getent")
    (container.known / "links").touch()
    status, output, errors = ended(container.start("1", "links,postgres", "sh", "-c", "echo started"))
    assert (status, output) == (1, "")
    assert errors.startswith("await-services: postgres was not ready within 1 s; ")


def test_an_image_that_cannot_resolve_names_says_so(tmp_path: Path) -> None:
    status, _, errors = ended(Container(tmp_path, None).start("1", "postgres", "sh"))
    assert status == 2
    assert "neither getent nor nslookup" in errors
