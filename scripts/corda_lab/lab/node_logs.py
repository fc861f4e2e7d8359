"""Reads the log that a node writes into its container: ``logs/node-<host>.log`` in its base directory.

A log lives as long as its container. It is in the volume of the node's database, so that of a node that has stopped can
be read too: in a container of its own, on the lab's image of a node. Nothing is changed, and no lock is needed.
"""

import gzip
import math
import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import time
import zlib
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from bare.commands import last_words
from corda_lab.errors import LabError, chosen
from corda_lab.lab.docker import READER, at, docker, docker_to_file, output_of, start_docker
from corda_lab.lab.lab import Lab, Service
from corda_lab.text.redaction import Redactor, values_in

BASE = "/opt/corda/persistence/base"
"""The base directory of a node in its container."""
VOLUME_BASE = "/volume/base"
"""The same in a container that reads the volume of a node that has stopped."""
LABEL = "org.cordalab.logs"
"""Label of such a container, with the project as its value."""

READ_SECONDS_MAX = 60.0
MARK = "@@"
KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)
"""Exit statuses of a command in a container that ends before it."""
ENDING_SECONDS = 5.0
IDLE_SECONDS = 0.3
"""How long nothing comes until a reader is told, so that it shows the last entry of a log that it follows."""
CHUNK_BYTES = 64 * 1024
_DAMAGED = (OSError, EOFError, zlib.error)
"""What reading an older log raises if it is damaged, or was cut off."""

SCRIPT = (Path(__file__).parent / "inside" / "node_log.sh").read_text(encoding="utf-8")

_ARCHIVE = re.compile(r"node-.*\.(\d{4}-\d\d-\d\d)-(\d+)\.log\.gz")
"""An older log: its day, and its number on that day."""


@dataclass(frozen=True)
class NodeLog:
    """Where the log of a node can be read. ``prefix`` has the arguments of ``docker`` before a command."""

    node: str
    is_running: bool
    context: str
    prefix: tuple[str, ...]
    base: str
    settings: str | None = None
    """The node's ``node.conf``, with its passwords. None if the node is running: then its own container sees it."""

    def command(self, *words: str, is_open: bool = False) -> list[str]:
        """The arguments of docker that run the script with these words; with its input if it ``is_open``."""
        prefix = ("exec", "--interactive", *self.prefix[1:]) if is_open else self.prefix
        return [*prefix, "sh", "-c", SCRIPT, "logs", self.base, *words]

    @property
    def shown(self) -> str:
        return f"{shlex.join(['docker', *at(self.context, *self.prefix[:2])])} … the log of {self.node}"


@dataclass(frozen=True)
class About:
    """What has to be known to read a log: the secrets of the node, and the names of its older logs, oldest first."""

    secrets: frozenset[str]
    archives: tuple[str, ...]

    def archives_since(self, since: float | None) -> tuple[str, ...]:
        """The older logs that may have entries since a time (unix seconds)."""
        if since is None:
            return self.archives
        day = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%d")
        return tuple(name for name in self.archives if (match := _ARCHIVE.fullmatch(name)) and match[1] >= day)


def find(compose: Lab, name: str, services: Sequence[Service] | None = None) -> NodeLog:
    """Where the log of a node is. Raises LabError if there is no such node, or if it has no container.

    ``services`` are those of the project, if they are known; otherwise Compose is asked.
    """
    node = chosen("NODE: unknown node", name, compose.settings.nodes)
    present = compose.services() if services is None else services
    service = next((container for container in present if container.name == node.lower()), None)
    if service is None:
        raise LabError(
            f"{node} has no container, and a log lives only as long as its container",
            "Start the lab with `scripts/lab up`. Logs of failed runs are in logs/ of their folders.",
        )
    if service.state == "running":
        return NodeLog(node, True, service.container.context, ("exec", service.container.name), BASE)
    volume = f"{compose.project}_{node.lower()}-persistence"
    options = (
        *("run", "--rm", f"--label={LABEL}={compose.project}", "--user=1000:1000", *READER),
        # The engine would store all that it prints once more, which is the whole log.
        *("--log-driver=none", f"--volume={volume}:/volume:ro"),
    )
    prefix = (*options, "--entrypoint=env", compose.reader_image)
    # In that volume, the settings are a link to where only the node sees them.
    return NodeLog(node, False, service.container.context, prefix, VOLUME_BASE, compose.node_conf(node.lower()))


