"""The one base class of every error that a user may see."""

BAD_INPUT = 2
"""Exit code of bad input, and of a machine that is not fit."""


class LabError(Exception):
    """Something the user can mend.

    ``message`` says what is wrong and where (it names the field or file), ``remedy`` what to do about it.
    The command line prints both on one line each and ends with ``exit_code``: 2 for bad input or an
    unsuitable machine, 1 for a threshold that was not met.
    """

    def __init__(self, message: str, remedy: str = "", *, exit_code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.exit_code = exit_code


class FinalError(LabError):
    """One that trying again does not mend: what was asked for cannot be, or is not what it was."""
