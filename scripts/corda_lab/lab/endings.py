"""What has ended in a lab: with which status, why, and what to do about it.

Whatever waits for a lab asks here while it waits, so that nothing waits for what will not come.
"""

import re
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from corda_lab.errors import LabError
from corda_lab.lab.lab import Lab, Service
from corda_lab.lab.settings import BOOTSTRAP, GRAFANA
from corda_lab.node_logs import read as node_logs
from corda_lab.text.redaction import Redactor
from lab_workload.problems import Problem

POLL_SECONDS = 0.5
LOOK_SECONDS = 3.0
"""Interval at which the containers are listed during a wait. Each listing runs the Docker client."""
RESTARTS_MAX = 1
"""How often the engine may have started a service again that is not ready. A second time, it ends again and again."""
STAYED_SECONDS = 60.0
"""A service that has run for so long since it was started last does not end again and again."""
LOG_LINES = 200
CORDA_FAILED = 1
"""Exit status of a node that could not start. Then its own log has the causes of the error that it printed."""
CAUSE_LENGTH_MAX = 400
STOPPED = {128 + number: number.name for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)}
"""Exit statuses of what was ended from outside. Its log does not tell why."""
ASKED = (0, 128 + signal.SIGTERM, 128 + signal.SIGINT)
"""Exit statuses of what has ended because somebody has stopped it."""

INSPECTED = "{{.RestartCount}} {{.State.OOMKilled}} {{.State.StartedAt}} {{.State.FinishedAt}}"

_TELLS = re.compile(
    r"error|exception|fatal|fail|can ?not|could not|unable|not found|no such|denied|refused|invalid", re.IGNORECASE
)
_STACK = re.compile(r"\s+at \S+\(|\s*\.\.\. \d+ (more|common frames)|\s*Suppressed: ")
_CONSEQUENCE = re.compile(r"Error: (Could not create the Java Virtual Machine|A fatal exception has occurred)")
"""What Java says after the cause."""
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_CORDA_PREFIX = re.compile(r"^\[(?:ERROR|FATAL)\s*\] \S+ \[[^\]]*\] (?:\S+ - )?")
_CORDA_SUFFIX = re.compile(r"\s*\[(errorCode=|Error Code: )[^\]]*\]")
_ROOT = re.compile(r"Caused by: |.*java\.lang\.OutOfMemoryError")
_DAMAGED = re.compile(r"File corrupted|\[1\.4\.\d+/(1|3|6|9)\]")
"""What H2 says of a file that it cannot open. Errors of its storage end like this: a failed read (1), an internal error
(3), a damaged file (6), a chunk that is missing (9). Others, such as a full disk (2), are no damage."""
_VM_ERROR = "Error occurred during initialization of VM"


@dataclass(frozen=True)
class Ending:
    service: str
    node: str
    """The name of the node; empty if the service is none."""
    exit_code: int
    """0 also if it is not known, because the engine has started the service again."""
    cause: str
    """From its log or its engine; empty if neither says."""
    finished_at: str
    """RFC 3339, by the clock of the engine."""
    is_repeated: bool
    """Whether the engine starts it again each time."""
    logs: str
    """The command that shows its log."""

    @property
    def words(self) -> str:
        how = "ends again and again" if self.is_repeated else "ended"
        status = "" if self.is_repeated and not self.exit_code else f" with exit status {self.exit_code}"
        why = f" ({self.cause})" if self.cause else ""
        return f"{self.node or self.service} {how}{status}{why}"

    @property
    def problem(self) -> Problem:
        if self.exit_code in ASKED and not self.is_repeated:
            return Problem(self.words, remedy="It was stopped. `scripts/lab up` starts it again.")
        if self.node and _DAMAGED.search(self.cause):
            return Problem(
                f"{self.words}: its database is damaged",
                remedy=f"`scripts/lab up --recover {self.node}` recovers its last whole state, and keeps the damaged"
                " file. `scripts/lab audit RUN` then says what was lost. Or start a new network:"
                " `scripts/lab down --volumes`.",
            )
        log = f"scripts/lab logs {self.node} --errors" if self.node else self.logs
        more = (
            " For more memory, add --set NODE_HEAP=… or --set NODE_MEMORY=…."
            if self.node and "memory" in self.cause.lower()
            else ""
        )
        return Problem(self.words, remedy=f"See `{log}`, mend the cause, and run `scripts/lab up`.{more}")


