"""The result of one check of ``lab doctor``."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The result of a check. Only a failure prevents ``lab up``."""

    OK = "ok"
    UNKNOWN = "unknown"
    """This machine does not show what the check examines."""
    WARNING = "warning"
    FAILURE = "failure"


class CheckKind(StrEnum):
    """What a check examines: one of the lab's ports, or anything else."""

    GENERAL = "general"
    PORT = "port"


@dataclass(frozen=True)
class Check:
    """One check: what was examined, the result, the finding, and the remedy unless the result is OK."""

    name: str
    level: Level
    finding: str
    remedy: str = ""
    kind: CheckKind = CheckKind.GENERAL

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
