"""Faults that last while a test looks at them, and what the engine says of a container meanwhile."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from corda_lab.faults import inject
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from lab_workload.faults import Fault, FaultKind

MADE_SECONDS_MAX = 60
HEALTHY_SECONDS_MAX = 90


@contextmanager
def lasting(compose: Compose, kind: FaultKind, target: str, **parameters: float) -> Iterator[None]:
    """Make a fault, and heal it after the block."""
    fault = Fault(kind=kind, target=target, at_seconds=0.0, for_seconds=60.0, parameters=parameters)
    with inject.injecting(compose, (fault,), Container("none")) as injection:
        deadline = time.monotonic() + MADE_SECONDS_MAX
        while not injection.entries[0].was_made:
            assert injection.entries[0].problem in (None, inject.TOO_LATE), injection.entries[0].problem
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield
    assert injection.entries[0].problem is None
    assert not inject.is_left(compose.settings.project)


def inspected(compose: Compose, service: str, form: str) -> str:
    """What the engine says of the container of a service, in a form of its own."""
    container = next(each.container.name for each in compose.services() if each.name == service)
    command = ["docker", "container", "inspect", "--format", form, container]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def await_healthy(compose: Compose, service: str) -> None:
    """Wait until a service is healthy again whose health was probed while it was frozen. Loads want it healthy."""
    deadline = time.monotonic() + HEALTHY_SECONDS_MAX
    while (health := inspected(compose, service, "{{.State.Health.Status}}")) != "healthy":
        assert time.monotonic() < deadline, f"{service} is {health}"
        time.sleep(0.5)
