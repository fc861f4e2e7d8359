"""The one base class of what keeps a run from starting or going on."""

from collections.abc import Sequence


class LoadError(Exception):
    """Something the user can mend: ``problems`` is one line each, ``message`` all of them."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        self.message = "\n".join(self.problems)
        super().__init__(self.message)


class TemplateError(Exception):
    """A template that cannot be compiled or rendered; the message says why, in one line."""


class SetupError(LoadError):
    """The set-up failed, so that there is nothing to measure."""
