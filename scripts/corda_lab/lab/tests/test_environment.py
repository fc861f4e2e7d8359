"""The parts of the manifest that can be known without a lab."""

import subprocess
from pathlib import Path

import pytest

from corda_lab.host import machine
from corda_lab.lab import environment


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "1.8.0_452"\nOpenJDK Runtime Environment (Temurin)', "1.8.0_452"),
        ('openjdk version "21.0.7" 2025-04-15 LTS', "21.0.7"),
        ("command not found", ""),
    ],
)
def test_reads_java_s_version(text: str, version: str) -> None:
    assert environment.parse_java_version(text) == version


def test_the_host_has_the_governor_and_turbo_of_this_machine() -> None:
    seen = machine.frequency()
    host = environment.read_host()
    assert (host.governor, host.turbo) == (seen.governor, seen.turbo)
    assert host.cpu_count


def test_stored_measurements_are_no_uncommitted_changes(tmp_path: Path) -> None:
    """The second repeat of a figure finds the file of the first one in ``docs/``, and ran on the same code."""
    assert environment.git_state(tmp_path / "missing").has_changes is None
    for command in (
        ("init", "--quiet"),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "--allow-empty", "--message=First"),
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "repeat.json").write_text("{}", encoding="utf-8")
    measured = environment.git_state(tmp_path)
    assert measured.commit
    assert not measured.has_changes
    (tmp_path / "script").touch()
    assert environment.git_state(tmp_path).has_changes
