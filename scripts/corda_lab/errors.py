"""The base class of every error that is shown to the user."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lab_workload.names import canonical, did_you_mean
from lab_workload.problems import Problem

BAD_INPUT = 2
"""Exit status for bad input or an unsuitable machine."""


class LabError(Exception):
    """An error that the user can fix.

    ``message`` says what is wrong and names the field or file; ``remedy`` says how to fix it. Several ``problems`` can
    be given instead of a message. Then ``message`` has one line for each, and a ``remedy`` replaces those of the
    problems. An error with only a message has one problem. The command line prints all problems with their remedies and
    exits with ``exit_code``: 2 for bad input or an unsuitable machine, 1 for a failed run or a missed threshold.
    """

    def __init__(
        self, message: str = "", remedy: str = "", *, exit_code: int = BAD_INPUT, problems: Sequence[Problem] = ()
    ) -> None:
        given = tuple(problems) or (Problem(message),)
        self.problems = tuple(replace(problem, remedy=remedy) for problem in given) if remedy else given
        self.message = "\n".join(problem.finding for problem in self.problems)
        self.remedy = " ".join(dict.fromkeys(problem.remedy for problem in self.problems if problem.remedy))
        self.exit_code = exit_code
        super().__init__(self.message)


def reason_of(error: Exception) -> str:
    """Why something failed, in one line. What is no LabError is a defect of the lab, and says so."""
    text = error.message if isinstance(error, LabError) else f"a defect of the lab: {type(error).__name__}: {error}"
    return " ".join(text.split())


class FinalError(LabError):
    """An error that a retry cannot fix: the request is impossible, or its inputs have changed since the start."""


def chosen(what: str, name: str, known: Iterable[str]) -> str:
    """Return the spelling of ``name`` in ``known``, ignoring case. Raises LabError, such as ``NODE: unknown node 'x'``.

    ``what`` is how the message begins: ``NODE: unknown node``.
    """
    names = list(known)
    found = canonical(name, names)
    if found is None:
        raise LabError(f"{what} {name!r}{did_you_mean(name, names)}", f"Choose from {', '.join(names)}.")
    return found
