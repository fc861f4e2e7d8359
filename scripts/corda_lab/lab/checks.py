"""A check of ``lab doctor``: what it examines, and its result."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.host import neighbours, probe
from corda_lab.lab.engine import run_docker
from corda_lab.lab.settings import Settings

SAMPLE_SECONDS = 0.9
"""Time between two readings of the CPU times."""


class Level(StrEnum):
    """The result of a check. Only a failure prevents ``lab up``."""

    OK = "ok"
    UNKNOWN = "unknown"
    """This machine does not show what the check examines."""
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True)
class Check:
    """One check: what was examined, the result, the finding, and the remedy unless the result is OK."""

    name: str
    level: Level
    finding: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return {"name": self.name, "level": self.level.value, "finding": self.finding, "remedy": self.remedy}


def ok(name: str, finding: str) -> Check:
    """Return a check that passed."""
    return Check(name, Level.OK, finding)


def unknown(name: str, finding: str, remedy: str) -> Check:
    """Return a check whose subject this machine does not show."""
    return Check(name, Level.UNKNOWN, finding, remedy)


def warning(name: str, finding: str, remedy: str) -> Check:
    """Return a check that found something to mend which does not prevent a start."""
    return Check(name, Level.WARNING, finding, remedy)


def failure(name: str, finding: str, remedy: str) -> Check:
    """Return a check that failed."""
    return Check(name, Level.FAILURE, finding, remedy)


Finding = tuple[Level, str]


@dataclass(frozen=True)
class Row:
    """A row of the table: the remedies are those of a finding that is not OK, and of one that cannot be told."""

    name: str
    look: Callable[["Examined"], Finding]
    remedy: str = ""
    unknown_remedy: str = ""

    def check(self, examined: "Examined") -> Check:
        """Make the check. The remedy of a LabError takes the place of the row's."""
        try:
            level, finding = self.look(examined)
        except LabError as error:
            return failure(self.name, error.message, error.remedy)
        remedy = {Level.OK: "", Level.UNKNOWN: self.unknown_remedy or self.remedy}.get(level, self.remedy)
        return Check(self.name, level, finding, remedy)


@dataclass
class Examined:
    """What is examined: the machine, and the lab of these settings, of which ``without`` will not be started.

    ``root`` is the folder that contains ``proc`` and ``sys``.
    """

    settings: Settings
    without: frozenset[str] = frozenset()
    root: Path = Path("/")
    pause: Callable[[float], None] = field(default=time.sleep)

    @cached_property
    def engine(self) -> probe.EngineInfo:
        return probe.engine_info()

    @cached_property
    def has_engine(self) -> bool:
        return probe.probe().state is probe.EngineState.READY

    @cached_property
    def readings(self) -> tuple[neighbours.Reading, neighbours.Reading] | None:
        """The CPU times at two moments; None where the kernel does not show them."""
        before = neighbours.read(self.root)
        self.pause(SAMPLE_SECONDS)
        after = neighbours.read(self.root)
        return (before, after) if before and after else None

    def containers(self) -> Iterator[tuple[str, str, bool]]:
        """Yield id, name, and whether it belongs to this lab, of every running container."""
        form = '{{.ID}}\t{{.Names}}\t{{.Label "com.docker.compose.project"}}'
        done = run_docker(["ps", "--no-trunc", "--format", form]) if self.has_engine else None
        for line in done.stdout.splitlines() if done else ():
            identity, name, project = line.split("\t")
            yield identity, name, project == self.settings.project
