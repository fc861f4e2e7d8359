"""The containers of a stack, as the engine of each host reports them."""

import re

from corda_lab.lab.deployed import Service
from corda_lab.lab.engine import Container, Engine

SERVICE_LABEL = "com.docker.swarm.service.name"
_HEALTH = re.compile(r"\((?:health: )?(starting|healthy|unhealthy)\)")
_EXITED = re.compile(r"Exited \((\d+)\)")


def parse_containers(text: str, stack: str, engine: Engine) -> list[Service]:
    """Read lines of name, state, status and service of containers, with tabs between, as ``docker ps`` prints them."""
    found = []
    for line in text.splitlines():
        name, state, status, service = line.split("\t")
        health, exited = _HEALTH.search(status), _EXITED.search(status)
        found.append(
            Service(
                name=service.removeprefix(f"{stack}_"),
                container=Container(name, engine),
                state=state,
                health=health[1] if health else "",
                exit_code=int(exited[1]) if exited else 0,
            )
        )
    return found


def is_gone(detail: str) -> bool:
    """Whether an error of the docker client says that a container does not run any more."""
    return "no such container" in detail.lower() or "is not running" in detail.lower()


def has_ended(container: Container) -> bool:
    """Whether a container has ended. Raises LabError."""
    return container.inspected("{{.State.Status}}").strip() not in ("running", "paused")


def log_of(container: Container, *options: str) -> str:
    """What a container has printed, with options of ``docker logs``. Raises LabError."""
    done = container.engine.run("logs", *options, container.name)
    return done.stdout + done.stderr
