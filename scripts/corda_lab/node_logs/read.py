"""Reads the log that a node writes into its container, ``logs/node-<host>.log`` in its base directory, and keeps it.

A log lives as long as its container. It is in the volume of the node's database, so that of a node that has stopped can
be read too: in a container of its own, on the lab's image of a node. Nothing is changed, and no lock is needed. No
secret leaves this module: neither those of the node, nor those of the lab.
"""

import math
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from bare.commands import last_words
from corda_lab.errors import LabError, chosen
from corda_lab.lab.docker import READER, at, docker, output_of, start_docker
from corda_lab.lab.lab import Lab, Service
from corda_lab.node_logs.model import (
    FOLDER,
    ErrorKind,
    Errors,
    KeptLog,
    KeptLogs,
    LogEntry,
    entries,
    keep_log,
    write_index,
)
from corda_lab.steps import validity
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.reasons import sentences
from corda_lab.text import ui
from corda_lab.text.redaction import Redactor, values_in
from corda_lab.text.words import plural

BASE = "/opt/corda/persistence/base"
"""The base directory of a node in its container."""
VOLUME_BASE = "/volume/base"
"""The same in a container that reads the volume of a node that has stopped."""
LABEL = "org.cordalab.logs"
"""Label of such a container, with the project as its value."""
SCRIPT = (Path(__file__).parent / "inside" / "node_log.sh").read_text(encoding="utf-8")

READ_SECONDS_MAX = 60.0
"""How long the log of one node may take to be kept."""
KEEP_SECONDS_MAX = 120.0
"""How long the logs of all nodes may take. Nodes that are left then are named as missing."""
MARGIN_SECONDS = 1.0
"""How long before its begin and after its end entries belong to a load."""
KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)
"""Exit statuses of a command in a container that ends before it."""
ENDING_SECONDS = 5.0
IDLE_SECONDS = 0.3
"""How long nothing comes until a reader is told, so that it shows the last entry of a log that it follows."""
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True)
class NodeLog:
    """Where the log of a node can be read. ``prefix`` has the arguments of ``docker`` before a command."""

    node: str
    is_running: bool
    context: str
    prefix: tuple[str, ...]
    base: str
    secrets: frozenset[str] = frozenset()

    def command(self, *words: str, is_open: bool = False) -> list[str]:
        """The arguments of docker that run the script with these words; with its input if it ``is_open``."""
        prefix = ("exec", "--interactive", *self.prefix[1:]) if is_open else self.prefix
        return [*prefix, "sh", "-c", SCRIPT, "logs", self.base, *words]


def find(
    lab: Lab, name: str, services: Sequence[Service] | None = None, *, seconds_max: float = READ_SECONDS_MAX
) -> NodeLog:
    """Where the log of a node is. Raises LabError if there is no such node, if it has no container, or no settings.

    ``services`` are those of the project, if they are known. A node that runs is asked for ``seconds_max`` at most.
    """
    node = chosen("NODE: unknown node", name, lab.settings.nodes)
    present = lab.services() if services is None else services
    service = next((container for container in present if container.name == node.lower()), None)
    if service is None:
        raise LabError(
            f"{node} has no container, and a log lives only as long as its container",
            "Start the lab with `scripts/lab up`. Logs of failed runs are in logs/ of their folders.",
        )
    context = service.container.context
    if service.state == "running":
        log = NodeLog(node, True, context, ("exec", service.container.name), BASE)
        done = docker(*log.command("settings"), on=context, seconds_max=seconds_max)
        settings = output_of(done, f"{node}: its log cannot be read")
    else:
        options = (
            *("run", "--rm", f"--label={LABEL}={lab.project}", "--user=1000:1000", *READER),
            # The engine would store all that it prints once more, which is the whole log.
            *("--log-driver=none", f"--volume={lab.project}_{node.lower()}-persistence:/volume:ro"),
        )
        log = NodeLog(node, False, context, (*options, "--entrypoint=env", lab.reader_image), VOLUME_BASE)
        # In that volume, the settings are a link to where only the node sees them.
        settings = lab.node_conf(node.lower())
    return replace(log, secrets=values_in(settings) | lab.settings.secrets())


def root_cause(lab: Lab, node: str, services: Sequence[Service], since: str) -> str:
    """Return the root of the last error that a node has logged since a time (RFC 3339); empty if there is none.

    Corda prints only the outermost error. Raises LabError.
    """
    log = find(lab, node, services)
    printed = docker(*log.command("root", since[:19]), on=log.context, seconds_max=READ_SECONDS_MAX).stdout
    return Redactor(log.secrets).line(printed).strip().removeprefix("Caused by: ")


