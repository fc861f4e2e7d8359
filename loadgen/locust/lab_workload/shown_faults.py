"""The file in which the command line shows the load generator which faults the lab has now, for its metrics page."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

FILE_NAME = ".faults"
"""Name of the file in the folder of the rows. Files of runs have other names."""


@dataclass(frozen=True)
class ShownFault:
    """A fault that lasts. If the command line is killed, nobody removes it, so it also says when it is over."""

    until: float
    """When it is over at the latest, in Unix seconds."""
    kind: str
    target: str


def write_shown(faults: Iterable[ShownFault]) -> str:
    """Return the content of the file: a line for each fault, without spaces in its words."""
    return "".join(f"{fault.until:.3f} {fault.kind} {fault.target}\n" for fault in faults)


def read_shown(text: str) -> Iterator[ShownFault]:
    """Yield the faults of the file. A line that is none, such as one that is just being written, is left out."""
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].replace(".", "", 1).isdecimal():
            yield ShownFault(float(words[0]), words[1], words[2])
