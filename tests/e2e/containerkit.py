"""What the engine says of containers: those of a lab's services, and those that a command makes for itself."""

import json
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from corda_lab.lab.docker import docker
from e2e.labkit import Lab

Containers = dict[str, dict[str, Any]]
"""Service → what ``docker inspect`` says of its container."""

LOAD = "load"
"""Begins the names of containers that only a load has. They have ended when they are checked."""


def containers_of(lab: Lab) -> Containers:
    """Return what the engine says of the containers of all services."""
    names = {service.name: service.container.name for service in lab.compose.services()}
    assert {"bootstrap", "notary", "partya", "bridge", "locust", "prometheus"} <= set(names)
    inspected = {item["Name"].lstrip("/"): item for item in json.loads(said_of("container", *names.values()))}
    return {service: inspected[container] for service, container in names.items()}


def said_of(kind: str, *names: str) -> str:
    """Return what the engine says of containers, volumes or networks, as JSON."""
    done = docker(kind, "inspect", *names)
    assert done.returncode == 0, done.stderr
    return done.stdout


def running(containers: Containers) -> list[str]:
    return [service for service in containers if service != "bootstrap" and not service.startswith(LOAD)]


def file_in(lab: Lab, service: str, path: str) -> str:
    """Return the content of a file as the service itself reads it."""
    return lab.compose.exec(service, "cat", path).stdout


def mounts_of(container: dict[str, Any], suffix: str) -> set[tuple[str, bool]]:
    """Return the volumes with this end of their name that a container mounts, each with whether it may write."""
    found = (mount for mount in container["Mounts"] if mount["Type"] == "volume")
    names = ((mount["Name"].partition("_")[2], bool(mount["RW"])) for mount in found)
    return {(name, writes) for name, writes in names if name.endswith(suffix)}


def created_during(action: Callable[[], object], images: set[str]) -> list[dict[str, Any]]:
    """Return what the engine says of each container of some images that is created while ``action`` runs.

    The engine is asked when it tells of one. Its answer may come too late for a container that lives for milliseconds.
    """
    watch = ["docker", "events", f"--since={time.time():.3f}", "--filter=type=container", "--filter=event=create"]
    with (
        subprocess.Popen([*watch, "--format={{.ID}}"], stdout=subprocess.PIPE, text=True) as events,
        ThreadPoolExecutor(1) as pool,
    ):
        assert events.stdout is not None
        asked = pool.submit(lambda lines: [docker("container", "inspect", one.strip()) for one in lines], events.stdout)
        try:
            action()
        finally:
            events.terminate()
        found = [json.loads(one.stdout)[0] for one in asked.result() if one.returncode == 0]
    return [one for one in found if one["Config"]["Image"] in images]