def endings(
    lab: Lab, services: Iterable[Service] | None = None, codes: Mapping[str, int] | None = None
) -> list[Ending]:
    """Return the services that have ended although the lab needs them. Raises LabError.

    ``services`` are those of the lab, if they are known. ``codes`` are exit statuses of services that have ended, even
    if the engine has started them again since then.
    """
    expected = {BOOTSTRAP, *needed(lab)}
    present = lab.services() if services is None else services
    unready = [service for service in present if service.name in expected and not service.is_ready]
    return [ending for service in unready if (ending := _ending(lab, service, codes or {}))]


def needed(lab: Lab) -> frozenset[str]:
    """Return the services that have to run. The lab can do without Grafana."""
    return frozenset(lab.settings.services) - {BOOTSTRAP, GRAFANA}


def _ending(lab: Lab, service: Service, codes: Mapping[str, int]) -> Ending | None:
    """Return how a service has ended; None if it has not, or has just been removed."""
    state = service.container.inspected(INSPECTED).split()
    if not state:
        return None
    restarts, killed, started_at, finished_at = state
    is_over = service.state in ("exited", "dead")
    is_repeated = int(restarts) > RESTARTS_MAX and (service.state == "restarting" or not _has_stayed(started_at))
    if not is_over and service.name not in codes and not is_repeated:
        return None
    code = service.exit_code if is_over else codes.get(service.name, service.exit_code)
    node = next((node for node in lab.settings.nodes if node.lower() == service.name), "")
    causes = []
    if not is_over or code != 0:
        # The log of a container also has its earlier starts.
        since = ("--since", started_at) if is_over else ()
        redactor = Redactor(lab.settings.secrets())
        lines = map(redactor.line, service.container.log("--tail", str(LOG_LINES), *since).splitlines())
        why = cause(lines, code, was_killed_for_memory=killed == "true")
        causes.append(why.removeprefix(f"{service.name}: "))
    if node and is_over and code == CORDA_FAILED:
        # What tells more must not hide what is known.
        with suppress(LabError):
            causes.append(node_logs.root_cause(lab, node, [service], started_at))
    return Ending(
        service=service.name,
        node=node,
        exit_code=code,
        cause=": ".join(filter(None, causes)),
        finished_at=finished_at,
        is_repeated=not is_over,
        logs=lab.logs_command(service.name),
    )


def _has_stayed(started_at: str) -> bool:
    return time.time() - datetime.fromisoformat(started_at).timestamp() > STAYED_SECONDS


def cause(lines: Iterable[str], exit_code: int, *, was_killed_for_memory: bool = False) -> str:
    """Return why a service ended: the one line of its log that tells it, or what its engine says; empty if nothing."""
    if was_killed_for_memory:
        return "its container reached its memory limit"
    if exit_code in STOPPED:
        return f"ended by {STOPPED[exit_code]}"
    lines = [_TERMINAL.sub("", line).lstrip("#").rstrip() for line in lines]
    messages = [line for line in lines if line.strip() and not _STACK.match(line) and not _CONSEQUENCE.match(line)]
    telling = [index for index, line in enumerate(messages) if _TELLS.search(line)]
    roots = [index for index in telling if _ROOT.match(messages[index])]
    if not messages:
        return ""
    index = (roots or telling or [len(messages) - 1])[-1]
    line = messages[index]
    if line == _VM_ERROR and index + 1 < len(messages):
        line = f"{line}: {messages[index + 1]}"
    line = _CORDA_SUFFIX.sub("", _CORDA_PREFIX.sub("", line.removeprefix("Caused by: ").strip()))
    return line if len(line) <= CAUSE_LENGTH_MAX else f"{line[:CAUSE_LENGTH_MAX]}…"


def require_none(lab: Lab, services: Iterable[Service] | None = None) -> None:
    """Raise LabError if a service has ended although the lab needs it. Arguments are those of ``endings``."""
    if ended := endings(lab, services):
        raise LabError(problems=[ending.problem for ending in ended], exit_code=1)


def pause(lab: Lab, seconds: float) -> None:
    """Let a wait for a lab pause. Raises LabError if a service of it has ended."""
    require_none(lab)
    time.sleep(seconds)


def come_true(lab: Lab, condition: Callable[[], bool], *, seconds_max: float) -> bool:
    """Poll ``condition`` until it is true. Return False if it does not become true within the time.

    Raises LabError as soon as a service of the lab has ended.
    """
    started = time.monotonic()
    look_at = started
    while not condition():
        now = time.monotonic()
        if now - started > seconds_max:
            return False
        if now >= look_at:
            require_none(lab)
            look_at = now + LOOK_SECONDS
        time.sleep(POLL_SECONDS)
    return True
