"""The document of stored files of ``lab bench``.

``docs/performance.md`` is that of the files in ``docs/performance/``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corda_lab import atomic
from corda_lab.bench.file import BENCH
from corda_lab.bench.joined import joined
from corda_lab.bench.kinds import KINDS, Kind
from corda_lab.errors import LabError
from corda_lab.results import folders
from corda_lab.text import ui
from corda_lab.text.words import listed, plural

INTRODUCTION = """\
# Performance of the lab itself

`scripts/lab bench report` writes this document from stored files of `scripts/lab bench`. Do not edit it.
[validation.md](validation.md) describes the methods. Intervals are 95 % confidence intervals.
"""


def write(files: Sequence[Path], output: Path) -> None:
    """Write the document of stored files, of all in ``BENCH`` if none is given. Raises LabError."""
    chosen = list(files) or sorted(BENCH.glob("*.json"))
    if not chosen:
        raise LabError(f"There is no result in {BENCH}", "Measure with `scripts/lab bench peers`, for example.")
    atomic.write_text(output, document({path: kind_of(path) for path in chosen}))
    ui.note(f"{output} has {plural(len(chosen), 'result')}")


def kind_of(path: Path) -> Kind[Any]:
    """Return the bench that wrote a file. Raises LabError."""
    for kind in KINDS:
        if path.stem.endswith(f"-{kind.name}"):
            return kind
    raise LabError(
        f"{path}: the name does not say which bench wrote the file",
        f"Keep the names that `lab bench` gives: they end in {listed([f'-{kind.name}.json' for kind in KINDS])}.",
    )


def document(files: Mapping[Path, Kind[Any]]) -> str:
    """Return the document: a chapter for every bench.

    Its sections are in the order of the files. Files that measured the same are one section.
    """
    return "\n".join([INTRODUCTION, *_chapters(files)])


def _chapters(files: Mapping[Path, Kind[Any]]) -> Iterator[str]:
    for kind in KINDS:
        found = joined([folders.read_model(path, kind.model) for path in files if files[path] == kind])
        if found:
            yield f"## {kind.title}\n\n{kind.introduction}"
            yield from map(kind.section, found)
