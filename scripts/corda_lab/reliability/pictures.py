"""The pictures of ``docs/reliability.md``: the counts of the live objects over each soak."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from corda_lab.reliability import stored
from corda_lab.reliability.growth import Growth
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.report import print_charts
from corda_lab.report.chart import MIB, Chart, Trace, look_of

WHAT = "heap after collection"
"""The value that is drawn: a growth of this name for every JVM."""


def folder() -> Path:
    """The folder of the pictures."""
    return stored.FOLDER / "img"


def draw(files: Sequence[SoakFile]) -> list[Path]:
    """Draw the heaps of every soak that counted any, and delete all other pictures. Raises LabError."""
    drawn = print_charts.write_charts([heaps(file) for file in files if is_drawn(file)], folder(), suffixes=("svg",))
    for path in folder().glob("*.svg"):
        if path not in drawn:
            path.unlink()
    return drawn


def is_drawn(file: SoakFile) -> bool:
    """Whether there is a picture of a soak."""
    return bool(counted(file))


def counted(file: SoakFile) -> list[Growth]:
    """The heaps of a soak that were counted."""
    return [one for one in file.growths if one.name == WHAT and one.values]


def link(file: SoakFile) -> str:
    """The picture of a soak in the document."""
    path = (folder() / f"{file.id}.svg").relative_to(stored.DOCUMENT.parent).as_posix()
    return f"![Heaps after collection over the soak {file.id}]({path})"


def heaps(file: SoakFile) -> Chart:
    """The live objects of every JVM over the time of the soak."""
    return Chart(
        id=file.id,
        title="Heap after collection",
        caption="",
        x_title="minutes since the warm-up ended",
        y_title="live objects, MiB",
        width="wide",
        traces=[
            Trace(one.place, look["colour"], one.minutes, [value / MIB for value in one.values], dash=look["dash"])
            for one, look in zip(counted(file), map(look_of, itertools.count()), strict=False)
        ],
    )
