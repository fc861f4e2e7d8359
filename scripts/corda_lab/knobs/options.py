"""Options: what the command line, sweep files and printed commands have in common about one thing that can be set."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from corda_lab.text.durations import format_duration


class Kind(Enum):
    """What an option takes. The command line, sweep files and checks each have one entry per kind that needs one."""

    TEXT = auto()
    CHOICE = auto()
    """One of ``Option.choices``, and nothing else is taken."""
    FILE = auto()
    """The name of a file of a folder of ``configs/``."""
    COUNT = auto()
    """A whole number."""
    NUMBER = auto()
    CORES = auto()
    """A number of CPU cores, of which the machine has to have as many."""
    CPUSET = auto()
    """CPU cores by number: ``0-3`` or ``0,2``."""
    SIZE = auto()
    """Memory: ``512m``, ``2g``."""
    DURATION = auto()
    """A length of time: ``30s``, ``2m``."""
    FLAG = auto()
    WORDS = auto()
    """Several texts without spaces; the option is repeated."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One thing that can be set. ``name`` is the field of a sweep file; ``--name`` with hyphens is the option."""

    name: str
    kind: Kind
    help: str
    choices: tuple[str, ...] = ()
    """All values that there are. Of a TEXT they are checked later, together with whatever else is wrong."""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None

    @property
    def flag(self) -> str:
        """The option as it is typed: ``--late-max``."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def usage(self) -> str:
        """The help of the command line."""
        return f"{self.help} Repeat it for more." if self.kind is Kind.WORDS else self.help

    @property
    def negative_flag(self) -> str:
        """The option that turns a flag off: ``--no-dev-mode``."""
        return f"--no-{self.name.replace('_', '-')}"

    def text(self, value: Any) -> str:
        """A value as ``.env`` and the command line have it; durations are seconds."""
        match self.kind:
            case Kind.FLAG:
                return str(value).lower()
            case Kind.WORDS:
                return value if isinstance(value, str) else " ".join(value)
            case Kind.DURATION:
                return format_duration(value)
            case Kind.NUMBER | Kind.CORES:
                return f"{value:g}"
        return str(value)

    def words(self, text: str) -> list[str]:
        """The words of a command that set this option to what ``text`` wrote; none for an empty one."""
        if self.kind is Kind.FLAG and text:
            return [self.flag if text == "true" else self.negative_flag]
        items = text.split() if self.kind is Kind.WORDS else [text] if text else []
        return [word for item in items for word in (self.flag, item)]
