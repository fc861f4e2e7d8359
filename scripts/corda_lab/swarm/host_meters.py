"""Samples what hosts and the lab's containers on them use, each second, with one program on every host.

The program runs in a container of the tools during a load, and prints a line each second. It is spoken to through one
connection, and ends when that does: whatever kills the command, nothing is left on the host.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from pydantic import BaseModel, ValidationError

from corda_lab.host import control_groups
from corda_lab.host.machine import CpuTime, sum_cpu_time
from corda_lab.host.processes import last_words
from corda_lab.lab.deployed import HostSamples
from corda_lab.lab.engine import Container, Engine, inspect_all
from corda_lab.paths import ROOT
from corda_lab.steps.clocks import HOSTS_SCHEMA
from corda_lab.steps.usage import SAMPLES_SCHEMA
from corda_lab.text import ui

PROGRAM = "meters"
END_SECONDS_MAX = 10.0
LIMITS = (
    *("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges:true", "--memory=64m", "--pids-limit=16"),
    *("--log-driver=none", "--network=host", "--volume=/sys/fs/cgroup:/groups:ro"),
)
"""The program reads counters, those of the host's network too, and can do nothing else."""
TICKS_PER_SECOND = 100
"""The unit of /proc/stat, on every Linux."""
CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
ADDRESS_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Watched:
    """A host with the containers that are watched there: the name of the part of the lab by the container's full id."""

    engine: Engine
    parts: Mapping[str, str]


@dataclass
class StackMeters:
    """The programs on all hosts, while they run. They write into a folder of this machine."""

    engines: Sequence[Engine]
    image: str
    """One with Python, which every host has."""
    label: str
    _folder: TemporaryDirectory[str] = field(default_factory=lambda: TemporaryDirectory(prefix="corda-lab-meters-"))
    _running: dict[str, tuple[Watched, subprocess.Popen[bytes]]] = field(default_factory=dict)

    def start(self, parts: Mapping[Container, str]) -> None:
        """Start a program on every host. Raises LabError if an engine does not answer."""
        identities = inspect_all(list(parts), "{{.Id}}")
        for engine in self.engines:
            own = {text.strip(): parts[one] for one, text in identities.items() if one.engine == engine}
            self._running[engine.name] = (Watched(engine, own), self._program(engine, list(own)))

    def _program(self, engine: Engine, identities: Sequence[str]) -> "subprocess.Popen[bytes]":
        address = engine.checked("info", "--format", "{{.Swarm.NodeAddr}}", seconds_max=ADDRESS_SECONDS_MAX).strip()
        options = (*LIMITS, f"--label={self.label}", "--entrypoint=python3")
        command = engine.arguments("run", "--rm", "--interactive", *options, self.image, "-c", text_of_program())
        with self._file(engine, "out").open("wb") as lines, self._file(engine, "err").open("wb") as errors:
            return subprocess.Popen(
                ["docker", *command, address, *identities],
                stdin=subprocess.PIPE,
                stdout=lines,
                stderr=errors,
                cwd=ROOT,
                start_new_session=True,
            )

    def _file(self, engine: Engine, kind: str) -> Path:
        return Path(self._folder.name, f"{engine.name}.{kind}")

    def stop(self) -> HostSamples:
        """End all programs, and return what they have printed. A host without any line is a warning."""
        for _, process in self._running.values():
            if process.stdin is not None:
                process.stdin.close()
        found = [self._end(watched, process) for watched, process in self._running.values()]
        self._running.clear()
        self._folder.cleanup()
        own = [one for one in found if one.hosts.height]
        return HostSamples(
            containers=pl.concat([NO_CONTAINERS, *(one.containers for one in own)]),
            hosts=pl.concat([pl.DataFrame(schema=HOSTS_SCHEMA), *(one.hosts for one in own)]),
        )

    def _end(self, watched: Watched, process: "subprocess.Popen[bytes]") -> HostSamples:
        try:
            process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        lines = self._file(watched.engine, "out").read_text(encoding="utf-8").splitlines()
        found = parse_lines(lines, watched)
        if not found.hosts.height:
            words = last_words(self._file(watched.engine, "err").read_text(encoding="utf-8"))
            ui.warn(f"{watched.engine.name}: what it used was not measured: {words or 'nothing was printed'}")
        return found


CONTAINERS_SCHEMA = pl.Schema([("host", pl.String()), *SAMPLES_SCHEMA.items()])
NO_CONTAINERS = pl.DataFrame(schema=CONTAINERS_SCHEMA)


def text_of_program() -> str:
    """The text of the program that runs on hosts."""
    return resources.files("corda_lab.swarm.inside").joinpath(f"{PROGRAM}.py").read_text(encoding="utf-8")


class Line(BaseModel):
    """What the program prints at a moment; see ``inside/meters.py``."""

    time: float
    cpu: str
    memory: tuple[int, int]
    swapped: int
    network: tuple[int, int] | None
    containers: dict[str, tuple[str | None, str | None, str | None]]


def parse_lines(lines: Sequence[str], watched: Watched) -> HostSamples:
    """Read the lines of the program on one host. One that was cut off by an end of the connection is left out."""
    hosts, containers = [], []
    name = watched.engine.name
    for said in _complete(lines):
        cpu, (total, available) = parse_cpu(said.cpu), said.memory
        received, sent = said.network or (None, None)
        spent = (cpu.busy_seconds, cpu.stolen_seconds, cpu.total_seconds)
        hosts.append((name, said.time, *spent, total - available, said.swapped, received, sent))
        containers += [(name, *row) for row in _parts(said, watched.parts)]
    return HostSamples(
        containers=pl.DataFrame(containers, schema=CONTAINERS_SCHEMA, orient="row"),
        hosts=pl.DataFrame(hosts, schema=HOSTS_SCHEMA, orient="row"),
    )


def _complete(lines: Sequence[str]) -> Iterator[Line]:
    for line in lines:
        with suppress(ValidationError):
            yield Line.model_validate_json(line)


def _parts(said: Line, parts: Mapping[str, str]) -> Iterator[tuple[str, float, float, int, int | None]]:
    """The values of each part of the lab, over its containers. A part with one that has ended is left out."""
    for part in dict.fromkeys(parts.values()):
        texts = [said.containers[one] for one, name in parts.items() if name == part]
        cpu = [control_groups.parse_usage(one[0]) for one in texts if one[0]]
        memory = [control_groups.parse_memory(one[1]) for one in texts if one[1]]
        disk = [control_groups.parse_disk(one[2]) for one in texts if one[2] is not None]
        if len(cpu) == len(memory) == len(texts):
            yield part, said.time, sum(cpu), sum(memory), sum(disk) if len(disk) == len(texts) else None


def parse_cpu(line: str) -> CpuTime:
    """Read the first line of /proc/stat. Older kernels have fewer fields."""
    ticks = [int(word) for word in line.split()[1:]]
    return sum_cpu_time({name: one / TICKS_PER_SECOND for name, one in zip(CPU_FIELDS, ticks, strict=False)})
