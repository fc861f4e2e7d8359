"""Follows the state of each service while the lab starts, by the engine's events."""

import json
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from corda_lab.host.processes import child
from corda_lab.lab.docker import ONEOFF_LABEL, PROJECT_LABEL, SERVICE_LABEL, Container, labelled, start_docker
from corda_lab.lab.lab import Service
from corda_lab.text import ui

EVENTS = ("start", "die", "health_status")
READY = ("healthy", "done")


@contextmanager
def events(project: str, log: Path) -> Iterator[IO[str]]:
    """Yield a stream of the engine's events for the containers of a project, from now on: one JSON object per line.

    The events are stored in ``log``. Containers of one-off commands (``docker compose run``) are excluded.
    """
    filters = ["--filter=type=container", *labelled(f"{PROJECT_LABEL}={project}", f"{ONEOFF_LABEL}=False")]
    filters += [f"--filter=event={event}" for event in EVENTS]
    command = ("events", "--since", str(int(time.time())), "--format", "{{json .}}", *filters)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        process = start_docker(*command, stdout=output, stderr=subprocess.DEVNULL)
    with child(process), log.open(encoding="utf-8") as stream:
        yield stream


@dataclass
class StartProgress:
    """The condition of each expected service. It is updated from events, so no polling is needed."""

    expected: tuple[str, ...]
    stream: IO[str]
    """The stream that ``events`` yields."""
    conditions: dict[str, str] = field(default_factory=dict)
    """``Service.condition`` by service name."""
    started_at: float = field(default_factory=time.time)
    containers: dict[str, str] = field(default_factory=dict)
    """Id of each service's container, for services that have started since then."""
    codes: dict[str, int] = field(default_factory=dict)
    """Exit statuses of the services that have ended since then, but not as they should."""
    _unfinished: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether a service has ended, or has started and is unhealthy: others may wait for it in vain.

        What ran before may be unhealthy for a while, such as a bridge whose node starts again.
        """
        return bool(self.codes) or any(self.conditions.get(name) == "unhealthy" for name in self.containers)

    def tell(self) -> str:
        """Print the services that became ready or failed since the last call, and return what is still awaited."""
        for line in self._new_lines():
            self._take(json.loads(line))
        waiting = [name for name in self.expected if self.conditions.get(name) not in READY]
        starting = [name for name in waiting if self.conditions.get(name) in {"starting", "running"}]
        later = [name for name in waiting if name not in starting]
        parts = [f"starting: {', '.join(starting)}"] if starting else []
        parts += [f"waiting: {', '.join(later)}"] if later else []
        return "; ".join(parts) or "all services are ready"

    def _new_lines(self) -> Iterable[str]:
        *lines, self._unfinished = (self._unfinished + self.stream.read()).split("\n")
        return lines

    def _take(self, event: dict[str, Any]) -> None:
        attributes = event["Actor"]["Attributes"]
        name, container = attributes[SERVICE_LABEL], event["Actor"]["ID"]
        action, _, health = event["Action"].partition(": ")
        if name not in self.expected:
            return
        at = event["timeNano"] / 1e9
        if action == "start":
            self.containers[name] = container
            self.conditions[name] = "starting"
        elif action == "health_status":
            self._note(name, health, at)
        elif container == self.containers.get(name):
            ended = Service(name, Container(container), "exited", "", int(attributes["exitCode"]))
            if not ended.is_ready:
                self.codes[name] = ended.exit_code
            self._note(name, ended.condition, at)
        else:
            # An old container, which is being replaced.
            self.conditions.pop(name, None)

    def _note(self, name: str, condition: str, at: float) -> None:
        if condition != self.conditions.get(name):
            # The engine's clock may differ from ours; the difference must not show.
            seconds = min(max(0.0, at - self.started_at), time.time() - self.started_at)
            ui.note(f"{seconds:6.1f} s  {name:<11} {condition}")
        self.conditions[name] = condition
