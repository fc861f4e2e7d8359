"""Which values a knob may have; what fits together is in ``lab.shape``."""

import re
from collections.abc import Callable, Mapping

from corda_lab.knobs.options import Kind
from corda_lab.knobs.shape import Knob
from corda_lab.paths import CONFIGS

_CORES = re.compile(r"\d+(\.\d+)?")
_CPUSET = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_SIZE = re.compile(r"\d+[kmgKMG]")


def problem(knob: Knob, text: str, *, cores: int) -> str | None:
    """What is wrong with the value of a knob, in a line with its remedy. ``cores`` are those of this machine."""
    check = _CHECKS.get(knob.kind)
    found = check(knob, text, cores) if check else None
    return f"{knob.variable}: {found}." if found else None


def names(folder: str) -> tuple[str, ...]:
    """What configs/<folder>/ has to choose from."""
    return tuple(sorted(path.stem for path in (CONFIGS / folder).glob("*.conf")))


def is_size(text: str) -> bool:
    """Whether Docker and a JVM alike take a text for a size of memory."""
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
    return f"{text!r} is not a number of {_noun(knob)}; set it from {low:g} to {high:g}"


def _cores(_knob: Knob, text: str, cores: int) -> str | None:
    if not _CORES.fullmatch(text):
        return f"{text!r} is not a number of cores; write it like 2 or 0.5, or 0 for all"
    return (
        f"{text} cores are more than the {cores} of this machine; set at most {cores}" if float(text) > cores else None
    )


def _cpuset(_knob: Knob, text: str, cores: int) -> str | None:
    if text and not _CPUSET.fullmatch(text):
        return f"{text!r} is not a set of cores; write it like 0-3 or 0,2"
    if text and max(int(number) for number in re.findall(r"\d+", text)) >= cores:
        return f"{text} names a core that this machine does not have; its last core is {cores - 1}"
    return None


def _size(_knob: Knob, text: str, _cores: int) -> str | None:
    return None if is_size(text) else f"{text!r} is not a size for a JVM; write it like 1536m or 2g"


def _flag(_knob: Knob, text: str, _cores: int) -> str | None:
    return None if text in ("true", "false") else f"{text!r} is neither true nor false"


def _noun(knob: Knob) -> str:
    """What a knob sets: the version of CORDA_VERSION, the preset of NODE_PRESET."""
    return knob.variable.rpartition("_")[2].lower()


_CHECKS: Mapping[Kind, Callable[[Knob, str, int], str | None]] = {
    Kind.TEXT: _text,
    Kind.FILE: _file,
    Kind.COUNT: _count,
    Kind.CORES: _cores,
    Kind.CPUSET: _cpuset,
    Kind.SIZE: _size,
    Kind.FLAG: _flag,
}
