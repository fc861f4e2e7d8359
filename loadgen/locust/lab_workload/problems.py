"""What is wrong with what a person gave, as data: a ``Problem`` is put into words only where it is printed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Location = tuple[str | int, ...]
"""Where a value is: keys and list indexes within a file, or the name of an option or a variable."""


@dataclass(frozen=True)
class Problem:
    """One thing that the user can mend; ``str`` gives all of it in one line."""

    text: str
    """What is wrong, without saying where: ``is missing``."""
    location: Location = ()
    """Field of the file, or the option or variable; empty for the file as a whole, or where there is none."""
    remedy: str = ""
    """A sentence that says what to do about it; empty where the text makes that clear."""
    path: Path | None = None
    """The file; None for what was not given in a file."""
    line: int | None = None
    """Line of the file, from 1; None where there is none."""

    @classmethod
    def of(cls, name: str, text: str, remedy: str = "") -> "Problem":
        """What is wrong with the option or variable ``name``."""
        return cls(text, (name,), remedy)

    @property
    def finding(self) -> str:
        """Where and what, in one line, without the remedy."""
        file = "" if self.path is None else f"{self.path}: " if self.line is None else f"{self.path}:{self.line}: "
        field = f"{dotted(self.location)}: " if self.location else ""
        return f"{file}{field}{self.text}"

    def __str__(self) -> str:
        if not self.remedy:
            return self.finding
        return f"{self.finding}{'' if self.finding.endswith(('.', '?')) else '.'} {self.remedy}"


def dotted(location: Location) -> str:
    """``("args", "to", 0)`` as ``args.to[0]``."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once, by its line; those without a line come first."""
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.line or 0)


class LoadError(Exception):
    """What keeps a run from starting or going on, and can be mended; text alone is a problem without a place."""

    def __init__(self, problems: Problem | str | Sequence[Problem | str]) -> None:
        given = (problems,) if isinstance(problems, (Problem, str)) else problems
        self.problems = tuple(one if isinstance(one, Problem) else Problem(one) for one in given)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The problems, a line each."""
        return "\n".join(map(str, self.problems))


class WorkloadError(LoadError):
    """What is wrong with a workload."""


class SetupError(LoadError):
    """The set-up failed, so that there is nothing to measure."""


class TemplateError(Exception):
    """A template that cannot be compiled or rendered; the message says why, in one line."""