def lines(
    log: NodeLog, since: float | None = None, *, follow: bool = False, deadline: float = math.inf
) -> Generator[str | None, None, None]:
    """The lines of a log, without secrets; None when nothing has come for a moment. Raises LabError.

    Older logs come first, as far as they may have entries since a time (unix seconds). With ``follow``, it goes on with
    what the node logs until the node ends. Reading fails at ``deadline`` on the monotonic clock. Closing the generator
    ends what runs in the container.
    """
    day = "" if since is None else datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%d")
    follows = follow and log.is_running
    command = log.command("follow" if follows else "read", day, is_open=follows)
    redactor, torn = Redactor(log.secrets), b""
    with _output(log, command, (0, *KILLED) if follows else (0,)) as output:
        while True:
            if time.monotonic() >= deadline:
                raise LabError(f"{log.node}: no time is left to read its log", exit_code=1)
            ready, _, _ = select.select([output], [], [], IDLE_SECONDS)
            if not ready:
                if not torn:
                    yield None
                continue
            chunk = os.read(output.fileno(), CHUNK_BYTES)
            if not chunk:
                break
            *whole, torn = (torn + chunk).split(b"\n")
            for raw in whole:
                yield redactor.line(raw.decode("utf-8", errors="replace").rstrip("\r"))
    if torn:
        yield redactor.line(torn.decode("utf-8", errors="replace"))


@contextmanager
def _output(log: NodeLog, command: Sequence[str], statuses: Collection[int]) -> Iterator[IO[bytes]]:
    """The output of a docker command in the background, which ends with the block: its input is closed then.

    Raises LabError if the output was read to its end, and the command has another status than one of these.
    """
    with tempfile.TemporaryFile() as errors:
        arguments = at(log.context, *command)
        process = start_docker(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout
            if process.wait(READ_SECONDS_MAX) not in statuses:
                errors.seek(0)
                why = last_words(errors.read().decode(errors="replace"))
                raise LabError(f"{log.node}: its log cannot be read ({why})", exit_code=1)
        finally:
            process.stdin.close()
            process.stdout.close()
            try:
                process.wait(ENDING_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _entries(
    lab: Lab, node: str, services: Sequence[Service], span: tuple[float, float], deadline: float
) -> Iterator[LogEntry]:
    """The entries of the log of a node in a span of time (unix seconds). Raises LabError, also at the deadline."""
    seconds_left = min(deadline - time.monotonic(), READ_SECONDS_MAX)
    if seconds_left <= 0:
        raise LabError(f"{node}: no time is left to read its log", exit_code=1)
    ends = time.monotonic() + seconds_left
    with closing(lines(find(lab, node, services, seconds_max=seconds_left), span[0], deadline=ends)) as logged:
        for entry in entries(line for line in logged if line is not None):
            if entry.at is not None and span[0] <= entry.at <= span[1]:
                yield entry


def errors_since(lab: Lab, since: float, *, seconds_max: float) -> list[tuple[str, ErrorKind]]:
    """The most frequent error that each node has logged since a time (unix seconds), of those with an exception if any.

    Nodes without one, and those that do not answer within ``seconds_max``, are left out. Raises LabError if the engine
    does not answer.
    """
    deadline, services = time.monotonic() + seconds_max, lab.services()
    most_frequent = []
    for node in lab.settings.nodes:
        errors = Errors()
        with suppress(LabError):
            for entry in _entries(lab, node, services, (since, time.time()), deadline):
                errors.add(entry)
        kinds = sorted(errors.kinds, key=lambda kind: kind.exception is None)
        most_frequent += [(node, kind) for kind in kinds[:1]]
    return most_frequent


def keep_if_failed(step: StepEntry, lab: Lab, folder: Path) -> None:
    """Store the nodes' logs in ``folder``/logs, if they may say why a step failed. Raises nothing."""
    if not validity.has_node_trouble(step):
        return
    why = "; ".join(sentences([*step.verdict.reasons, *step.validity.reasons]))
    since, rest = step.window.load_started_at, step.window.load_ended_at + step.counts.rest_seconds
    with ui.phase("Keeping the logs of the nodes"):
        keep(lab, folder, why, since=since, until=rest)


def keep(lab: Lab, folder: Path, why: str, *, since: float, until: float | None = None) -> None:
    """Store the logs of all nodes from a time to another (unix seconds; None is now) in ``folder``/logs.

    Never raises: what failed is more important than its logs.
    """
    end = time.time() if until is None else until
    try:
        kept = _keep(lab, folder / FOLDER, why, since - MARGIN_SECONDS, end + MARGIN_SECONDS)
    except Exception as error:
        # No defect here may hide why the load failed.
        ui.warn(f"the nodes' logs were not kept: {type(error).__name__}: {error}")
        return
    for node, problem in kept.missing.items():
        ui.warn(f"no log of {node}: {problem}")
    if kept.logs:
        errors = sum(log.error_count for log in kept.logs)
        ui.note(f"kept the logs of {plural(len(kept.logs), 'node')}, with {plural(errors, 'error')}")


def _keep(lab: Lab, folder: Path, why: str, since: float, until: float) -> KeptLogs:
    deadline, services = time.monotonic() + KEEP_SECONDS_MAX, lab.services()
    present = {service.name for service in services}
    logs: list[KeptLog] = []
    missing: dict[str, str] = {}
    for node in (node for node in lab.settings.nodes if node.lower() in present):
        try:
            if log := keep_log(folder, node, _entries(lab, node, services, (since, until), deadline)):
                logs.append(log)
        except LabError as error:
            missing[node] = " ".join(error.message.split())
    kept = KeptLogs(why=why, since=since, until=until, logs=logs, missing=missing)
    if logs or missing:
        write_index(folder, kept)
    return kept
