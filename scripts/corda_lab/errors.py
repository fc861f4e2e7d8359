"""The one base class of every error that a user may see."""

from collections.abc import Sequence

from lab_workload.problems import Problem

BAD_INPUT = 2
"""Exit code of bad input, and of a machine that is not fit."""


class LabError(Exception):
    """Something the user can mend.

    ``message`` says what is wrong and where (it names the field or file), ``remedy`` what to do about it. Of several
    ``problems`` at once, the message has a line each, and the remedy is theirs unless one is given for all of them.
    The command line prints both and ends with ``exit_code``: 2 for bad input or an unsuitable machine, 1 for a
    threshold that was not met.
    """

    def __init__(
        self, message: str = "", remedy: str = "", *, exit_code: int = BAD_INPUT, problems: Sequence[Problem] = ()
    ) -> None:
        self.problems = tuple(problems)
        self.message = message or "\n".join(problem.finding for problem in self.problems)
        self.remedy = remedy or " ".join(dict.fromkeys(problem.remedy for problem in problems if problem.remedy))
        self.exit_code = exit_code
        super().__init__(self.message)


class FinalError(LabError):
    """One that trying again does not mend: what was asked for cannot be, or is not what it was."""
