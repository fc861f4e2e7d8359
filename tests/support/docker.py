"""A scripted Docker client, for states into which a test cannot bring a real engine."""

from pathlib import Path

import pytest


def docker_client(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a ``docker`` command on PATH, and nothing else. It runs ``script``, a shell script."""
    client = directory / "docker"
    client.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
