"""The base class of every error that is shown to the user."""

from collections.abc import Sequence

from lab_workload.problems import Problem

BAD_INPUT = 2
"""Exit status for bad input or an unsuitable machine."""


class LabError(Exception):
    """An error that the user can fix.

    ``message`` says what is wrong and names the field or file; ``remedy`` says how to fix it. If several ``problems``
    are given, the message has one line for each, and their remedies are used unless ``remedy`` is given. The command
    line prints both and exits with ``exit_code``: 2 for bad input or an unsuitable machine, 1 for a failed run or a
    missed threshold.
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
    """An error that a retry cannot fix: the request is impossible, or its inputs have changed since the start."""