def root_cause(compose: Lab, node: str, services: Sequence[Service], since: str) -> str:
    """Return the root of the last error that a node has logged since a time (RFC 3339); empty if there is none.

    The node has stopped. Corda prints only the outermost error. Raises LabError.
    """
    log = find(compose, node, services)
    printed = docker(*log.command("root", since[:19]), on=log.context, seconds_max=READ_SECONDS_MAX).stdout
    return Redactor(values_in(log.settings or "")).line(printed).strip().removeprefix("Caused by: ")


def about(log: NodeLog, known: frozenset[str] = frozenset(), *, deadline: float = math.inf) -> About:
    """The secrets and the older logs of a node. ``known`` are secrets of the lab. Raises LabError.

    It is read until ``deadline`` on the monotonic clock, but not for longer than ``READ_SECONDS_MAX``.
    """
    command = log.command("about" if log.settings is None else "names")
    done = docker(*command, on=log.context, seconds_max=_seconds_left(log, deadline))
    printed, _, names = output_of(done, f"{log.node}: its log cannot be read").rpartition(f"\n{MARK}")
    archives = [(match[1], int(match[2]), name) for name in names.split() if (match := _ARCHIVE.fullmatch(name))]
    secrets = values_in(printed if log.settings is None else log.settings) | known
    return About(secrets, tuple(name for _, _, name in sorted(archives)))


def _seconds_left(log: NodeLog, deadline: float) -> float:
    """How long one read of a log may take. Raises LabError if no time is left."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise LabError(f"{log.node}: no time is left to read its log", exit_code=1)
    return min(left, READ_SECONDS_MAX)


def copied(log: NodeLog, known: About, since: float, folder: Path, *, deadline: float = math.inf) -> Iterator[str]:
    """The lines of a log, without secrets, read as a whole through files in ``folder``. Raises LabError.

    Older logs are read as far as they may have entries since a time (unix seconds). Each file is fetched until
    ``deadline`` on the monotonic clock, but not for longer than ``READ_SECONDS_MAX``.
    """
    redactor = Redactor(known.secrets)
    older, current = folder / f"{log.node}.gz", folder / f"{log.node}.log"

    def fetch(path: Path, *command: str) -> None:
        seconds_max = _seconds_left(log, deadline)
        docker_to_file(path, *log.command(*command), on=log.context, shown=log.shown, seconds_max=seconds_max)

    if names := known.archives_since(since):
        fetch(older, "archive", *names)
        try:
            with gzip.open(older, "rt", encoding="utf-8", errors="replace") as stream:
                yield from map(redactor.line, stream)
        except _DAMAGED as error:
            raise LabError(f"{log.node}: an older log cannot be read ({error})", exit_code=1) from None
    fetch(current, "current")
    with current.open(encoding="utf-8", errors="replace") as stream:
        yield from map(redactor.line, stream)


def chunks(log: NodeLog, known: About, since: float | None, *, follow: bool) -> Generator[bytes, None, None]:
    """The bytes of a log as they come: older logs, then the current one. Raises LabError.

    With ``follow``, it goes on with what the node logs until the node ends. An empty chunk says that nothing has come
    for a moment. Closing the iterator ends what runs in the container.
    """
    if names := known.archives_since(since):
        with _output(log, log.command("archive", *names)) as output, gzip.GzipFile(fileobj=output) as older:
            try:
                while chunk := older.read(CHUNK_BYTES):
                    yield chunk
            except _DAMAGED as error:
                raise LabError(f"{log.node}: an older log cannot be read ({error})", exit_code=1) from None
    command, statuses = log.command("current"), [0]
    if follow and log.is_running:
        command = log.command("follow", is_open=True)
        statuses += KILLED
    with _output(log, command, statuses) as output:
        while True:
            ready, _, _ = select.select([output], [], [], IDLE_SECONDS)
            if not ready:
                yield b""
            elif chunk := os.read(output.fileno(), CHUNK_BYTES):
                yield chunk
            else:
                break


@contextmanager
def _output(log: NodeLog, command: Sequence[str], statuses: Collection[int] = (0,)) -> Iterator[IO[bytes]]:
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
