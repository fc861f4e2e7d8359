"""The parts of the manifest that can be known without a lab."""

import pytest

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
