"""Problems of the user's input, as data. A ``Problem`` is formatted only when it is printed."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Location = tuple[str | int, ...]
"""The place of a value: keys and list indexes within a file, or the name of an option or variable."""


@dataclass(frozen=True)
class Problem:
    """A problem that the user can fix. ``str`` returns it in one line, with the remedy."""

    text: str
    """What is wrong, without the place: ``is missing``."""
    location: Location = ()
    """The field of the file, or the option or variable; empty for the whole file, or if there is no place."""
    remedy: str = ""
    """A sentence with the remedy; empty if the text makes it clear."""
    path: Path | None = None
    """The file; None if the input is not from a file."""
    line: int | None = None
    """Line of the file, from 1; None if it is unknown."""

    @classmethod
    def of(cls, name: str, text: str, remedy: str = "") -> "Problem":
        """Return a problem of the option or variable ``name``."""
        return cls(text, (name,), remedy)

    @property
    def finding(self) -> str:
        """The place and the text, in one line, without the remedy."""
        file = "" if self.path is None else f"{self.path}: " if self.line is None else f"{self.path}:{self.line}: "
        field = f"{dotted(self.location)}: " if self.location else ""
        return f"{file}{field}{self.text}"

    def __str__(self) -> str:
        if not self.remedy:
            return self.finding
        return f"{self.finding}{'' if self.finding.endswith(('.', '?')) else '.'} {self.remedy}"


def dotted(location: Location) -> str:
    """Format a location: ``("args", "to", 0)`` becomes ``args.to[0]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def field_location(field: str) -> Location:
    """Parse the field in a problem of the bridge: ``args.lines[2].label`` → ``("args", "lines", 2, "label")``."""
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", field)
    return tuple(int(index) if index else name for index, name in parts)


def in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort problems by line, without duplicates. Problems without a line come first."""
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0)


class LoadError(Exception):
    """Problems that prevent a run from starting or continuing. A plain text is a problem without a place."""

    def __init__(self, problems: Problem | str | Sequence[Problem | str]) -> None:
        given = (problems,) if isinstance(problems, (Problem, str)) else problems
        self.problems = tuple(one if isinstance(one, Problem) else Problem(one) for one in given)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        return "\n".join(map(str, self.problems))


class WorkloadError(LoadError):
    """The problems of a workload."""


class SetupError(LoadError):
    """The set-up failed, so the load cannot start."""


class TemplateError(Exception):
    """A template cannot be compiled or rendered. The message gives the reason in one line."""
