"""The parts of the manifest that can be known without a lab."""

import pytest

from corda_lab.host import frequency
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
    seen = frequency.read()
    host = environment.read_host()
    assert (host.governor, host.turbo) == (seen.governor, seen.turbo)
    assert host.cpu_count
