"""Joins the files of a bench that measured the same, so that the measurements of several days add up.

Every ratio is paired within a round, a block or a trial, so a machine that is slower on another day does not change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from corda_lab.bench.file import BenchFile

B = TypeVar("B", bound=BenchFile)

OWN: Mapping[str, bool | set[str]] = {
    "id": True,
    "conditioning": True,
    # What an image is made of is in the versions. Its id changes whenever it is built.
    "environment": {"git", "images", "links_measured"},
    "jmeter_image": True,
    "rounds": True,
    "blocks": True,
    "measurements": True,
    "trials": True,
}
"""The fields in which files that are joined may differ."""


@dataclass(frozen=True)
class Joined(Generic[B]):
    """The measurements of one or more files of a bench."""

    bench: B
    """The first file, with the measurements of all."""
    files: tuple[B, ...]

    @property
    def ids(self) -> str:
        """The ids of the files: ``20260102T030405Z-kills, 20260103T030405Z-kills``."""
        return ", ".join(file.id for file in self.files)


def joined(files: Sequence[B]) -> list[Joined[B]]:
    """Join the files of one bench that measured the same, in their order. Others stay alone."""
    found: list[Joined[B]] = []
    for file in files:
        alike = next((one for one in found if _measured(one.bench) == _measured(file)), None)
        whole = alike.bench.joined_with(file) if alike else None
        if alike is None or whole is None:
            found.append(Joined(file, (file,)))
        else:
            found[found.index(alike)] = Joined(whole, (*alike.files, file))
    return found


def _measured(file: BenchFile) -> str:
    """Return what a file measured, and under which circumstances."""
    return type(file).__name__ + file.model_dump_json(exclude=OWN)
