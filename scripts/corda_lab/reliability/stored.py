"""The files of the long suites in ``docs/reliability/``, which are committed, and the document of them."""

from collections.abc import Mapping
from pathlib import Path

from corda_lab.bench.file import BenchFile, store
from corda_lab.chaos.measurement import KIND as CHAOS_KIND
from corda_lab.chaos.measurement import ChaosFile
from corda_lab.errors import LabError
from corda_lab.paths import ROOT
from corda_lab.reliability import abuse_file, browser_file, requests_file, soak_file
from corda_lab.reliability.abuse_file import AbuseFile
from corda_lab.reliability.browser_file import BrowserFile
from corda_lab.reliability.requests_file import RequestsFile
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.results import folders
from corda_lab.text.words import listed

FOLDER = ROOT / "docs" / "reliability"
DOCUMENT = ROOT / "docs" / "reliability.md"
STAGED = "reliability"
"""The folder of a suite's own results with the files for ``FOLDER``; what its tests try out is beside it."""

KINDS: Mapping[str, type[BenchFile]] = {
    CHAOS_KIND: ChaosFile,
    soak_file.KIND: SoakFile,
    requests_file.KIND: RequestsFile,
    abuse_file.KIND: AbuseFile,
    browser_file.KIND: BrowserFile,
}
"""The models of the files by what their names end in: ``<utc>-<kind>.json``."""


def read(path: Path) -> BenchFile:
    """Read a file of any kind. Raises LabError, also if its name does not say its kind."""
    for kind, model in KINDS.items():
        if path.stem.endswith(f"-{kind}"):
            return folders.read_model(path, model)
    raise LabError(
        f"{path}: the name does not say which suite wrote the file",
        f"Keep the names that suites give: they end in {listed([f'-{kind}.json' for kind in KINDS])}.",
    )


def read_all(folder: Path | None = None) -> list[BenchFile]:
    """Read all files of a folder, of ``FOLDER`` if none is given, oldest first. Raises LabError."""
    return [read(path) for path in sorted((folder or FOLDER).glob("*.json"))]


def adopt(folder: Path) -> list[Path]:
    """Move the files that a suite has stored in a folder of its own results to ``FOLDER``, and return the new paths.

    No command may be writing there. Files of a campaign without any trial are left out.
    """
    moved = []
    for path in sorted(folder.glob("*.json")):
        found = read(path)
        if not isinstance(found, ChaosFile) or found.trials:
            moved.append(store(found, FOLDER))
        path.unlink()
    return moved
