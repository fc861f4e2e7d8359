"""Options: declarations that the command line, sweep files and printed commands share."""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

_BYTES = re.compile(r"(\d+)([kmg])", re.IGNORECASE)
_FACTORS = {"k": 1024, "m": 1024**2, "g": 1024**3}


class Kind(Enum):
    """The type of an option's value. The command line, sweep files and checks look up how to treat each kind."""

    TEXT = auto()
    CHOICE = auto()
    """One of ``Option.choices``, and nothing else is taken."""
    FILE = auto()
    """The name of a file in a folder of ``configs/``."""
    COUNT = auto()
    """A whole number."""
    CORES = auto()
    """A number of CPU cores, at most those of the machine."""
    CPUSET = auto()
    """CPU cores by number: ``0-3`` or ``0,2``."""
    SIZE = auto()
    """A memory size: ``512m``, ``2g``."""
    BYTES = auto()
    """A number of bytes: ``52428800``, or ``50m``. The variable has the number."""
    FLAG = auto()
    WORDS = auto()
    """Several texts without spaces. On the command line, the option is repeated."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option. ``name`` is the field in a sweep file; the command-line option is ``--name`` with hyphens."""

    name: str
    kind: Kind
    help: str = ""
    """What the command line says of it, if that has an option of its own for it. ``.env`` explains every variable."""
    choices: tuple[str, ...] = ()
    """All values that there are. Of a TEXT they are checked later, together with whatever else is wrong."""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    is_common: bool = False
    """Whether the command line has an option of its own for it. All others are set by ``--set``."""

    @property
    def key(self) -> str:
        """Its name in ``--set``."""
        return self.name

    @property
    def flag(self) -> str:
        """How the command line sets it: ``--warm-up``, or ``--set late_max``."""
        return f"--{self.name.replace('_', '-')}" if self.is_common else f"--set {self.key}"

    @property
    def usage(self) -> str:
        return f"{self.help} Repeatable." if self.kind is Kind.WORDS else self.help

    def text(self, value: Any) -> str:
        """Format a value as in ``.env`` and on the command line."""
        match self.kind:
            case Kind.FLAG:
                return str(value).lower()
            case Kind.WORDS:
                return value if isinstance(value, str) else " ".join(value)
            case Kind.CORES:
                return f"{value:g}"
            case Kind.BYTES:
                # Any other text is reported later, together with whatever else is wrong.
                match = _BYTES.fullmatch(str(value))
                return str(int(match[1]) * _FACTORS[match[2].lower()]) if match else str(value)
        return str(value)

    def words(self, text: str) -> list[str]:
        """Return the command-line arguments that set this option to ``text``; none if it is empty."""
        items = text.split() if self.kind is Kind.WORDS else [text] if text else []
        if self.is_common:
            return [word for item in items for word in (self.flag, item)]
        return ["--set", f"{self.key}={','.join(items)}"] if items else []
