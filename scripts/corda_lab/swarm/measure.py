"""Measures the network between the hosts of a stack, in containers on an overlay of the same kind as that of the stack.

What passes there passes between services too: the ports 7946 and 4789 are open, and a kernel that cannot encrypt shows.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import CompletedProcess

from pydantic import BaseModel, TypeAdapter

from corda_lab.host.image_files import READER
from corda_lab.lab.engine import on_each, outcomes
from corda_lab.swarm import overlays
from corda_lab.swarm.beside import FOLDER
from corda_lab.swarm.hosts import Host
from corda_lab.swarm.overlays import LABEL

SCRIPT = FOLDER / "measure_network.py"
PROGRAM = "LAB_PROGRAM"
"""The variable in which a container gets the program: no host has it as a file, and command lines stay readable."""
RUN_PROGRAM = f"import os; exec(os.environ['{PROGRAM}'])"
START_SECONDS_MAX = 60.0
PATH_SECONDS_MAX = 30.0
"""How long a path may take. The program gives up earlier by itself, and says why."""
CONTAINER = (*(option for option in READER if option != "--network=none"), "--user=10001:10001")
"""Options of a container that measures: it can do nothing but compute and use the overlay."""


class NetworkPath(BaseModel):
    """What one host saw on the way to another."""

    target: str
    trouble: str = ""
    """Why nothing came back; empty if all went well."""
    round_trip_ms: float | None = None
    """Median of a few dozen exchanges of one byte by TCP."""
    clock_ms: float | None = None
    """How far the other host's clock is ahead."""
    clock_error_ms: float | None = None
    """The clock's offset may be wrong by this much: half of the shortest round trip."""
    megabits_per_second: float | None = None
    """One TCP connection; measured to one other host."""


@dataclass(frozen=True)
class Measured:
    """All paths between hosts, from one to the other."""

    paths: dict[str, list[NetworkPath]]

    @property
    def is_cut(self) -> bool:
        """Whether nothing at all came through."""
        return all(path.trouble for found in self.paths.values() for path in found)


def measure(hosts: Sequence[Host], stack: str, tools: str, *, encrypted: bool) -> Measured:
    """Measure from every host to every other, one host after the other. Raises LabError.

    ``tools`` is an image with Python that every host has.
    """
    name = f"{stack}-measure"
    with _overlay(name, stack, encrypted=encrypted), _servers(hosts, name, stack, tools):
        paths = {}
        for place, host in enumerate(hosts):
            # The next host is the first: the throughput to it is measured, and with all hosts, every link is used.
            others = [*hosts[place + 1 :], *hosts[:place]]
            targets = [f"{name}-{other.name}" for other in others]
            command = [*_run(name, stack), "--rm", "--entrypoint=python3", tools, "-c", RUN_PROGRAM, *targets]
            limit = START_SECONDS_MAX + len(others) * PATH_SECONDS_MAX
            said = host.checked(*command, seconds_max=limit, environment=program())
            paths[host.name] = parse_paths(said, f"{name}-")
    return Measured(paths)


def program() -> dict[str, str]:
    """Return the environment of a docker command that starts the program."""
    return {PROGRAM: SCRIPT.read_text(encoding="utf-8")}


def parse_paths(text: str, prefix: str) -> list[NetworkPath]:
    """Read what the measuring program has printed. Names of targets lose their prefix."""
    found = TypeAdapter(list[NetworkPath]).validate_python(json.loads(text))
    return [path.model_copy(update={"target": path.target.removeprefix(prefix)}) for path in found]


def _run(network: str, stack: str) -> list[str]:
    return ["run", *CONTAINER, f"--network={network}", f"--label={LABEL}={stack}", f"--env={PROGRAM}"]


@contextmanager
def _servers(hosts: Sequence[Host], name: str, stack: str, tools: str) -> Iterator[None]:
    """Run the answering side on every host within the block."""

    def start(host: Host) -> None:
        own = f"{name}-{host.name}"
        host.run("rm", "--force", own)
        command = [*_run(name, stack), "--detach", f"--name={own}", "--entrypoint=python3", tools, "-c", RUN_PROGRAM]
        host.checked(*command, seconds_max=START_SECONDS_MAX, environment=program())

    def stop(host: Host) -> CompletedProcess[str]:
        return host.run("rm", "--force", f"{name}-{host.name}")

    try:
        on_each(hosts, start)
        yield
    finally:
        outcomes(hosts, stop)


@contextmanager
def _overlay(name: str, stack: str, *, encrypted: bool) -> Iterator[None]:
    # One that was left by a command that was killed may be of the other kind.
    overlays.remove(name)
    overlays.create(name, stack, encrypted=encrypted)
    try:
        yield
    finally:
        overlays.remove(name)
