"""Checks the value of a single knob. ``lab.shape`` checks which values fit together."""

import re
from collections.abc import Callable, Mapping

from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import Knob
from corda_lab.paths import CONFIGS

_CORES = re.compile(r"\d+(\.\d+)?")
_CPUSET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_SIZE = re.compile(r"\d+[kmgKMG]")


def problem(knob: Knob, text: str, *, cores: int) -> str | None:
    """Return what is wrong with the value of a knob and the remedy, in one line, or None.

    ``cores`` is the number of CPU cores of this machine.
    """
    if not text and not knob.default:
        # Empty means the default of the service itself.
        return None
    found = _CHECKS[knob.kind](knob, text, cores)
    return f"{knob.variable}: {found}." if found else None


def names(folder: str) -> tuple[str, ...]:
    """Return the names of the files in ``configs/<folder>/``, sorted."""
    return tuple(sorted(path.stem for path in (CONFIGS / folder).glob("*.conf")))


def is_size(text: str) -> bool:
    """Return whether both Docker and a JVM accept the text as a memory size."""
    return bool(_SIZE.fullmatch(text))


def _text(knob: Knob, text: str, _cores: int) -> str | None:
    if not knob.choices or text in knob.choices:
        return None
    return f"unknown {_noun(knob)} {text!r}; choose from {', '.join(knob.choices)}"


def _file(knob: Knob, text: str, _cores: int) -> str | None:
    known = names(knob.folder)
    if text in known:
        return None
    return f"unknown {_noun(knob)} {text!r}; choose from {', '.join(known)} (configs/{knob.folder}/)"


def _count(knob: Knob, text: str, _cores: int) -> str | None:
    low, high = knob.at_least or 0, knob.at_most or float("inf")
    if text.isdecimal() and low <= int(text) <= high:
        return None
    noun = "bytes" if knob.kind is Kind.BYTES else _noun(knob)
    return f"{text!r} is not a valid number of {noun}; use {low:.0f} to {high:.0f}"


def _cores(_knob: Knob, text: str, cores: int) -> str | None:
    if not _CORES.fullmatch(text):
        return f"{text!r} is not a number of cores; use a value such as 2 or 0.5, or 0 for all"
    return f"{text} cores are too many; this machine has {cores}" if float(text) > cores else None


def _cpuset(_knob: Knob, text: str, cores: int) -> str | None:
    if not _CPUSET.fullmatch(text):
        return f"{text!r} is not a set of cores; use a value such as 0-3 or 0,2"
    if max(int(number) for number in re.findall(r"\d+", text)) >= cores:
        return f"{text} includes a core that this machine does not have; its last core is {cores - 1}"
    return None


def _size(_knob: Knob, text: str, _cores: int) -> str | None:
    return None if is_size(text) else f"{text!r} is not a memory size; use a value such as 1536m or 2g"


def _flag(_knob: Knob, text: str, _cores: int) -> str | None:
    return None if text in ("true", "false") else f"{text!r} must be true or false"


def _links(_knob: Knob, _text: str, _cores: int) -> str | None:
    """``lab.shape`` checks links, because it knows which nodes there are."""
    return None


def _noun(knob: Knob) -> str:
    """Return the noun for a knob's value: ``version`` for CORDA_VERSION, ``preset`` for NODE_PRESET."""
    return knob.variable.rpartition("_")[2].lower()


_CHECKS: Mapping[Kind, Callable[[Knob, str, int], str | None]] = {
    Kind.TEXT: _text,
    Kind.FILE: _file,
    Kind.COUNT: _count,
    Kind.CORES: _cores,
    Kind.CPUSET: _cpuset,
    Kind.SIZE: _size,
    Kind.BYTES: _count,
    Kind.FLAG: _flag,
    Kind.WORDS: _links,
}
"""The kinds that a knob can have. The other kinds are those of load options."""
