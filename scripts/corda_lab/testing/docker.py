"""A Docker client that says what a test wants, where a real engine cannot be brought into the state in question."""

from pathlib import Path

import pytest


def docker_client(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a docker command on PATH that does what ``script`` says, and nothing else."""
    client = directory / "docker"
    client.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
