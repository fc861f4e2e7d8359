"""A scripted Docker client, for states into which a test cannot bring a real engine."""

import json
from pathlib import Path

import pytest


def docker_client(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a ``docker`` command on PATH, and nothing else. It runs ``script``, a shell script."""
    client = directory / "docker"
    client.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))
    monkeypatch.delenv("DOCKER_HOST", raising=False)


def listed(service: str, state: str, *, exit_code: int = 0, health: str = "", container: str = "") -> str:
    """What the engine says of a container in a list of services. A client knows the request by ``{{.Status}}``."""
    ended = {"exited": "Exited", "restarting": "Restarting"}
    status = f"{ended[state]} ({exit_code}) 2 seconds ago" if state in ended else "Up 5 minutes"
    status += f" ({health})" if health else ""
    return "\t".join((container or f"lab-{service}-1", state, status, service))


def stack_task(service: str, task: str, state: str, *, host: str = "", trouble: str = "") -> str:
    """A task of a service, as ``docker stack ps`` prints it in JSON. ``state`` also says since when."""
    error = f'"{trouble}"' if trouble else ""
    return json.dumps({"Name": f"{service}.1", "ID": task, "CurrentState": state, "Node": host, "Error": error})
